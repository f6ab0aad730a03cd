// SPDX-License-Identifier: Apache-2.0
// Loops over one row or one block of rows, in a form that compilers vectorise. If possible, each block of memory is
// read and written once: besides the products, most time of the dynamics is spent in these loops.
#ifndef VPD_GNN_CPU_ROWS_H
#define VPD_GNN_CPU_ROWS_H

#include "nn/real.h"

#include <string.h>

#define NORM_EPS ((real)1e-5)

// a * b + c in one instruction if the processor has one; compiler flags do not allow it implicitly.
#if defined(__FMA__) && !defined(VPD_DOUBLE)
#define MADD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MADD(a, b, c) ((a) * (b) + (c))
#endif

// 1 / (1 + exp(-x))
#ifdef VPD_DOUBLE
static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }
#else
// Error below 2e-6 relative, 1e-7 absolute. exp(-x) = 2^v = 2^n p(v - n), where n is the integer nearest to v and |v|
// is clamped to 126; p is fitted on [-1/2, 1/2] (7e-8 relative). The sum v + 1.5 * 2^23 has n in its low bits, which
// are shifted and added to p's exponent.
static inline float sigmoid(float x) {
    float v = x * -1.44269504f;
    int32_t bits, exponent;
    uint32_t power;
    memcpy(&bits, &v, sizeof v);
    int32_t size = bits & 0x7fffffff;
    size = size < 0x42fc0000 ? size : 0x42fc0000; // 126
    bits = (bits & ~0x7fffffff) | size;
    memcpy(&v, &bits, sizeof v);
    float n = v + 12582912.0f, f = v - (n - 12582912.0f), p = 0.001327647129f;
    p = MADD(p, f, 0.00967554096f);
    p = MADD(p, f, 0.0555071309f);
    p = MADD(p, f, 0.2402212023f);
    p = MADD(p, f, 0.693146944f);
    p = MADD(p, f, 1.00000012f);
    memcpy(&exponent, &n, sizeof n);
    memcpy(&power, &p, sizeof p);
    power += (uint32_t)exponent << 23;
    memcpy(&p, &power, sizeof p);
    return 1 / (1 + p);
}
#endif

static inline void row_add(size_t n, const real *restrict x, real *restrict y) {
    for (size_t j = 0; j < n; j++) y[j] += x[j];
}

static inline void row_axpy(size_t n, real s, const real *restrict x, real *restrict y) {
    for (size_t j = 0; j < n; j++) y[j] = MADD(s, x[j], y[j]);
}

// y = base + other + x W for a narrow x (width) and W (width, n). base may be y; other may be NULL.
static inline void row_narrow_product(size_t n, size_t width, const real *base, const real *restrict other,
                                      const real *restrict x, const real *restrict w, real *y) {
    size_t i = width >= 4 ? 4 : 0;
    if (width >= 4 && other) {
        const real x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            y[j] =
                MADD(x3, w[3 * n + j], MADD(x2, w[2 * n + j], MADD(x1, w[n + j], MADD(x0, w[j], base[j] + other[j]))));
    } else if (width >= 4) {
        const real x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            y[j] = MADD(x3, w[3 * n + j], MADD(x2, w[2 * n + j], MADD(x1, w[n + j], MADD(x0, w[j], base[j]))));
    } else if (other) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) y[j] = base[j] + other[j];
    } else if (base != y) {
        memcpy(y, base, n * sizeof *y);
    }
    for (; i < width; i++) row_axpy(n, x[i], w + i * n, y);
}

// h = silu(a + bias) by rows of n; bias may be NULL, h may be a.
static inline void rows_silu(size_t rows, size_t n, const real *restrict bias, const real *a, real *h) {
    for (size_t r = 0; r < rows; r++, a += n, h += n) {
        if (bias) {
#pragma omp simd
            for (size_t j = 0; j < n; j++) {
                real x = a[j] + bias[j];
                h[j] = x * sigmoid(x);
            }
        } else {
#pragma omp simd
            for (size_t j = 0; j < n; j++) h[j] = a[j] * sigmoid(a[j]);
        }
    }
}

// h = silu(a + bias) (bias may be NULL) and slope = silu'(a + bias); slope may be a.
static inline void rows_silu_and_slope(size_t rows, size_t n, const real *restrict bias, const real *a, real *slope,
                                       real *restrict h) {
    for (size_t r = 0; r < rows; r++, a += n, slope += n, h += n) {
        if (bias) {
#pragma omp simd
            for (size_t j = 0; j < n; j++) {
                real x = a[j] + bias[j], s = sigmoid(x), v = x * s;
                h[j] = v;
                slope[j] = MADD(v, 1 - s, s);
            }
        } else {
#pragma omp simd
            for (size_t j = 0; j < n; j++) {
                real x = a[j], s = sigmoid(x), v = x * s;
                h[j] = v;
                slope[j] = MADD(v, 1 - s, s);
            }
        }
    }
}

