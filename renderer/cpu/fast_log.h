// SPDX-License-Identifier: Apache-2.0
// log in a form that compilers vectorise, beside nn/cpu/vector_math.h's exp; the elements use both.
#ifndef VPD_RENDERER_CPU_FAST_LOG_H
#define VPD_RENDERER_CPU_FAST_LOG_H

#include "nn/cpu/vector_math.h"

#ifdef VPD_DOUBLE
static inline double fast_log(double x) { return log(x); }
#else
// log(x) to 2 ulp or so for normal x > 0: x = 2^n m, m in [sqrt(1/2), sqrt(2)), log m by Cephes' polynomial in m - 1.
static inline float fast_log(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t shifted = bits - 0x3F3504F3; // of sqrt(1/2)
    int32_t n = shifted >> 23;
    bits -= n * (1 << 23);
    float m;
    memcpy(&m, &bits, sizeof m);
    m -= 1;
    float square = m * m, p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    float tail = p * m * square + (float)n * -2.12194440e-4f - 0.5f * square;
    return m + tail + (float)n * 0.693359375f + (x - x); // the last term keeps NaN and infinity from looking finite
}
#endif

#define ELEMENT_EXP fast_exp
#define ELEMENT_LOG fast_log

#endif
