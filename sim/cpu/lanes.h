// SPDX-License-Identifier: Apache-2.0
// The vector of the simulator's CPU back end, and the way between records of single vertices and vectors of
// coordinates. A quad is four neighbouring reals, 16 or 32 bytes; a vector has one, two or four quads.
#ifndef VPD_SIM_CPU_LANES_H
#define VPD_SIM_CPU_LANES_H

#ifdef VPD_DOUBLE
#define SIM_REAL_BYTES 8
#else
#define SIM_REAL_BYTES 4
#endif
#if defined(__AVX512F__)
#define SIM_LANES (64 / SIM_REAL_BYTES)
#elif defined(__AVX__)
#define SIM_LANES (32 / SIM_REAL_BYTES)
#else
#define SIM_LANES 4
#endif

#include "sim/backend.h"
#include "sim/contact.h"
#include "sim/hinge.h"
#include "sim/slide.h"
#include "sim/socket.h"
#include "sim/spring.h"
#include "sim/tet.h"
#include "sim/vertex.h"

#include <string.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

typedef real Quad __attribute__((vector_size(4 * sizeof(real))));

#define LANES_INLINE static inline __attribute__((always_inline))

// Patterns of two quads a, b within each quad of a vector: a0 b0 a1 b1; a2 b2 a3 b3; a0 a1 b0 b1; a2 a3 b2 b3.
#if SIM_LANES == 4
#define LANES_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define LANES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LANES_FRONTS(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define LANES_BACKS(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#elif SIM_LANES == 8
#define LANES_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define LANES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LANES_FRONTS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define LANES_BACKS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
#define LANES_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define LANES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LANES_FRONTS(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define LANES_BACKS(a, b) __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#endif

LANES_INLINE Quad quad_load(const real *from) {
    Quad out;
    memcpy(&out, from, sizeof out);
    return out;
}

LANES_INLINE Num num_load(const real *from) {
    Num out;
    memcpy(&out, from, sizeof out);
    return out;
}

// Quads of lanes j, 4+j, 8+j, 12+j in one vector. With AVX-512, quads are loaded into their place; GCC would shuffle.
#if SIM_LANES == 4
#define LANES_ROW(at, j) quad_load(at(j))
#elif defined(__AVX512F__) && SIM_LANES == 16
LANES_INLINE Num lanes_row(const real *a, const real *b, const real *c, const real *d) {
    __m512 row = _mm512_castps128_ps512(_mm_loadu_ps(a));
    row = _mm512_mask_broadcast_f32x4(row, 0x00f0, _mm_loadu_ps(b));
    row = _mm512_mask_broadcast_f32x4(row, 0x0f00, _mm_loadu_ps(c));
    return (Num)_mm512_mask_broadcast_f32x4(row, 0xf000, _mm_loadu_ps(d));
}
#define LANES_ROW(at, j) lanes_row(at(j), at(j + 4), at(j + 8), at(j + 12))
#elif defined(__AVX512F__)
LANES_INLINE Num lanes_row(const real *a, const real *b) {
    return (Num)_mm512_mask_broadcast_f64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(a)), 0xf0, _mm256_loadu_pd(b));
}
#define LANES_ROW(at, j) lanes_row(at(j), at(j + 4))
#else
#define LANES_ROW(at, j) __builtin_shufflevector(quad_load(at(j)), quad_load(at(j + 4)), 0, 1, 2, 3, 4, 5, 6, 7)
#endif

LANES_INLINE void lanes_transpose(Num r0, Num r1, Num r2, Num r3, Num out[3]) {
    Num low01 = LANES_LOW(r0, r1), low23 = LANES_LOW(r2, r3), high01 = LANES_HIGH(r0, r1), high23 = LANES_HIGH(r2, r3);
    out[0] = LANES_FRONTS(low01, low23);
    out[1] = LANES_BACKS(low01, low23);
    out[2] = LANES_FRONTS(high01, high23);
}

// Three coordinates of the quads at base + stride*index[lane].
LANES_INLINE void lanes_gather(const real *base, size_t stride, const uint16_t *index, Num out[3]) {
#define AT(j) (base + stride * index[j])
    lanes_transpose(LANES_ROW(AT, 0), LANES_ROW(AT, 1), LANES_ROW(AT, 2), LANES_ROW(AT, 3), out);
#undef AT
}

// The same for consecutive quads, stride reals apart.
LANES_INLINE void lanes_read(const real *base, size_t stride, Num out[3]) {
#define AT(j) (base + stride * (j))
    lanes_transpose(LANES_ROW(AT, 0), LANES_ROW(AT, 1), LANES_ROW(AT, 2), LANES_ROW(AT, 3), out);
#undef AT
}

// Both quads of the records at base + SIM_RECORD*a[lane], less those at b[lane] where b is given.
#if SIM_LANES == 4
LANES_INLINE void lanes_gather_records(const real *base, const uint16_t *a, const uint16_t *b, Num x[3], Num v[3]) {
    Num less[3];
    lanes_gather(base, SIM_RECORD, a, x);
    lanes_gather(base + SIM_QUAD, SIM_RECORD, a, v);
    if (!b) return;
    lanes_gather(base, SIM_RECORD, b, less);
    num_sub(x, less, x);
    lanes_gather(base + SIM_QUAD, SIM_RECORD, b, less);
    num_sub(v, less, v);
}
#else
typedef real Record __attribute__((vector_size(SIM_RECORD * sizeof(real))));

LANES_INLINE Record record_load(const real *base, const uint16_t *a, const uint16_t *b, int lane) {
    Record out, less;
    memcpy(&out, base + SIM_RECORD * a[lane], sizeof out);
    if (!b) return out;
    memcpy(&less, base + SIM_RECORD * b[lane], sizeof less);
    return out - less;
}

