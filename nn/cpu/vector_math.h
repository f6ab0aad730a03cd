// SPDX-License-Identifier: Apache-2.0
// exp and SiLU in a form that compilers vectorise: no calls, no branches, no tables.
#ifndef VPD_NN_CPU_VECTOR_MATH_H
#define VPD_NN_CPU_VECTOR_MATH_H

#include "nn/real.h"

#include <string.h>

#ifdef VPD_DOUBLE
static inline double fast_exp(double x) { return exp(x); }
#else
// exp(x) to 2 ulp or so in [-87, 88], clamped outside: 2^n * p(f), x = (n + f) ln 2, |f| <= 1/2; p is the Taylor
// polynomial in f ln 2 up to degree 6 (its remainder at |f| = 1/2 is 1.2e-7 relative).
static inline float fast_exp(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f; // round to nearest: 1.5 * 2^23 leaves no fraction bits
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;   // ln 2 in two parts
    float p = 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    uint32_t bits = (uint32_t)((int32_t)n + 127) << 23; // of NaN anything: p is NaN
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}
#endif

static inline real silu_value(real x) { return x / (1 + fast_exp(-x)); }

// d silu / dx from the input x.
static inline real silu_slope(real x) {
    real s = 1 / (1 + fast_exp(-x));
    return s * (1 + x * (1 - s));
}

#endif
