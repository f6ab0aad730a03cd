// SPDX-License-Identifier: Apache-2.0
// Whole frames, tile by tile.
#include "base/check.h"
#include "nn/backend.h"
#include "renderer/renderer.h"

enum { TILE_RAYS = 4096 };

typedef struct Drawing {
    Tape *tape;
    const Renderer *renderer;
    const RendererParticles *particles;
    const RendererIndex *index;
    const RendererCamera *camera;
    const RendererFrame *frame;
    const real *background;
} Drawing;

static const real *download(Tape *tape, const Tensor *tensor) {
    size_t count = tensor->rows * tensor->cols;
    real *host = arena_array(&tape->host, count, sizeof(real));
    if (!host) device_fail(tape->device, STATUS_FAILED, "out of memory for %zu pixels", tensor->rows);
    else if (!tape->device->failed) tape->device->nn->download(tape->device, host, tensor->value, count * sizeof(real));
    return tape->device->failed ? NULL : host;
}

static void store_floats(Tape *tape, const Tensor *tensor, size_t first, float *out) {
    const real *host = out ? download(tape, tensor) : NULL;
    for (size_t i = 0; host && i < tensor->rows * tensor->cols; i++) out[first * tensor->cols + i] = (float)host[i];
}

static void store_bytes(Tape *tape, const Tensor *tensor, size_t first, uint8_t *out) {
    const real *host = out ? download(tape, tensor) : NULL;
    for (size_t i = 0; host && i < tensor->rows * tensor->cols; i++) {
        real v = host[i];
        out[first * tensor->cols + i] = v >= 1 ? 255 : v > 0 ? (uint8_t)(v * 255 + (real)0.5) : 0; // NaN is black
    }
}

static void draw_tile(const Drawing *d, size_t first, size_t count) {
    Tape *tape = d->tape;
    real *rays_host = arena_array(&tape->host, 6 * count, sizeof(real));
    if (!rays_host) {
        device_fail(tape->device, STATUS_FAILED, "out of memory for %zu rays", count);
        return;
    }
    renderer_camera_rays(d->camera, first, count, rays_host, rays_host + 3 * count);
    RendererRays *rays = renderer_rays(tape, count, rays_host, rays_host + 3 * count, NULL, d->background);
    RendererSamples *samples = renderer_place_samples(tape, d->renderer, d->index, rays);
    RendererOutput out = renderer_forward(tape, d->renderer, d->particles, rays, samples);
    const RendererFrame *frame = d->frame;
    store_bytes(tape, out.colour, first, frame->rgb);
    store_floats(tape, out.colour, first, frame->colour);
    store_floats(tape, out.depth, first, frame->depth);
    store_floats(tape, out.opacity, first, frame->opacity);
    if (frame->label)
        store_floats(tape,
                     renderer_blend_labels(tape, d->renderer, d->particles, rays, samples, &out, frame->labels,
                                           frame->label_count),
                     first, frame->label);
}

Status renderer_draw_image(Tape *tape, const Renderer *renderer, const RendererParticles *particles,
                           const real background[3], const RendererCamera *camera, const RendererFrame *frame,
                           Error *err) {
    CHECK(!tape->recording);
    ArenaMark host = arena_mark(&tape->host), memory = arena_mark(&tape->memory);
    Drawing d = {tape, renderer, particles, renderer_index_build(tape, renderer, particles), camera, frame, background};
    ArenaMark tile_host = arena_mark(&tape->host), tile_memory = arena_mark(&tape->memory);
    size_t pixels = (size_t)camera->H * (size_t)camera->W;
    for (size_t first = 0; first < pixels && !tape->device->failed; first += TILE_RAYS) {
        draw_tile(&d, first, pixels - first < TILE_RAYS ? pixels - first : TILE_RAYS);
        arena_release(&tape->host, tile_host);
        arena_release(&tape->memory, tile_memory);
    }
    arena_release(&tape->host, host);
    arena_release(&tape->memory, memory);
    return device_status(tape->device, err);
}
