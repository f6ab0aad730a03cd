// SPDX-License-Identifier: Apache-2.0
#include "nn/layer_norm.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

enum { PARTS = 32 }; // partial sums of the parameters' gradients: the result does not depend on the number of threads

// Mean and 1 / sqrt(variance + epsilon).
static inline void moments(size_t n, const real *restrict x, real *mean, real *rate) {
    real sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n; j++) sum += x[j];
    real m = sum / (real)n;
#pragma omp simd reduction(+ : square)
    for (size_t j = 0; j < n; j++) square += (x[j] - m) * (x[j] - m);
    *mean = m;
    *rate = 1 / real_sqrt(square / (real)n + NORM_EPSILON);
}

void CPU_FN(layer_norm_forward)(Device *device, const LayerNormArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->rows; i++) {
        const real *restrict x = a->x + i * a->cols;
        real *restrict y = a->y + i * a->cols, mean, rate;
        moments(a->cols, x, &mean, &rate);
        for (size_t j = 0; j < a->cols; j++) y[j] = (x[j] - mean) * rate * a->gain[j] + a->offset[j];
    }
}

// With n = (x - mean) rate and g = dy gain: dx = rate (g - mean(g) - n mean(g n)).
static void row_backward(const LayerNormArgs *a, size_t i, real *restrict dgain, real *restrict doffset) {
    const real *restrict x = a->x + i * a->cols, *restrict dy = a->dy + i * a->cols;
    real mean, rate, sum = 0, product = 0, count = (real)a->cols;
    moments(a->cols, x, &mean, &rate);
#pragma omp simd reduction(+ : sum, product)
    for (size_t j = 0; j < a->cols; j++) {
        real n = (x[j] - mean) * rate, g = dy[j] * a->gain[j];
        sum += g;
        product += g * n;
        dgain[j] += dy[j] * n;
        doffset[j] += dy[j];
    }
    if (!a->dx) return;
    real *restrict dx = a->dx + i * a->cols;
    for (size_t j = 0; j < a->cols; j++)
        dx[j] += rate * (dy[j] * a->gain[j] - sum / count - (x[j] - mean) * rate * (product / count));
}

void CPU_FN(layer_norm_backward)(Device *device, const LayerNormArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    real *partial = device_scratch(device, PARTS * 2 * a->cols);
    if (!partial) return;
    memset(partial, 0, PARTS * 2 * a->cols * sizeof *partial);
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (int part = 0; part < PARTS; part++) {
        real *dgain = partial + (size_t)part * 2 * a->cols;
        size_t first, last;
        thread_range(a->rows, part, PARTS, &first, &last);
        for (size_t i = first; i < last; i++) row_backward(a, i, dgain, dgain + a->cols);
    }
    for (size_t part = 0; part < PARTS; part++)
        for (size_t j = 0; j < a->cols; j++) {
            if (a->dgain) a->dgain[j] += partial[part * 2 * a->cols + j];
            if (a->doffset) a->doffset[j] += partial[(part * 2 + 1) * a->cols + j];
        }
    arena_release(&device->scratch, mark);
}
