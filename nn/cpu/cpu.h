// SPDX-License-Identifier: Apache-2.0
// Shared by the CPU back end's files. They are compiled once per instruction set (VPD_ISA = base, avx2, avx512; f64
// for the tests), so each function that other files see is named through CPU_FN.
#ifndef VPD_NN_CPU_CPU_H
#define VPD_NN_CPU_CPU_H

#include "base/check.h"
#include "nn/device.h"

#include <string.h>

#define CPU_JOIN_(a, b) a##_##b
#define CPU_JOIN(a, b) CPU_JOIN_(a, b)
#define CPU_FN(name) CPU_JOIN(name, VPD_ISA)

// A loop that is specialised for each caller's constants.
#define CPU_INLINE static inline __attribute__((always_inline))

// Rows of a matrix that one task of a parallel loop works on: the task's share stays in the L2 cache.
enum { CPU_CHUNK_ROWS = 512 };

static inline size_t chunk_count(size_t rows, size_t chunk) { return (rows + chunk - 1) / chunk; }
static inline size_t chunk_size(size_t rows, size_t chunk, size_t index) {
    size_t left = rows - index * chunk;
    return left < chunk ? left : chunk;
}

// How many parts the chunks of an op are summed in. It does not depend on the number of threads, and neither do the
// bits of sums that are made part by part and added in the order of the parts.
static inline int sum_parts(size_t chunks) { return chunks < 2 ? 1 : chunks < 64 ? (int)(chunks + 1) / 2 : 32; }

// The contiguous range [first, last) of `count` chunks that part or thread t of n takes: fixed by (count, t, n) alone.
static inline void thread_range(size_t count, int t, int n, size_t *first, size_t *last) {
    *first = count * (size_t)t / (size_t)n;
    *last = count * (size_t)(t + 1) / (size_t)n;
}

#endif
