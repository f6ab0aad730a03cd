// SPDX-License-Identifier: Apache-2.0
#include "nn/reduce.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

static inline double term(ReduceKind kind, double e) { return kind == REDUCE_VALUE ? e : kind == REDUCE_ABS ? fabs(e) : e * e; }

static inline real slope(ReduceKind kind, real e) {
    return kind == REDUCE_VALUE ? 1 : kind == REDUCE_ABS ? (real)(e > 0) - (real)(e < 0) : 2 * e;
}

static double chunk_sum(const ReduceArgs *a, size_t chunk) {
    size_t first = chunk * CPU_CHUNK_ROWS, last = first + chunk_size(a->rows, CPU_CHUNK_ROWS, chunk);
    double sum = 0;
    for (size_t i = first; i < last; i++) {
        const real *x = a->x + i * a->cols, *target = a->target ? a->target + i * a->cols : NULL;
        double row = 0;
        for (size_t j = 0; j < a->cols; j++) row += term(a->kind, (double)(target ? x[j] - target[j] : x[j]));
        sum += a->weight ? (double)a->weight[i] * row : row;
    }
    return sum;
}

void CPU_FN(reduce_forward)(Device *device, const ReduceArgs *a) {
    size_t chunks = chunk_count(a->rows, CPU_CHUNK_ROWS);
    ArenaMark mark = arena_mark(&device->scratch);
    double *sums = device_scratch_bytes(device, chunks * sizeof *sums), sum = 0;
    if (!sums) return;
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunks; c++) sums[c] = chunk_sum(a, c);
    for (size_t c = 0; c < chunks; c++) sum += sums[c];
    a->y[0] = (real)(a->scale * sum);
    arena_release(&device->scratch, mark);
}

void CPU_FN(reduce_backward)(Device *device, const ReduceArgs *a) {
    real factor = (real)a->scale * a->dy[0];
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->rows; i++) {
        const real *x = a->x + i * a->cols, *target = a->target ? a->target + i * a->cols : NULL;
        real *dx = a->dx + i * a->cols, weight = a->weight ? factor * a->weight[i] : factor;
        for (size_t j = 0; j < a->cols; j++) dx[j] += weight * slope(a->kind, target ? x[j] - target[j] : x[j]);
    }
}
