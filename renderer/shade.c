// SPDX-License-Identifier: Apache-2.0
#include "renderer/shade.h"

#include "base/check.h"
#include "renderer/backend.h"

typedef struct ShadeNode {
    ShadeArgs args;
    Tensor *x, *f, *weight[3], *bias[3], *y;
} ShadeNode;

static void shade_backward_node(Tape *tape, void *context) {
    ShadeNode *node = context;
    ShadeArgs *args = &node->args;
    args->dshaded = node->y->grad;
    if (!args->dshaded || args->samples == 0) return;
    args->dx = tape_grad(tape, node->x);
    args->df = tape_grad(tape, node->f);
    for (int i = 0; i < 3; i++) {
        args->dweight[i] = tape_grad(tape, node->weight[i]);
        args->dbias[i] = tape_grad(tape, node->bias[i]);
    }
    if (!tape->device->failed) tape->device->renderer->shade_backward(tape->device, args);
}

static void check_shapes(Tape *tape, const RendererConfig *config, const RendererParticles *particles,
                         Tensor *const weight[3], Tensor *const bias[3]) {
    size_t widths[4] = {shade_inputs(particles->f->cols, config->view_direction), weight[0]->cols, weight[1]->cols, 4};
    TAPE_CHECK_EQ(tape, particles->x->rows, particles->f->rows);
    for (int i = 0; i < 3; i++) {
        TAPE_CHECK_EQ(tape, weight[i]->rows, widths[i]);
        TAPE_CHECK_EQ(tape, weight[i]->cols, widths[i + 1]);
        TAPE_CHECK_EQ(tape, bias[i]->rows * bias[i]->cols, widths[i + 1]);
    }
    if (config->carry_rgb && !tape->device->failed) CHECK(particles->f->cols >= 3);
}

Tensor *shade(Tape *tape, const RendererConfig *config, const RendererParticles *particles, const RendererRays *rays,
              const RendererSamples *samples, Tensor *const weight[3], Tensor *const bias[3]) {
    check_shapes(tape, config, particles, weight, bias);
    Tensor *inputs[] = {particles->x, particles->f, weight[0], weight[1], weight[2], bias[0], bias[1], bias[2]};
    Tensor *y = tape_tensor(tape, samples->count, 4, tape_wants(tape, 8, inputs));
    ShadeNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (ShadeNode){{.samples = samples->count,
                         .particles = particles->x->rows,
                         .features = particles->f->cols,
                         .hidden = {weight[0]->cols, weight[1]->cols},
                         .neighbours = samples->neighbours,
                         .view_direction = config->view_direction,
                         .carry_rgb = config->carry_rgb,
                         .radius = (real)config->radius,
                         .ray = samples->ray,
                         .used = samples->start + samples->rays,
                         .neighbour = samples->neighbour,
                         .z = samples->z,
                         .origin = rays->origin,
                         .direction = rays->direction,
                         .x = particles->x->value,
                         .f = particles->f->value,
                         .R = particles->radius,
                         .shaded = y->value},
                        particles->x,
                        particles->f,
                        {weight[0], weight[1], weight[2]},
                        {bias[0], bias[1], bias[2]},
                        y};
    for (int i = 0; i < 3; i++) {
        node->args.weight[i] = weight[i]->value;
        node->args.bias[i] = bias[i]->value;
    }
    size_t saved = y->wants_grad && samples->count ? tape->device->renderer->shade_saved(&node->args) : 0;
    if (saved && !(node->args.saved = tape_memory(tape, saved, sizeof(real)))) return y;
    if (samples->count) tape->device->renderer->shade_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, shade_backward_node, node);
    return y;
}
