// SPDX-License-Identifier: Apache-2.0
#include "renderer/composite.h"
#include "renderer/cpu/fast_math.h"
#include "renderer/cpu/functions.h"
#include "renderer/elements.h" // after fast_math.h, which chooses the exp

enum { RAY_CHUNK = 256 };

static void background_colour(const CompositeArgs *a, size_t ray, real out[3]) {
    const real *b = a->background ? a->background + (a->background_per_ray ? 3 * ray : 0) : NULL;
    for (int c = 0; c < 3; c++) out[c] = !b ? 0 : a->background_logits ? element_sigmoid(b[c]) : b[c];
}

// Returns T_end; adds the weighted colours and depths.
static real march(const CompositeArgs *a, size_t ray, real colour[3], real *depth) {
    real T = 1;
    for (int32_t s = a->start[ray]; s < a->start[ray + 1]; s++) {
        const real *y = a->shaded + 4 * (size_t)s;
        real alpha = element_alpha(y[0], a->delta), weight = T * alpha;
        for (int c = 0; c < 3; c++) colour[c] += weight * y[1 + c];
        *depth += weight * a->z[s];
        T *= 1 - alpha;
    }
    return T;
}

void CPU_FN(composite_forward)(Device *device, const CompositeArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t ray = 0; ray < a->rays; ray++) {
        real colour[3] = {0}, background[3], depth = 0;
        real T = march(a, ray, colour, &depth), opacity = 1 - T;
        background_colour(a, ray, background);
        for (int c = 0; c < 3; c++) a->colour[3 * ray + (size_t)c] = colour[c] + T * background[c];
        a->opacity[ray] = opacity;
        a->depth[ray] = depth / (opacity > SMALLEST_OPACITY ? opacity : SMALLEST_OPACITY);
    }
}

// Walks a ray front to back for the sums, then on with what is left behind each sample. Adds dL/dbackground to dback.
static void ray_backward(const CompositeArgs *a, size_t ray, real dback[3]) {
    real colour[3] = {0}, background[3], depth = 0, dcolour[3] = {0};
    real T_end = march(a, ray, colour, &depth), opacity = 1 - T_end;
    real divisor = opacity > SMALLEST_OPACITY ? opacity : SMALLEST_OPACITY;
    real ddepth = a->ddepth ? a->ddepth[ray] / divisor : 0, dopacity = a->dopacity ? a->dopacity[ray] : 0;
    if (opacity > SMALLEST_OPACITY) dopacity -= ddepth * depth / divisor;
    background_colour(a, ray, background);
    if (a->dcolour) memcpy(dcolour, a->dcolour + 3 * ray, sizeof dcolour);
    real v_end = -dopacity, behind = ddepth * depth;
    for (int c = 0; c < 3; c++) {
        v_end += dcolour[c] * background[c];
        behind += dcolour[c] * colour[c];
        dback[c] += T_end * dcolour[c] * (a->background_logits ? background[c] * (1 - background[c]) : 1);
    }
    behind += v_end * T_end; // sum over all samples of v weight, plus the background's
    real T = 1;
    for (int32_t s = a->start[ray]; s < a->start[ray + 1] && a->dshaded; s++) {
        const real *y = a->shaded + 4 * (size_t)s;
        real alpha = element_alpha(y[0], a->delta), weight = T * alpha, v = ddepth * a->z[s];
        for (int c = 0; c < 3; c++) {
            v += dcolour[c] * y[1 + c];
            a->dshaded[4 * (size_t)s + 1 + (size_t)c] += weight * dcolour[c];
        }
        T *= 1 - alpha;
        behind -= v * weight;
        a->dshaded[4 * (size_t)s] += a->delta * element_tau_slope(v, T, behind);
    }
}

void CPU_FN(composite_backward)(Device *device, const CompositeArgs *a) {
    size_t chunks = chunk_count(a->rays, RAY_CHUNK);
    ArenaMark mark = arena_mark(&device->scratch);
    real *shared = device_scratch(device, 3 * chunks); // of one background for all rays: by chunk, then added in order
    if (!shared) return;
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunks; c++) {
        real sum[3] = {0};
        for (size_t ray = c * RAY_CHUNK; ray < c * RAY_CHUNK + chunk_size(a->rays, RAY_CHUNK, c); ray++) {
            if (a->background_per_ray && a->dbackground) ray_backward(a, ray, a->dbackground + 3 * ray);
            else ray_backward(a, ray, sum);
        }
        memcpy(shared + 3 * c, sum, sizeof sum);
    }
    for (size_t c = 0; c < chunks && a->dbackground && !a->background_per_ray; c++)
        for (int k = 0; k < 3; k++) a->dbackground[k] += shared[3 * c + (size_t)k];
    arena_release(&device->scratch, mark);
}
