// SPDX-License-Identifier: Apache-2.0
#include "nn/reduce.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

// REDUCE_HUBER sums squares; huber_of makes the row's value of them.
static inline double term(ReduceKind kind, double e) {
    return kind == REDUCE_VALUE ? e : kind == REDUCE_ABS ? fabs(e) : e * e;
}

static inline double huber_of(double squares, double h) { return sqrt(squares + h * h) - h; }

// d huber / de = e / (huber + h): the factor of e.
static real huber_factor(const ReduceArgs *a, const real *x, const real *target) {
    double squares = 0;
    for (size_t j = 0; j < a->cols; j++) squares += term(REDUCE_SQUARE, (double)(target ? x[j] - target[j] : x[j]));
    return (real)(1 / sqrt(squares + a->huber * a->huber));
}

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
        if (a->kind == REDUCE_HUBER) row = huber_of(row, a->huber);
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
        if (a->kind == REDUCE_HUBER) weight *= huber_factor(a, x, target) / 2; // slope gives 2 e
        for (size_t j = 0; j < a->cols; j++) dx[j] += weight * slope(a->kind, target ? x[j] - target[j] : x[j]);
    }
}
