// SPDX-License-Identifier: Apache-2.0
// Loops over one row or one block of rows, in a form that compilers vectorise.
#ifndef VPD_GNN_CPU_ROWS_H
#define VPD_GNN_CPU_ROWS_H

#include "nn/cpu/vector_math.h"

#define NORM_EPS ((real)1e-5)

static inline void row_add(size_t n, const real *restrict x, real *restrict y) {
    for (size_t j = 0; j < n; j++) y[j] += x[j];
}

static inline void row_axpy(size_t n, real s, const real *restrict x, real *restrict y) {
    for (size_t j = 0; j < n; j++) y[j] += s * x[j];
}

static inline real row_dot(size_t n, const real *restrict x, const real *restrict y) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n; j++) sum += x[j] * y[j];
    return sum;
}

// h = act(a), and a becomes act'(a).
static inline void act_and_slope(Activation kind, size_t n, real *restrict a, real *restrict h) {
    if (kind == ACTIVATION_SILU) {
        for (size_t i = 0; i < n; i++) {
            real x = a[i], s = 1 / (1 + fast_exp(-x));
            h[i] = x * s;
            a[i] = s * (1 + x * (1 - s));
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            real x = a[i];
            h[i] = kind == ACTIVATION_RELU && x < 0 ? 0 : x;
            a[i] = act_slope(kind, x);
        }
    }
}

// d *= slope, and the column sums of the result are added to `sum`.
static inline void rows_times_slope(size_t rows, size_t n, const real *restrict slope, real *restrict d, real *restrict sum) {
    for (size_t i = 0; i < rows; i++, slope += n, d += n)
        for (size_t j = 0; j < n; j++) {
            real v = d[j] * slope[j];
            d[j] = v;
            sum[j] += v;
        }
}

static inline void row_mean_and_scale(size_t n, const real *restrict y, real *mean, real *scale) {
    real sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n; j++) sum += y[j];
    real m = sum / (real)n;
#pragma omp simd reduction(+ : square)
    for (size_t j = 0; j < n; j++) square += (y[j] - m) * (y[j] - m);
    *mean = m;
    *scale = 1 / real_sqrt(square / (real)n + NORM_EPS);
}

// y = LN(y)
static inline void row_norm(size_t n, const real *restrict gain, const real *restrict offset, real *restrict y) {
    real mean, scale;
    row_mean_and_scale(n, y, &mean, &scale);
    for (size_t j = 0; j < n; j++) y[j] = (y[j] - mean) * scale * gain[j] + offset[j];
}

// y, the norm's input, becomes the gradient of it; dy is the gradient of its output.
static inline void row_norm_backward(size_t n, const real *restrict gain, const real *restrict dy, real *restrict y,
                                     real *restrict dgain, real *restrict doffset) {
    real mean, scale, along = 0, sum = 0;
    row_mean_and_scale(n, y, &mean, &scale);
#pragma omp simd reduction(+ : along, sum)
    for (size_t j = 0; j < n; j++) {
        real unit = (y[j] - mean) * scale, g = dy[j] * gain[j];
        dgain[j] += dy[j] * unit;
        doffset[j] += dy[j];
        y[j] = unit;
        sum += g;
        along += g * unit;
    }
    sum /= (real)n;
    along /= (real)n;
    for (size_t j = 0; j < n; j++) y[j] = scale * (dy[j] * gain[j] - sum - y[j] * along);
}

#endif
