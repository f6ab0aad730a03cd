// SPDX-License-Identifier: Apache-2.0
// The layers of the fused MLP for one tile of rows, as both passes compute them.
#ifndef VPD_GNN_CUDA_MESSAGE_LAYERS_H
#define VPD_GNN_CUDA_MESSAGE_LAYERS_H

#include "gnn/cuda/message_tiles.h"

constexpr real NORM_EPS = 1e-5f;

// Shared memory of a block beside that of its job: places known when this is compiled take no registers.
typedef struct BlockMemory {
    TileRows rows;
    real *strip, *buffers;
} BlockMemory;

template <class S> constexpr size_t ROWS_ROOM = 4 * S::MOST_ROWS + 4;
template <class S> constexpr size_t STRIP_ROOM = S::STRIP *S::WIDTH;

template <class S> static __device__ inline BlockMemory block_memory(real *memory) {
    int32_t *at = reinterpret_cast<int32_t *>(memory), *end = at + 4 * S::MOST_ROWS;
    unsigned *numbers = reinterpret_cast<unsigned *>(end);
    return {{at, at + S::MOST_ROWS, at + 2 * S::MOST_ROWS, at + 3 * S::MOST_ROWS, numbers, numbers + 1},
            memory + ROWS_ROOM<S>,
            memory + ROWS_ROOM<S> + STRIP_ROOM<S>};
}

// sum = a W: a (tile rows, depth) in lines of S::STRIDE; W (depth, n) in global memory, for tensor cores as `factor`
template <class S, class T>
static __device__ inline void product(const real *a, unsigned depth, const real *weight, const TensorFactor &factor,
                                      unsigned n, real *strip, T &sum) {
    sum.clear();
    if constexpr (S::TENSOR) {
        tensor_tile_product<S>(a, depth, factor, 0, 0, sum);
    } else {
        auto stage = [&](unsigned k, unsigned count) { copy_lines(weight + k * n, count, n, T::WIDTH, strip); };
        tile_product(a, S::STRIDE, depth, n, strip, stage, sum);
    }
}

// sum = a W^T, W (n, depth) in global memory, for tensor cores W^T as `factor`
template <class S, class T>
static __device__ inline void product_turned(const real *a, unsigned depth, const real *weight,
                                             const TensorFactor &factor, unsigned n, real *strip, T &sum) {
    sum.clear();
    if constexpr (S::TENSOR) {
        tensor_tile_product<S>(a, depth, factor, 0, 0, sum);
    } else {
        auto stage = [&](unsigned k, unsigned count) { copy_turned(weight, n, depth, k, count, T::WIDTH, strip); };
        tile_product(a, S::STRIDE, depth, n, strip, stage, sum);
    }
}

// tile = silu(tile + bias), and the slopes there; bias may be NULL
template <class T, class SlopesOf>
static __device__ inline void activate_rows(const real *bias, unsigned n, T &tile, SlopesOf &slopes) {
    UNROLL_LOOP(i, T::R) {
        real slope[T::C] = {};
        if (bias) add_line<T>(bias, n, tile.v[i]);
        UNROLL_LOOP(j, T::C)
        if (T::col(j) < n) activate(&tile.v[i][j], &slope[j]); // without the branch sm_80 spills registers
        slopes.put(i, slope);
    }
}

// The mean of a row, and 1 / sqrt(variance + eps).
template <int COLS>
static __device__ inline void row_moments(const real (&v)[COLS], unsigned n, real *mean, real *scale) {
    real sum = 0, square = 0;
    UNROLL_LOOP(j, COLS) sum += v[j]; // columns after n are zero
    *mean = tile_row_sum(sum) / static_cast<real>(n);
    UNROLL_LOOP(j, COLS)
    if (Tile<1, COLS>::col(j) < n) square += (v[j] - *mean) * (v[j] - *mean);
    *scale = 1 / real_sqrt(tile_row_sum(square) / static_cast<real>(n) + NORM_EPS);
}

static __device__ inline unsigned hidden_width(const MessageArgs &m) { return static_cast<unsigned>(m.hidden); }
static __device__ inline unsigned out_width(const MessageArgs &m) { return static_cast<unsigned>(m.out); }
static __device__ inline const real *last_weight(const MessageArgs &m) { return m.weight2 ? m.weight2 : m.weight1; }
static __device__ inline const real *last_bias(const MessageArgs &m) { return m.weight2 ? m.bias2 : m.bias1; }

static __device__ inline const TensorFactor &last_factor(const MessageArgs &m, const MessageWork &w) {
    return m.weight2 ? w.plain.weight2 : w.plain.weight1;
}

#endif
