// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/matrix.h"

static __global__ void fill_rows(size_t rows, size_t cols, const real *row, real *y) {
    GRID_LOOP(i, rows * cols) y[i] = row[cuda_remainder(i, cols)];
}

void cuda_fill_rows(Device *device, size_t rows, size_t cols, const real *row, real *y) {
    LAUNCH(device, cuda_blocks(rows * cols), CUDA_THREADS, 0, fill_rows, rows, cols, row, y);
}

// By tiles of 32 x 32, so that reads and writes both run along rows. The 33rd column keeps lanes on different banks.
static __global__ void transpose(size_t rows, size_t cols, const real *x, bool add, real *y) {
    __shared__ real tile[CUDA_WARP][CUDA_WARP + 1];
    size_t across = (cols + CUDA_WARP - 1) / CUDA_WARP, down = (rows + CUDA_WARP - 1) / CUDA_WARP;
    BLOCK_LOOP(task, across * down) {
        size_t top = task / across * CUDA_WARP, left = task % across * CUDA_WARP;
        for (size_t i = cuda_warp(); i < CUDA_WARP && top + i < rows; i += CUDA_THREADS / CUDA_WARP)
            if (left + cuda_lane() < cols) tile[i][cuda_lane()] = x[(top + i) * cols + left + cuda_lane()];
        __syncthreads();
        for (size_t j = cuda_warp(); j < CUDA_WARP && left + j < cols; j += CUDA_THREADS / CUDA_WARP) {
            real *to = y + (left + j) * rows + top + cuda_lane();
            if (top + cuda_lane() < rows) *to = (add ? *to : 0) + tile[cuda_lane()][j];
        }
        __syncthreads();
    }
}

void cuda_transpose(Device *device, size_t rows, size_t cols, const real *x, bool add, real *y) {
    size_t tiles = (rows + CUDA_WARP - 1) / CUDA_WARP * ((cols + CUDA_WARP - 1) / CUDA_WARP);
    LAUNCH(device, cuda_blocks(tiles, 1), CUDA_THREADS, 0, transpose, rows, cols, x, add, y);
}
