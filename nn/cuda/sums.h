// SPDX-License-Identifier: Apache-2.0
// Sums over many elements in a fixed order: parts of CUDA_SUM_ROWS rows each, then the parts in their order.
#ifndef VPD_NN_CUDA_SUMS_H
#define VPD_NN_CUDA_SUMS_H

#include "nn/cuda/launch.h"

constexpr size_t CUDA_SUM_ROWS = 256;

static inline __host__ __device__ size_t cuda_parts(size_t rows) { return (rows + CUDA_SUM_ROWS - 1) / CUDA_SUM_ROWS; }

// partial[part * cols + j] = sum of term(i, j) over the rows i of the part. They are divided among the block's warps,
// whose sums are then added in the warps' order. The block has CUDA_THREADS threads.
template <class Term> __device__ void cuda_sum_parts_in(size_t rows, size_t cols, const Term &term, real *partial) {
    __shared__ real sums[CUDA_THREADS / CUDA_WARP][CUDA_WARP];
    size_t tiles = (cols + CUDA_WARP - 1) / CUDA_WARP;
    BLOCK_LOOP(task, cuda_parts(rows) * tiles) {
        size_t part = task / tiles, j = task % tiles * CUDA_WARP + cuda_lane(), last = (part + 1) * CUDA_SUM_ROWS;
        if (last > rows) last = rows;
        real sum = 0;
        for (size_t i = part * CUDA_SUM_ROWS + cuda_warp(); i < last && j < cols; i += CUDA_THREADS / CUDA_WARP)
            sum += term(i, j);
        sums[cuda_warp()][cuda_lane()] = sum;
        __syncthreads();
        for (unsigned warp = 1; warp < CUDA_THREADS / CUDA_WARP && cuda_warp() == 0; warp++)
            sum += sums[warp][cuda_lane()];
        if (cuda_warp() == 0 && j < cols) partial[part * cols + j] = sum;
        __syncthreads();
    }
}

template <class Term> __global__ void cuda_sum_parts(size_t rows, size_t cols, Term term, real *partial) {
    cuda_sum_parts_in(rows, cols, term, partial);
}

// Blocks that it has work for.
static inline size_t cuda_sum_parts_blocks(size_t rows, size_t cols) {
    return cuda_blocks(cuda_parts(rows) * ((cols + CUDA_WARP - 1) / CUDA_WARP), 1);
}

// to[j] += sum of partial[part * cols + j] over the parts.
static __device__ inline void cuda_add_parts_in(size_t parts, size_t cols, const real *partial, real *to) {
    GRID_LOOP(j, cols) {
        real sum = 0;
        for (size_t part = 0; part < parts; part++) sum += partial[part * cols + j];
        to[j] += sum;
    }
}

void cuda_add_parts(Device *device, size_t parts, size_t cols, const real *partial, real *to);

// to[j] += sum over rows of term(i, j), a function object that kernels can call.
template <class Term> void cuda_add_column_sums(Device *device, size_t rows, size_t cols, Term term, real *to) {
    size_t parts = cuda_parts(rows);
    ArenaMark mark = arena_mark(&device->scratch);
    real *partial = device_scratch(device, parts * cols);
    LAUNCH(device, cuda_sum_parts_blocks(rows, cols), CUDA_THREADS, 0, (cuda_sum_parts<Term>), rows, cols, term,
           partial);
    cuda_add_parts(device, parts, cols, partial, to);
    arena_release(&device->scratch, mark);
}

// The term that is a matrix's element.
struct CudaMatrix {
    const real *x;
    size_t stride; // elements between rows
    __device__ real operator()(size_t i, size_t j) const { return x[i * stride + j]; }
};

// *to = scale * sum of count doubles; 0 when there are none.
void cuda_sum(Device *device, size_t count, const double *x, double scale, real *to);

#endif
