// SPDX-License-Identifier: Apache-2.0
#include "renderer/composite.h"

#include "renderer/backend.h"

typedef struct CompositeNode {
    CompositeArgs args;
    Tensor *shaded, *background;
    CompositeOutput out;
} CompositeNode;

static void composite_backward_node(Tape *tape, void *context) {
    CompositeNode *node = context;
    CompositeArgs *args = &node->args;
    args->dcolour = node->out.colour->grad;
    args->dopacity = node->out.opacity->grad;
    args->ddepth = node->out.depth->grad;
    if (!args->dcolour && !args->dopacity && !args->ddepth) return;
    args->dshaded = tape_grad(tape, node->shaded);
    args->dbackground = tape_grad(tape, node->background);
    if (!tape->device->failed) tape->device->renderer->composite_backward(tape->device, args);
}

CompositeOutput composite(Tape *tape, const RendererSamples *samples, Tensor *shaded, Tensor *background, bool logits,
                          real delta) {
    size_t rays = samples->rays;
    TAPE_CHECK_EQ(tape, shaded->rows, samples->count);
    bool per_ray = background && background->rows * background->cols != 3;
    if (per_ray) TAPE_CHECK_EQ(tape, background->rows, rays);
    Tensor *inputs[] = {shaded, background};
    bool wants = tape_wants(tape, 2, inputs);
    CompositeOutput out = {tape_tensor(tape, rays, 3, wants), tape_tensor(tape, rays, 1, wants),
                           tape_tensor(tape, rays, 1, wants)};
    CompositeNode *node = tape_context(tape, sizeof *node);
    if (!node) return out;
    *node = (CompositeNode){{.rays = rays,
                             .start = samples->start,
                             .z = samples->z,
                             .delta = delta,
                             .shaded = shaded->value,
                             .background = background ? background->value : NULL,
                             .background_per_ray = per_ray,
                             .background_logits = logits,
                             .colour = out.colour->value,
                             .opacity = out.opacity->value,
                             .depth = out.depth->value},
                            shaded,
                            background,
                            out};
    tape->device->renderer->composite_forward(tape->device, &node->args);
    if (wants) tape_record(tape, composite_backward_node, node);
    return out;
}
