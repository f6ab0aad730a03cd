// SPDX-License-Identifier: Apache-2.0
#include "renderer/place_samples.h"

#include "renderer/backend.h"
#include "renderer/elements.h"
#include "renderer/renderer.h"

RendererSamples *renderer_place_samples(Tape *tape, const Renderer *renderer, const RendererIndex *index,
                                        const RendererRays *rays) {
    static const RendererSamples nothing;
    const RendererConfig *config = &renderer->config;
    TAPE_CHECK_EQ(tape, index->scenes, scene_rows_count(rays->scenes));
    size_t capacity = rays->count * (size_t)config->samples, neighbours = (size_t)config->neighbours;
    if (capacity > INT32_MAX / neighbours)
        device_fail(tape->device, STATUS_FAILED,
                    "%zu rays of %d samples are too many for one pass; use fewer (train.rays, train.batch)",
                    rays->count, config->samples);
    RendererSamples *samples = tape_context(tape, sizeof *samples);
    if (!samples) return (RendererSamples *)&nothing; // the device has failed: nobody reads it
    // Room for every ray to keep S samples; unused room is never touched.
    *samples = (RendererSamples){.rays = rays->count,
                                 .neighbours = config->neighbours,
                                 .start = tape_memory(tape, rays->count + 1, sizeof(int32_t)),
                                 .ray = tape_memory(tape, capacity, sizeof(int32_t)),
                                 .z = tape_memory(tape, capacity, sizeof(real)),
                                 .neighbour = tape_memory(tape, capacity * neighbours, sizeof(int32_t)),
                                 .found = tape_memory(tape, 1, sizeof(SamplesFound))};
    PlaceSamplesArgs args = {.index = index,
                             .rays = rays->count,
                             .scenes = rays->scenes,
                             .origin = rays->origin,
                             .direction = rays->direction,
                             .jitter = rays->jitter,
                             .delta = (real)(SAMPLE_SPACING * config->radius),
                             .near = (real)config->near,
                             .far = (real)config->far,
                             .keep = config->samples,
                             .samples = samples};
    if (!tape->device->failed) tape->device->renderer->place_samples(tape->device, &args);
    return samples;
}