// d *= slope, and the column sums of the result are added to `sum`.
static inline void rows_times_slope(size_t rows, size_t n, const real *restrict slope, real *restrict d,
                                    real *restrict sum) {
    for (size_t i = 0; i < rows; i++, slope += n, d += n)
        for (size_t j = 0; j < n; j++) {
            real v = d[j] * slope[j];
            d[j] = v;
            sum[j] += v;
        }
}

// ---- sums over a row, in the same order on every processor: by position in a strip, then halves of the strip

enum { STRIP = 16 };
typedef real Strip __attribute__((vector_size(STRIP * sizeof(real))));

static inline Strip strip_load(const real *from) {
    Strip out;
    memcpy(&out, from, sizeof out);
    return out;
}

static inline void strip_store(Strip s, real *to) { memcpy(to, &s, sizeof s); }

static inline real strip_sum(Strip s) {
    typedef real Half __attribute__((vector_size(STRIP / 2 * sizeof(real))));
    typedef real Quarter __attribute__((vector_size(STRIP / 4 * sizeof(real))));
    Half halves[2];
    memcpy(halves, &s, sizeof s);
    Half half = halves[0] + halves[1];
    Quarter quarters[2];
    memcpy(quarters, &half, sizeof half);
    Quarter q = quarters[0] + quarters[1];
    return (q[0] + q[2]) + (q[1] + q[3]);
}

// out = y + bias (may be NULL; out may be y), its mean, and 1 / sqrt(variance + eps).
static inline void row_moments(size_t n, const real *restrict bias, const real *y, real *out, real *mean, real *scale) {
    Strip sums = {0}, squares = {0};
    size_t j = 0, whole = n - n % STRIP;
    for (; j < whole; j += STRIP) {
        Strip v = strip_load(y + j);
        if (bias) v += strip_load(bias + j);
        strip_store(v, out + j);
        sums += v;
    }
    real sum = strip_sum(sums);
    for (; j < n; j++) {
        out[j] = y[j] + (bias ? bias[j] : 0);
        sum += out[j];
    }
    real m = sum / (real)n;
    for (j = 0; j < whole; j += STRIP) {
        Strip off = strip_load(out + j) - m;
        squares += off * off;
    }
    real square = strip_sum(squares);
    for (; j < n; j++) square += (out[j] - m) * (out[j] - m);
    *mean = m;
    *scale = 1 / real_sqrt(square / (real)n + NORM_EPS);
}

// out = LN(y + bias); out may be y.
static inline void row_norm(size_t n, const real *restrict bias, const real *restrict gain, const real *restrict offset,
                            const real *y, real *out) {
    real mean, scale;
    row_moments(n, bias, y, out, &mean, &scale);
    for (size_t j = 0; j < n; j++) out[j] = MADD((out[j] - mean) * scale, gain[j], offset[j]);
}

// dz, the gradient of the norm's input y + bias, from dy, the gradient of its output (dz may be y). Column sums of dz,
// of dy times the normalised input, and of dy are added to dbias, dgain and doffset.
static inline void row_norm_backward(size_t n, const real *restrict bias, const real *restrict gain,
                                     const real *restrict dy, const real *y, real *dz, real *restrict dbias,
                                     real *restrict dgain, real *restrict doffset) {
    real mean, scale;
    Strip sums = {0}, alongs = {0};
    size_t j = 0;
    row_moments(n, bias, y, dz, &mean, &scale);
    for (; j + STRIP <= n; j += STRIP) {
        Strip unit = (strip_load(dz + j) - mean) * scale, d = strip_load(dy + j), g = d * strip_load(gain + j);
        strip_store(strip_load(dgain + j) + d * unit, dgain + j);
        strip_store(strip_load(doffset + j) + d, doffset + j);
        strip_store(unit, dz + j);
        sums += g;
        alongs += g * unit;
    }
    real sum = strip_sum(sums), along = strip_sum(alongs);
    for (; j < n; j++) {
        real unit = (dz[j] - mean) * scale, g = dy[j] * gain[j];
        dgain[j] += dy[j] * unit;
        doffset[j] += dy[j];
        dz[j] = unit;
        sum += g;
        along += g * unit;
    }
    sum /= (real)n;
    along /= (real)n;
    for (j = 0; j < n; j++) {
        real v = scale * (dy[j] * gain[j] - MADD(dz[j], along, sum));
        dz[j] = v;
        dbias[j] += v;
    }
}

#endif
