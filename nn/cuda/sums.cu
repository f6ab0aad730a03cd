// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sums.h"

// A part's rows are divided among eight warps, whose sums are then added in their order.
static __global__ void sum_part(size_t rows, size_t cols, const real *x, size_t stride, real *partial) {
    __shared__ real sums[CUDA_THREADS / CUDA_WARP][CUDA_WARP];
    size_t tiles = (cols + CUDA_WARP - 1) / CUDA_WARP, parts = (rows + CUDA_SUM_ROWS - 1) / CUDA_SUM_ROWS;
    BLOCK_LOOP(task, parts * tiles) {
        size_t part = task / tiles, j = task % tiles * CUDA_WARP + cuda_lane(), last = (part + 1) * CUDA_SUM_ROWS;
        if (last > rows) last = rows;
        real sum = 0;
        for (size_t i = part * CUDA_SUM_ROWS + cuda_warp(); i < last && j < cols; i += blockDim.x / CUDA_WARP)
            sum += x[i * stride + j];
        sums[cuda_warp()][cuda_lane()] = sum;
        __syncthreads();
        for (unsigned warp = 1; warp < blockDim.x / CUDA_WARP && cuda_warp() == 0; warp++)
            sum += sums[warp][cuda_lane()];
        if (cuda_warp() == 0 && j < cols) partial[part * cols + j] = sum;
        __syncthreads();
    }
}

static __global__ void add_parts(size_t parts, size_t cols, const real *partial, real *to) {
    GRID_LOOP(j, cols) {
        real sum = 0;
        for (size_t part = 0; part < parts; part++) sum += partial[part * cols + j];
        to[j] += sum;
    }
}

void cuda_add_column_sums(Device *device, size_t rows, size_t cols, const real *x, size_t stride, real *to) {
    size_t parts = (rows + CUDA_SUM_ROWS - 1) / CUDA_SUM_ROWS, tiles = (cols + CUDA_WARP - 1) / CUDA_WARP;
    ArenaMark mark = arena_mark(&device->scratch);
    real *partial = device_scratch(device, parts * cols);
    LAUNCH(device, cuda_blocks(parts * tiles, 1), CUDA_THREADS, 0, sum_part, rows, cols, x, stride, partial);
    LAUNCH(device, cuda_blocks(cols), CUDA_THREADS, 0, add_parts, parts, cols, partial, to);
    arena_release(&device->scratch, mark);
}

static __global__ void sum_all(size_t count, const double *x, double scale, real *to) {
    double sum = 0;
    THREAD_LOOP(i, count) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *to = static_cast<real>(scale * sum);
}

void cuda_sum(Device *device, size_t count, const double *x, double scale, real *to) {
    LAUNCH(device, 1, CUDA_THREADS, 0, sum_all, count, x, scale, to);
}
