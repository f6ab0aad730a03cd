// SPDX-License-Identifier: Apache-2.0
// Products of a block's tile of rows with weights: the one place that knows how values lie in registers, so that
// tensor-core instructions can take its place. fp32, sums in the order of their index.
//
// A warp owns ROWS whole rows of a tile, so what happens within a row (activation, norm) needs no shared memory, and a
// product may replace its own left side. In shared memory the tile's lines have 32 * COLS elements or
// more: columns from `n` on are zero.
#ifndef VPD_GNN_CUDA_TILE_H
#define VPD_GNN_CUDA_TILE_H

#include "nn/cuda/launch.h"

// Loops over a thread's registers are unrolled; the host compiler of the tests does not know the word.
#ifdef __CUDACC__
#define UNROLL_TEXT(text) _Pragma(#text)
#define UNROLL(times) UNROLL_TEXT(unroll times)
#else
#define UNROLL(times)
#endif
#define UNROLL_LOOP(i, count) UNROLL(count) for (int i = 0; i < (count); i++)

constexpr unsigned TILE_STRIP = 16; // lines of a weight that are in shared memory at a time

// A thread's part of a tile: its warp's rows, every 32nd column.
template <int ROWS, int COLS> struct Tile {
    static constexpr unsigned WIDTH = COLS * 32;
    real v[ROWS][COLS];

    static __device__ size_t row(int i) { return cuda_warp() * ROWS + static_cast<size_t>(i); }
    static __device__ size_t col(int j) { return cuda_lane() + static_cast<size_t>(j) * 32; }
    __device__ void clear() {
        UNROLL_LOOP(i, ROWS)
            UNROLL_LOOP(j, COLS) v[i][j] = 0;
    }
};

// The sum over a row's columns, in all lanes that have some of them.
static __device__ inline real tile_row_sum(real part) { return warp_sum(part); }

// ---- lines of n elements in global memory, this thread's columns of them

// Columns from n on read as 0.
template <int COLS> __device__ inline void read_line(const real *line, size_t n, real (&v)[COLS]) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS) v[j] = T::col(j) < n ? line[T::col(j)] : 0;
}

template <int COLS> __device__ inline void write_line(const real (&v)[COLS], size_t n, real *line) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS)
        if (T::col(j) < n) line[T::col(j)] = v[j];
}

// v += line
template <int COLS> __device__ inline void add_line(const real *line, size_t n, real (&v)[COLS]) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS) v[j] += T::col(j) < n ? line[T::col(j)] : 0;
}

// line += v
template <int COLS> __device__ inline void add_to_line(const real (&v)[COLS], size_t n, real *line) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS)
        if (T::col(j) < n) line[T::col(j)] += v[j];
}

// ---- shared memory

