// SPDX-License-Identifier: Apache-2.0
// Eight reals at once, in GCC's and clang's vector extension: one register with AVX, two with SSE2 and NEON.
#ifndef VPD_NN_CPU_LANES_H
#define VPD_NN_CPU_LANES_H

#include "nn/real.h"

#include <string.h>

#if defined(__AVX__) && !defined(VPD_DOUBLE)
#include <immintrin.h>
#define LANES_AVX 1
#else
#define LANES_AVX 0
#endif

enum { LANES = 8 };

#ifdef VPD_DOUBLE
typedef int64_t LaneBits;
#else
typedef int32_t LaneBits;
#endif
typedef real Lanes __attribute__((vector_size(LANES * sizeof(real))));
typedef LaneBits LaneMask __attribute__((vector_size(LANES * sizeof(LaneBits)))); // 0 or -1 in each lane

static inline Lanes lanes_load(const real *from) {
    Lanes out;
    memcpy(&out, from, sizeof out);
    return out;
}

static inline Lanes lanes_all(real x) { return (Lanes){x, x, x, x, x, x, x, x}; }

static inline Lanes lanes_select(LaneMask mask, Lanes yes, Lanes no) {
    return (Lanes)(((LaneMask)yes & mask) | ((LaneMask)no & ~mask));
}

static inline Lanes lanes_max(Lanes a, Lanes b) {
#if LANES_AVX
    return (Lanes)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return lanes_select(a > b, a, b);
#endif
}

static inline Lanes lanes_min(Lanes a, Lanes b) {
#if LANES_AVX
    return (Lanes)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return lanes_select(a < b, a, b);
#endif
}

// Lanes moved up by one place; the last lane of `before` comes first.
#define LANES_SHIFT(before, now) __builtin_shufflevector(before, now, 7, 8, 9, 10, 11, 12, 13, 14)

// Bit j says whether a is at most b in lane j.
static inline unsigned lanes_less_equal(Lanes a, Lanes b) {
#if LANES_AVX
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LE_OQ));
#else
    unsigned bits = 0;
    for (int j = 0; j < LANES; j++) bits |= (unsigned)(a[j] <= b[j]) << j;
    return bits;
#endif
}

static inline unsigned lanes_at_most(Lanes a, real limit) { return lanes_less_equal(a, lanes_all(limit)); }

// The first lane that holds the smallest number; none is NaN.
static inline int lanes_first_least(Lanes a) {
    Lanes least = lanes_min(a, __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3));
    least = lanes_min(least, __builtin_shufflevector(least, least, 2, 3, 0, 1, 6, 7, 4, 5));
    least = lanes_min(least, __builtin_shufflevector(least, least, 1, 0, 3, 2, 5, 4, 7, 6));
    return __builtin_ctz(lanes_less_equal(a, least));
}

#endif
