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

// Sums over a ray's samples. The opacity is the sum of the weights: equal to 1 - T_end, and precise when it is small.
typedef struct RaySums {
    real colour[3], depth, opacity, T_end, mean_depth;
} RaySums;

static RaySums march(const CompositeArgs *a, size_t ray) {
    RaySums sums = {.T_end = 1};
    for (int32_t s = a->start[ray]; s < a->start[ray + 1]; s++) {
        const real *y = a->shaded + 4 * (size_t)s;
        real alpha = element_alpha(y[0], a->delta), weight = sums.T_end * alpha;
        for (int c = 0; c < 3; c++) sums.colour[c] += weight * y[1 + c];
        sums.depth += weight * a->z[s];
        sums.opacity += weight;
        sums.T_end *= 1 - alpha;
    }
    if (sums.opacity > 1) sums.opacity = 1; // by rounding
    sums.mean_depth = sums.depth / (sums.opacity > SMALLEST_OPACITY ? sums.opacity : SMALLEST_OPACITY);
    return sums;
}

void CPU_FN(composite_forward)(Device *device, const CompositeArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t ray = 0; ray < a->rays; ray++) {
        RaySums sums = march(a, ray);
        real background[3];
        background_colour(a, ray, background);
        for (int c = 0; c < 3; c++) a->colour[3 * ray + (size_t)c] = sums.colour[c] + sums.T_end * background[c];
        a->opacity[ray] = sums.opacity;
        a->depth[ray] = sums.mean_depth;
    }
}

// One pass for the sums, then front to back with the sums over the samples behind. Adds dL/dbackground to dback.
static void ray_backward(const CompositeArgs *a, size_t ray, real dback[3]) {
    RaySums sums = march(a, ray);
    real background[3], dcolour[3] = {0}, dopacity = a->dopacity ? a->dopacity[ray] : 0,
                        ddepth = a->ddepth ? a->ddepth[ray] : 0;
    background_colour(a, ray, background);
    if (a->dcolour) memcpy(dcolour, a->dcolour + 3 * ray, sizeof dcolour);
    // d depth / d weight_j = (z_j - depth) / opacity, or z_j / 1e-6 below that opacity.
    bool seen = sums.opacity > SMALLEST_OPACITY;
    real centre = seen ? sums.mean_depth : 0;
    ddepth /= seen ? sums.opacity : SMALLEST_OPACITY;
    real behind =
        dopacity * sums.opacity + ddepth * (sums.depth - centre * sums.opacity); // sum of v weight, v = dL / d weight
    for (int c = 0; c < 3; c++) {
        behind += dcolour[c] * (sums.colour[c] + background[c] * sums.T_end);
        dback[c] += sums.T_end * dcolour[c] * (a->background_logits ? background[c] * (1 - background[c]) : 1);
    }
    real T = 1;
    for (int32_t s = a->start[ray]; s < a->start[ray + 1] && a->dshaded; s++) {
        const real *y = a->shaded + 4 * (size_t)s;
        real alpha = element_alpha(y[0], a->delta), weight = T * alpha, v = dopacity + ddepth * (a->z[s] - centre);
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
