// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"
#include "nn/cuda/sums.h"

#include "nn/reduce.h"

static __device__ inline real difference(const ReduceArgs &a, size_t i, size_t j) {
    real x = a.x[i * a.cols + j];
    return a.target ? x - a.target[i * a.cols + j] : x;
}

// A row's value without its weight, in double.
static __device__ double row_value(const ReduceArgs &a, size_t i) {
    double row = 0;
    for (size_t j = 0; j < a.cols; j++) {
        double e = static_cast<double>(difference(a, i, j));
        row += a.kind == REDUCE_VALUE ? e : a.kind == REDUCE_ABS ? fabs(e) : e * e;
    }
    return a.kind == REDUCE_HUBER ? sqrt(row + a.huber * a.huber) - a.huber : row;
}

static __device__ inline double weighted_row(const ReduceArgs &a, size_t i) {
    return row_value(a, i) * (a.weight ? static_cast<double>(a.weight[i]) : 1);
}

static __global__ void sum_rows(ReduceArgs a, double *partial) {
    BLOCK_LOOP(part, cuda_parts(a.rows)) {
        size_t i = part * CUDA_SUM_ROWS + threadIdx.x;
        double row = block_sum(i < a.rows ? weighted_row(a, i) : 0);
        if (threadIdx.x == 0) partial[part] = row;
    }
}

// Few rows: one block takes all.
constexpr size_t FEW_ROWS = 8 * CUDA_THREADS;

static __global__ void sum_few_rows(ReduceArgs a) {
    double sum = 0;
    THREAD_LOOP(i, a.rows) sum += weighted_row(a, i);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *a.y = static_cast<real>(a.scale * sum);
}

void reduce_forward_cuda(Device *device, const ReduceArgs *a) {
    static_assert(CUDA_SUM_ROWS == CUDA_THREADS, "a thread takes a row");
    if (!cuda_op(device, "reduce forward", a->rows, a->cols)) return;
    if (a->rows <= FEW_ROWS) return LAUNCH(device, 1, CUDA_THREADS, 0, sum_few_rows, *a);
    size_t parts = cuda_parts(a->rows);
    ArenaMark mark = arena_mark(&device->scratch);
    double *partial = static_cast<double *>(device_scratch_bytes(device, parts * sizeof *partial));
    LAUNCH(device, cuda_blocks(parts, 1), CUDA_THREADS, 0, sum_rows, *a, partial);
    cuda_sum(device, parts, partial, a->scale, a->y);
    arena_release(&device->scratch, mark);
}

static __device__ inline real slope(ReduceKind kind, real e) {
    if (kind == REDUCE_VALUE) return 1;
    if (kind == REDUCE_ABS) return static_cast<real>(e > 0) - static_cast<real>(e < 0);
    return 2 * e;
}

static __global__ void backward(ReduceArgs a) {
    GRID_LOOP(i, a.rows) {
        real weight = static_cast<real>(a.scale) * a.dy[0] * (a.weight ? a.weight[i] : 1);
        if (a.kind == REDUCE_HUBER) weight *= static_cast<real>(0.5 / (row_value(a, i) + a.huber)); // slope gives 2 e
        for (size_t j = 0; j < a.cols; j++) a.dx[i * a.cols + j] += weight * slope(a.kind, difference(a, i, j));
    }
}

void reduce_backward_cuda(Device *device, const ReduceArgs *a) {
    if (!cuda_op(device, "reduce backward", a->rows, a->cols)) return;
    LAUNCH(device, cuda_blocks(a->rows), CUDA_THREADS, 0, backward, *a);
}
