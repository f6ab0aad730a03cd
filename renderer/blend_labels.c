// SPDX-License-Identifier: Apache-2.0
#include "renderer/blend_labels.h"

#include "renderer/backend.h"
#include "renderer/elements.h"
#include "renderer/renderer.h"

Tensor *renderer_blend_labels(Tape *tape, const Renderer *renderer, const RendererParticles *particles,
                              const RendererRays *rays, const RendererSamples *samples, const RendererOutput *output,
                              const int32_t *label, int labels) {
    Tensor *out = tape_tensor(tape, samples->rays, (size_t)labels, false);
    BlendLabelsArgs args = {.rays = samples->rays,
                            .neighbours = samples->neighbours,
                            .labels = labels,
                            .start = samples->start,
                            .neighbour = samples->neighbour,
                            .z = samples->z,
                            .origin = rays->origin,
                            .direction = rays->direction,
                            .x = particles->x->value,
                            .R = particles->radius,
                            .shaded = output->shaded->value,
                            .delta = (real)(SAMPLE_SPACING * renderer->config.radius),
                            .label = label,
                            .out = out->value};
    if (!tape->device->failed) tape->device->renderer->blend_labels(tape->device, &args);
    return out;
}
