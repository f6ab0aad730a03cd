// SPDX-License-Identifier: Apache-2.0
// exp and log for the elements, without calls, branches and floating-point selections, so that loops over them become
// vector code (VECTOR_LOOP). Include before renderer/elements.h.
#ifndef VPD_RENDERER_CPU_FAST_MATH_H
#define VPD_RENDERER_CPU_FAST_MATH_H

#include "nn/real.h"

#include <string.h>

// Precedes a loop to be vectorised. (clang does so by itself, and warns about the request at -O1.)
#ifdef __clang__
#define VECTOR_LOOP
#else
#define VECTOR_LOOP _Pragma("omp simd")
#endif

#ifdef VPD_DOUBLE
#define ELEMENT_EXP exp
#define ELEMENT_LOG log
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#else

// a * b + c, in one instruction where there is one (the flags forbid the compiler to do so by itself).
#ifdef __FMA__
#define MULTIPLY_ADD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

static inline int32_t float_bits(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float bits_float(int32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// exp(x) to 2 ulp or so for |x| <= 87, exp(+-87) beyond; NaN stays NaN. x = n ln 2 + r, |r| <= ln 2 / 2, exp(r) by its
// Taylor polynomial.
static inline float quick_exp(float x) {
    const int32_t sign = (int32_t)0x80000000, limit = 0x42AE0000; // 87
    int32_t size = float_bits(x) & ~sign;
    size = size < limit ? size : limit;
    float c = bits_float(size | (float_bits(x) & sign));
    float rounded = MULTIPLY_ADD(c, 1.44269504f, 12582912.0f); // 1.5 * 2^23: the low bits hold n
    float n = rounded - 12582912.0f;
    float r = MULTIPLY_ADD(n, -0.693359375f, c);
    r = MULTIPLY_ADD(n, 2.12194440e-4f, r);
    float p = 1.0f / 720;
    p = MULTIPLY_ADD(p, r, 1.0f / 120);
    p = MULTIPLY_ADD(p, r, 1.0f / 24);
    p = MULTIPLY_ADD(p, r, 1.0f / 6);
    p = MULTIPLY_ADD(p, r, 0.5f);
    p = MULTIPLY_ADD(p, r, 1.0f);
    p = MULTIPLY_ADD(p, r, 1.0f);
    float y = bits_float((int32_t)((uint32_t)float_bits(p) + ((uint32_t)float_bits(rounded) << 23)));
    return y + (c - x) * 0.0f; // 0, or NaN for NaN
}

// log(x) to 2 ulp or so for normal x > 0: x = 2^n m, m in [sqrt(1/2), sqrt(2)), log m by Cephes' polynomial in m - 1.
static inline float quick_log(float x) {
    int32_t bits = float_bits(x), n = (bits - 0x3F3504F3) >> 23; // of sqrt(1/2)
    float m = bits_float(bits - n * (1 << 23)) - 1, square = m * m, e = (float)n, p = 7.0376836292e-2f;
    p = MULTIPLY_ADD(p, m, -1.1514610310e-1f);
    p = MULTIPLY_ADD(p, m, 1.1676998740e-1f);
    p = MULTIPLY_ADD(p, m, -1.2420140846e-1f);
    p = MULTIPLY_ADD(p, m, 1.4249322787e-1f);
    p = MULTIPLY_ADD(p, m, -1.6668057665e-1f);
    p = MULTIPLY_ADD(p, m, 2.0000714765e-1f);
    p = MULTIPLY_ADD(p, m, -2.4999993993e-1f);
    p = MULTIPLY_ADD(p, m, 3.3333331174e-1f);
    float tail = MULTIPLY_ADD(p * m, square, MULTIPLY_ADD(e, -2.12194440e-4f, -0.5f * square));
    return MULTIPLY_ADD(e, 0.693359375f, m + tail) +
           (x - x); // the last term keeps NaN and infinity from looking finite
}

#define ELEMENT_EXP quick_exp
#define ELEMENT_LOG quick_log
#endif

#endif
