// SPDX-License-Identifier: Apache-2.0
// The Wide of the CPU back end: neighbouring samples of a row, as many as one register holds (of floats at most eight,
// because faces are small on the screen). Wider vectors, which compilers take apart, are several times slower.
#ifndef VPD_RASTER_CPU_LANES_H
#define VPD_RASTER_CPU_LANES_H

#define RASTER_LANES
#include "nn/cpu/cpu.h"
#include "nn/real.h"
#include "raster/tiles.h"

#include <string.h>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#ifdef VPD_DOUBLE
typedef int64_t LaneBits;
#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
#else
typedef int32_t LaneBits;
#if defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
#endif

typedef real Wide __attribute__((vector_size(LANES * sizeof(real))));
typedef LaneBits WideMask __attribute__((vector_size(LANES * sizeof(LaneBits)))); // 0 or -1 in each lane

static inline Wide lanes_load(const real *from) {
    Wide out;
    memcpy(&out, from, sizeof out);
    return out;
}

static inline Wide wide_all(real x) { return (Wide){0} + x; }

static inline Wide wide_select(WideMask mask, Wide yes, Wide no) {
    return (Wide)(((WideMask)yes & mask) | ((WideMask)no & ~mask));
}

#if defined(__AVX__) && !defined(VPD_DOUBLE)
static inline Wide wide_min(Wide a, Wide b) { return (Wide)_mm256_min_ps((__m256)a, (__m256)b); }
static inline Wide wide_max(Wide a, Wide b) { return (Wide)_mm256_max_ps((__m256)a, (__m256)b); }
#else
static inline Wide wide_min(Wide a, Wide b) { return wide_select(a < b, a, b); }
static inline Wide wide_max(Wide a, Wide b) { return wide_select(a > b, a, b); }
#endif

#ifdef VPD_DOUBLE
enum { EXP_TERMS = 13, EXP_SHIFT = 52, EXP_BIAS = 1023 };
#define EXP_LEAST (-600.0)
#define EXP_MAGIC 6755399441055744.0 // 1.5 * 2^52: leaves no bits for a fraction
#define EXP_LN2_HIGH 0x1.62e42fefa38p-1
#define EXP_LN2_LOW 0x1.ef35793c7673p-45
#else
enum { EXP_TERMS = 6, EXP_SHIFT = 23, EXP_BIAS = 127 };
#define EXP_LEAST (-60.0f)
#define EXP_MAGIC 12582912.0f // 1.5 * 2^23
#define EXP_LN2_HIGH 0.693359375f
#define EXP_LN2_LOW (-2.12194440e-4f)
#endif

// exp(x) for x up to 80, 0 below EXP_LEAST, so that products with it are not subnormal numbers, which are slow: 2^n
// p(f), x = n ln 2 + f; p is the Taylor polynomial.
static inline Wide wide_exp(Wide x) {
    static const real term[] = {1,
                                1,
                                (real)(1.0 / 2),
                                (real)(1.0 / 6),
                                (real)(1.0 / 24),
                                (real)(1.0 / 120),
                                (real)(1.0 / 720),
                                (real)(1.0 / 5040),
                                (real)(1.0 / 40320),
                                (real)(1.0 / 362880),
                                (real)(1.0 / 3628800),
                                (real)(1.0 / 39916800),
                                (real)(1.0 / 479001600),
                                (real)(1.0 / 6227020800)};
    const WideMask tiny = x < wide_all((real)EXP_LEAST);
    x = wide_max(x, wide_all((real)EXP_LEAST));
    Wide shifted = x * (real)1.4426950408889634 + (real)EXP_MAGIC, n = shifted - (real)EXP_MAGIC;
    Wide f = (x - n * (real)EXP_LN2_HIGH) - n * (real)EXP_LN2_LOW, p = wide_all(term[EXP_TERMS]);
    for (int i = EXP_TERMS - 1; i >= 0; i--) p = p * f + term[i];
    WideMask bits = ((WideMask)shifted << EXP_SHIFT) + ((LaneBits)EXP_BIAS << EXP_SHIFT);
    return wide_select(tiny, wide_all(0), p * (Wide)bits);
}

static inline real lanes_sum(Wide a) {
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) a[i] += a[i + half];
    return a[0];
}

// 0, 1, 2, ..
static inline Wide lanes_number(void) {
    static const real number[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return lanes_load(number);
}

// Lanes below `count`.
static inline WideMask lanes_first(int count) { return lanes_number() < wide_all((real)count); }

static inline bool lanes_any(WideMask mask) {
#if defined(__AVX512F__) && defined(VPD_DOUBLE)
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX__)
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    LaneBits any = 0;
    for (int i = 0; i < LANES; i++) any |= mask[i];
    return any != 0;
#endif
}

// Centres of the samples from `column` on.
static inline Wide lanes_x(double step, int W, int column) {
    return lanes_number() * (real)step + (real)(step * (column + 0.5 - 0.5 * W));
}

// A tile's row has room for a vector that begins at its last sample.
enum { TILE_ROW = RASTER_TILE + LANES, TILE_SIZE = RASTER_TILE * TILE_ROW };
static inline size_t tile_index(int row, int column) {
    return (size_t)(row % RASTER_TILE) * TILE_ROW + (size_t)(column % RASTER_TILE);
}

#endif