static __device__ inline void read_four(const real *from, real *to) {
    float4 four = *reinterpret_cast<const float4 *>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

// COUNT elements from a multiple of COUNT on.
template <int COUNT> __device__ inline void read_run(const real *from, real *to) {
    UNROLL(COUNT)
    for (int i = 0; i < COUNT; i += COUNT % 4 ? 1 : 4) {
        if (COUNT % 4) to[i] = from[i];
        else read_four(from + i, to + i);
    }
}

// This thread's columns of a line of 32 * COLS elements.
template <int COLS> __device__ inline void read_columns(const real *line, real *v) {
    UNROLL_LOOP(j, COLS) v[j] = line[Tile<1, COLS>::col(j)];
}

// Writes the tile's n columns to lines of `width`, and zeros behind them. Other warps see it behind a barrier.
template <int ROWS, int COLS>
__device__ inline void tile_store(const Tile<ROWS, COLS> &tile, size_t n, real *to, unsigned width) {
    using T = Tile<ROWS, COLS>;
    UNROLL_LOOP(i, ROWS)
        UNROLL_LOOP(j, COLS) to[T::row(i) * width + T::col(j)] = T::col(j) < n ? tile.v[i][j] : 0;
}

// strip (rows, width) = the first n columns of from (rows, n); the block works together.
static __device__ inline void copy_lines(const real *from, unsigned rows, size_t n, unsigned width, real *strip) {
    unsigned cols = static_cast<unsigned>(n);
    if (n % 4 == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
        for (unsigned i = 4 * threadIdx.x; i < rows * cols; i += 4 * blockDim.x)
            *reinterpret_cast<float4 *>(strip + i / cols * width + i % cols) = *reinterpret_cast<const float4 *>(from + i);
    } else {
        for (unsigned i = threadIdx.x; i < rows * cols; i += blockDim.x) strip[i / cols * width + i % cols] = from[i];
    }
}

// strip[k * width + c] = from[c * n + first + k] for c < cols, k < count: lines of the transposed `from` (cols, n).
static __device__ inline void copy_turned(const real *from, size_t cols, size_t n, size_t first, unsigned count,
                                          unsigned width, real *strip) {
    for (unsigned i = threadIdx.x; i < cols * TILE_STRIP; i += blockDim.x) {
        unsigned c = i / TILE_STRIP, k = i % TILE_STRIP;
        if (k < count) strip[k * width + c] = from[c * n + first + k];
    }
}

// sum += a w: a (tile rows, count) in shared memory, lines of a_width; w (count, 32 * COLS) in `strip`; count a multiple
// of 4.
template <int ROWS, int COLS>
__device__ inline void tile_madd(const real *a, unsigned a_width, const real *strip, unsigned count,
                                 Tile<ROWS, COLS> &sum) {
    using T = Tile<ROWS, COLS>;
    UNROLL(1)
    for (unsigned k = 0; k < count; k += 4) {
        real w[4][COLS];
        UNROLL_LOOP(q, 4) read_columns<COLS>(strip + (k + q) * T::WIDTH, w[q]);
        UNROLL_LOOP(i, ROWS) {
            real x[4];
            read_four(a + T::row(i) * a_width + k, x);
            UNROLL_LOOP(q, 4)
                UNROLL_LOOP(j, COLS) sum.v[i][j] += x[q] * w[q][j];
        }
    }
}

// sum += a W: a (tile rows, depth) in shared memory, lines of a_width; stage(k, count) writes lines k .. k + count - 1 of
// W (depth, n) to `strip`. Columns from n on become 0. The block works together; begins with a barrier. Each warp reads its own rows of `a` alone, and has
// done so at the end.
template <int ROWS, int COLS, class Stage>
__device__ inline void tile_product(const real *a, unsigned a_width, size_t depth, size_t n, real *strip, Stage stage,
                                    Tile<ROWS, COLS> &sum) {
    constexpr unsigned WIDTH = Tile<ROWS, COLS>::WIDTH;
    for (size_t k = 0; k < depth; k += TILE_STRIP) {
        unsigned count = static_cast<unsigned>(depth - k < TILE_STRIP ? depth - k : TILE_STRIP);
        unsigned whole = (count + 3) / 4 * 4;
        __syncthreads(); // the strip has been read
        stage(k, count);
        for (unsigned i = count * WIDTH + threadIdx.x; i < whole * WIDTH; i += blockDim.x) strip[i] = 0;
        __syncthreads();
        tile_madd(a + k, a_width, strip, whole, sum);
    }
    UNROLL_LOOP(j, COLS)
        if (sum.col(j) >= n) UNROLL_LOOP(i, ROWS) sum.v[i][j] = 0;
    __syncwarp();
}

// to (depth, n) = or, with `add`, += a^T d: the sum over the tile's rows of a (rows, depth) and d (rows, 32 * COLS),
// both in shared lines of `width`. The block works together, each warp on lines of its own; barriers are the caller's.
template <int ROWS, int COLS>
__device__ inline void tile_outer(const real *a, size_t depth, const real *d, unsigned width, size_t n, bool add,
                                  real *to) {
    using T = Tile<ROWS, COLS>;
    unsigned warps = blockDim.x / CUDA_WARP, rows = warps * ROWS;
    for (size_t k = T::row(0); k < depth; k += rows) {
        T sum;
        sum.clear();
        UNROLL(2)
        for (unsigned r = 0; r < rows; r++) {
            real x[ROWS], y[COLS];
            read_columns<COLS>(d + r * width, y);
            read_run<ROWS>(a + r * width + k, x);
            UNROLL_LOOP(i, ROWS)
                UNROLL_LOOP(j, COLS) sum.v[i][j] += x[i] * y[j];
        }
        UNROLL_LOOP(i, ROWS) {
            if (k + static_cast<size_t>(i) >= depth) continue;
            real *line = to + (k + static_cast<size_t>(i)) * n;
            if (add) add_to_line(sum.v[i], n, line);
            else write_line(sum.v[i], n, line);
        }
    }
}

// to[j] = or, with `add`, += the sum over the tile's rows of what each thread has summed over its own: part[j]. Uses
// `strip`; the block works together, with barriers.
template <int COLS>
__device__ inline void tile_column_sums(const real (&part)[COLS], size_t n, bool add, real *strip, real *to) {
    using T = Tile<1, COLS>;
    __syncthreads(); // the strip has been read
    UNROLL_LOOP(j, COLS) strip[cuda_warp() * T::WIDTH + T::col(j)] = part[j];
    __syncthreads();
    THREAD_LOOP(j, n) {
        real sum = add ? to[j] : 0;
        for (unsigned warp = 0; warp < blockDim.x / CUDA_WARP; warp++) sum += strip[warp * T::WIDTH + j];
        to[j] = sum;
    }
}

#endif
