// SPDX-License-Identifier: Apache-2.0
#include "nn/combine.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

enum { CHUNK = 1 << 14 };

static void add(size_t n, real factor, const real *restrict x, real *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] += factor * x[i];
}

void CPU_FN(combine_forward)(Device *device, const CombineArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunk_count(a->count, CHUNK); c++) {
        size_t first = c * CHUNK, n = chunk_size(a->count, CHUNK, c);
        const real *x = a->a + first;
        real *y = a->y + first;
        for (size_t i = 0; i < n; i++) y[i] = a->alpha * x[i];
        if (a->b) add(n, a->beta, a->b + first, y);
    }
}

void CPU_FN(combine_backward)(Device *device, const CombineArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunk_count(a->count, CHUNK); c++) {
        size_t first = c * CHUNK, n = chunk_size(a->count, CHUNK, c);
        if (a->da) add(n, a->alpha, a->dy + first, a->da + first);
        if (a->db) add(n, a->beta, a->dy + first, a->db + first);
    }
}