LANES_INLINE void lanes_record_rows(const real *base, const uint16_t *a, const uint16_t *b, Num x[4], Num v[4]) {
    for (int j = 0; j < 4; j++) {
        const Record r0 = record_load(base, a, b, j), r1 = record_load(base, a, b, j + 4);
#if SIM_LANES == 8
        x[j] = __builtin_shufflevector(r0, r1, 0, 1, 2, 3, 8, 9, 10, 11);
        v[j] = __builtin_shufflevector(r0, r1, 4, 5, 6, 7, 12, 13, 14, 15);
#else
        const Record r2 = record_load(base, a, b, j + 8), r3 = record_load(base, a, b, j + 12);
        const Num front = __builtin_shufflevector(r0, r1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const Num back = __builtin_shufflevector(r2, r3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        x[j] = __builtin_shufflevector(front, back, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
        v[j] = __builtin_shufflevector(front, back, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
#endif
    }
}
LANES_INLINE void lanes_gather_records(const real *base, const uint16_t *a, const uint16_t *b, Num x[3], Num v[3]) {
    Num rows[2][4];
    lanes_record_rows(base, a, b, rows[0], rows[1]);
    lanes_transpose(rows[0][0], rows[0][1], rows[0][2], rows[0][3], x);
    lanes_transpose(rows[1][0], rows[1][1], rows[1][2], rows[1][3], v);
}
#endif

// rows[j] holds the quads (in[0], in[1], in[2], 0) of lanes j, 4+j, ..
LANES_INLINE void lanes_rows(const Num in[3], Num rows[4]) {
    const Num zero = {0};
    Num low = LANES_LOW(in[0], in[1]), high = LANES_HIGH(in[0], in[1]);
    Num low2 = LANES_LOW(in[2], zero), high2 = LANES_HIGH(in[2], zero);
    rows[0] = LANES_FRONTS(low, low2);
    rows[1] = LANES_BACKS(low, low2);
    rows[2] = LANES_FRONTS(high, high2);
    rows[3] = LANES_BACKS(high, high2);
}

#if SIM_LANES == 4
#define LANES_QUAD(row, q) (row)
#elif defined(__AVX512F__) && SIM_LANES == 16
#define LANES_QUAD(row, q) ((Quad)_mm512_extractf32x4_ps((__m512)(row), q))
#elif defined(__AVX512F__)
#define LANES_QUAD(row, q) ((Quad)_mm512_extractf64x4_pd((__m512d)(row), q))
#else
#define LANES_QUAD(row, q) __builtin_shufflevector(row, row, 4 * (q), 4 * (q) + 1, 4 * (q) + 2, 4 * (q) + 3)
#endif

LANES_INLINE void quad_add(real *to, Quad value) {
    Quad sum = quad_load(to) + value;
    memcpy(to, &sum, sizeof sum);
}
LANES_INLINE void quad_subtract(real *to, Quad value) {
    Quad rest = quad_load(to) - value;
    memcpy(to, &rest, sizeof rest);
}
LANES_INLINE void quad_store(real *to, Quad value) { memcpy(to, &value, sizeof value); }

#if SIM_LANES == 4
#define LANES_EACH_QUAD(DO) DO(0)
#elif SIM_LANES == 8
#define LANES_EACH_QUAD(DO) DO(0) DO(1)
#else
#define LANES_EACH_QUAD(DO) DO(0) DO(1) DO(2) DO(3)
#endif

// Adds to the quads at base + stride*index[lane], lane by lane.
LANES_INLINE void lanes_scatter_add(real *base, size_t stride, const uint16_t *index, const Num in[3]) {
    Num rows[4];
    lanes_rows(in, rows);
#define DO(q)                                                                                                          \
    quad_add(base + stride * index[4 * q], LANES_QUAD(rows[0], q));                                                    \
    quad_add(base + stride * index[4 * q + 1], LANES_QUAD(rows[1], q));                                                \
    quad_add(base + stride * index[4 * q + 2], LANES_QUAD(rows[2], q));                                                \
    quad_add(base + stride * index[4 * q + 3], LANES_QUAD(rows[3], q));
    LANES_EACH_QUAD(DO)
#undef DO
}

// The same at a, and subtracts at b.
LANES_INLINE void lanes_scatter_between(real *base, size_t stride, const uint16_t *a, const uint16_t *b,
                                        const Num in[3]) {
    Num rows[4];
    lanes_rows(in, rows);
#define ONE(lane, quad)                                                                                                \
    quad_add(base + stride * a[lane], quad);                                                                           \
    quad_subtract(base + stride * b[lane], quad);
#define DO(q)                                                                                                          \
    ONE(4 * q, LANES_QUAD(rows[0], q))                                                                                 \
    ONE(4 * q + 1, LANES_QUAD(rows[1], q)) ONE(4 * q + 2, LANES_QUAD(rows[2], q)) ONE(4 * q + 3, LANES_QUAD(rows[3], q))
    LANES_EACH_QUAD(DO)
#undef DO
#undef ONE
}

LANES_INLINE void lanes_write(real *base, size_t stride, const Num in[3]) {
    Num rows[4];
    lanes_rows(in, rows);
#define DO(q)                                                                                                          \
    quad_store(base + stride * (4 * q), LANES_QUAD(rows[0], q));                                                       \
    quad_store(base + stride * (4 * q + 1), LANES_QUAD(rows[1], q));                                                   \
    quad_store(base + stride * (4 * q + 2), LANES_QUAD(rows[2], q));                                                   \
    quad_store(base + stride * (4 * q + 3), LANES_QUAD(rows[3], q));
    LANES_EACH_QUAD(DO)
#undef DO
}

#endif
