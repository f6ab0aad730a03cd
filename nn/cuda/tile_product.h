// SPDX-License-Identifier: Apache-2.0
// Matrix products inside fused kernels, of any widths: a tile of rows stands in shared memory, weights anywhere. The
// whole block takes part and nobody waits: barriers are the caller's. A thread holds R x C sums in registers; their
// terms are added in order, so an element's bits depend on its own row and column alone.
#ifndef VPD_NN_CUDA_TILE_PRODUCT_H
#define VPD_NN_CUDA_TILE_PRODUCT_H

#include "nn/cuda/tensor_product.h"

// Floats from one row of a tile to the next: a multiple of 4, such that rows that are read together lie in different
// banks.
static __host__ __device__ inline unsigned tile_stride(unsigned width) { return (width + 3) / 8 * 8 + 4; }

// A tile in shared memory, 16-byte aligned, with a stride as above.
struct SharedTile {
    float *value;
    unsigned stride, width;
    __device__ float &at(unsigned row, unsigned col) const { return value[row * stride + col]; }
};

static __device__ inline float4 read_four(const float *from) { return *reinterpret_cast<const float4 *>(from); }

template <int R, int C> __device__ inline void multiply_add(const float *x, const float *y, float (&sum)[R][C]) {
    UNROLL_LOOP(r, R)
    UNROLL_LOOP(c, C) sum[r][c] += x[r] * y[c];
}

// store(i, j, sum_k x[i][k] w[k][j]) for i < rows, j < cols; w (x.width, cols) in any memory.
template <int R = 4, int C = 4, class Store>
__device__ __forceinline__ void tile_product(unsigned rows, unsigned cols, const SharedTile &x, const float *w,
                                             Store store) {
    unsigned across = (cols + C - 1) / C, down = (rows + R - 1) / R;
    for (unsigned task = threadIdx.x; task < across * down; task += blockDim.x) {
        // Neighbouring threads have neighbouring columns, `across` apart from their own next one.
        unsigned row = task / across * R, col = task % across;
        float sum[R][C] = {};
        const float *from[R], *weight[C];
        UNROLL_LOOP(r, R) from[r] = &x.at(row + r < rows ? row + r : rows - 1, 0);
        UNROLL_LOOP(c, C) weight[c] = w + (col + c * across < cols ? col + c * across : cols - 1);
        unsigned k = 0;
        for (; k + 4 <= x.width; k += 4) {
            float4 four[R];
            UNROLL_LOOP(r, R) four[r] = read_four(from[r] + k);
            UNROLL_LOOP(q, 4) {
                float a[R], b[C];
                UNROLL_LOOP(r, R)
                a[r] = q == 0 ? four[r].x : q == 1 ? four[r].y : q == 2 ? four[r].z : four[r].w;
                UNROLL_LOOP(c, C) b[c] = weight[c][(k + q) * cols];
                multiply_add(a, b, sum);
            }
        }
        for (; k < x.width; k++) {
            float a[R], b[C];
            UNROLL_LOOP(r, R) a[r] = from[r][k];
            UNROLL_LOOP(c, C) b[c] = weight[c][k * cols];
            multiply_add(a, b, sum);
        }
        UNROLL_LOOP(r, R)
        UNROLL_LOOP(c, C)
        if (row + r < rows && col + c * across < cols) store(row + r, col + c * across, sum[r][c]);
    }
}

// store(i, j, sum_r x[r][i] y[r][j]) over the tiles' rows, for i < x.width, j < y.width: R is 4 or 1.
template <int R = 4, int C = 4, class Store>
__device__ __forceinline__ void tile_outer(unsigned rows, const SharedTile &x, const SharedTile &y, Store store) {
    unsigned across = (y.width + C - 1) / C, down = (x.width + R - 1) / R;
    for (unsigned task = threadIdx.x; task < across * down; task += blockDim.x) {
        unsigned line = task / across * R, col = task % across;
        float sum[R][C] = {};
        UNROLL(4)
        for (unsigned r = 0; r < rows; r++) {
            float a[R], b[C];
            if (R == 4) { // memory behind the width may be read, but holds no number
                float4 four = read_four(&x.at(r, line));
                a[0] = four.x, a[1 % R] = four.y, a[2 % R] = four.z, a[3 % R] = four.w;
            } else a[0] = x.at(r, line);
            UNROLL_LOOP(c, C) b[c] = y.at(r, col + c * across < y.width ? col + c * across : 0);
            multiply_add(a, b, sum);
        }
        UNROLL_LOOP(i, R)
        UNROLL_LOOP(c, C)
        if (line + i < x.width && col + c * across < y.width) store(line + i, col + c * across, sum[i][c]);
    }
}

// ---- the same on tensor cores: rows are a multiple of 16

constexpr unsigned TILE_TENSOR_COLS = 32; // of a warp's sums

// f(top, left, sum) for each 16 rows and TILE_TENSOR_COLS columns of a (rows, cols) result, one to a warp;
// store(i, j, sum) for what it leaves in `sum`.
template <class Product, class Store>
__device__ __forceinline__ void tile_tensor_pieces(unsigned rows, unsigned cols, Product product, Store store) {
    unsigned across = (cols + TILE_TENSOR_COLS - 1) / TILE_TENSOR_COLS, down = (rows + TENSOR_ROWS - 1) / TENSOR_ROWS;
    for (unsigned task = cuda_warp(); task < across * down; task += blockDim.x / CUDA_WARP) {
        unsigned top = task / across * TENSOR_ROWS, left = task % across * TILE_TENSOR_COLS;
        float sum[2][TILE_TENSOR_COLS / 4] = {};
        product(top, left, sum);
        UNROLL_LOOP(i, 2)
        UNROLL_LOOP(j, TILE_TENSOR_COLS / 4) {
            unsigned row = top + tensor_row(i), col = left + j / 2 * TENSOR_COLS + tensor_col(j % 2);
            if (row < rows && col < cols) store(row, col, sum[i][j]);
        }
    }
}

// As tile_product.
template <Precision P, class Store>
__device__ __forceinline__ void tile_product_tensor(unsigned rows, unsigned cols, const SharedTile &x,
                                                    const TensorFactor &w, Store store) {
    auto product = [&](unsigned top, unsigned left, auto &sum) {
        tensor_product<P>(&x.at(top, 0), x.stride, x.width, w, 0, left / TENSOR_COLS, sum);
    };
    tile_tensor_pieces(rows, cols, product, store);
}

// As tile_outer.
template <Precision P, class Store>
__device__ __forceinline__ void tile_outer_tensor(unsigned rows, const SharedTile &x, const SharedTile &y,
                                                  Store store) {
    auto product = [&](unsigned top, unsigned left, auto &sum) {
        tensor_outer<P>(rows, &x.at(0, top), x.stride, x.width - top, &y.at(0, left), y.stride, y.width - left, sum);
    };
    tile_tensor_pieces(x.width, y.width, product, store);
}

#endif
