// SPDX-License-Identifier: Apache-2.0
// A block's tile of rows: layout in registers and in shared memory, and products with weights.
//
// Tile: a warp owns ROWS complete rows, so operations within a row (a norm) need no shared memory, and a product, in
// fp32 with sums in the order of the index, may overwrite its left factor. TensorTile: the layout of tensor-core sums,
// 16 rows and some of the columns per warp. In shared memory a line has 32 * COLS elements or more; columns from `n` on
// are zero.
#ifndef VPD_GNN_CUDA_TILE_H
#define VPD_GNN_CUDA_TILE_H

#include "nn/cuda/launch.h"
#include "nn/cuda/tile_product.h"

#ifdef __CUDACC__
#include <cuda_pipeline.h>
#endif
#include <type_traits>

constexpr unsigned TILE_STRIP = 16; // lines of a weight in shared memory at a time

// A thread's part of a tile: the rows of its warp, every 32nd column.
template <int ROWS, int COLS> struct Tile {
    static constexpr unsigned WIDTH = COLS * 32;
    static constexpr int R = ROWS, C = COLS;
    real v[R][C];

    static __device__ unsigned row(unsigned i) { return cuda_warp() * ROWS + i; }
    static __device__ unsigned col(unsigned j) { return cuda_lane() + j * 32; }
    __device__ void clear() {
        UNROLL_LOOP(i, R)
        UNROLL_LOOP(j, C) v[i][j] = 0;
    }
};

// The same number of rows and columns, ROWS per warp of the block, in the layout of tensor-core sums: two rows, and
// pairs of columns.
template <int ROWS, int COLS> struct TensorTile {
    static constexpr unsigned WIDTH = COLS * 32, ACROSS = TENSOR_ROWS / ROWS; // warps side by side
    static constexpr int R = 2, C = ROWS * COLS / 2;
    real v[R][C];

    static __device__ unsigned first_row() { return cuda_warp() / ACROSS * TENSOR_ROWS; }
    static __device__ unsigned first_tile() { return cuda_warp() % ACROSS * (C / 2); }
    static __device__ unsigned row(unsigned i) { return first_row() + tensor_row(i); }
    static __device__ unsigned col(unsigned j) { return (first_tile() + j / 2) * TENSOR_COLS + tensor_col(j % 2); }
    __device__ void clear() {
        UNROLL_LOOP(i, R)
        UNROLL_LOOP(j, C) v[i][j] = 0;
    }
};

// The layout of COLS values of a line: `Layout`, or by default that of a Tile.
template <class Layout, int COLS> using Columns = std::conditional_t<std::is_void_v<Layout>, Tile<1, COLS>, Layout>;

// The sum over a row's columns, in all lanes that hold some of them.
static __device__ inline real tile_row_sum(real part) { return warp_sum(part); }

// ---- lines of n elements in global memory; each thread has some columns

// Columns from n on read as 0.
template <class Layout = void, int COLS>
__device__ inline void read_line(const real *line, unsigned n, real (&v)[COLS]) {
    using T = Columns<Layout, COLS>;
    UNROLL_LOOP(j, COLS) v[j] = T::col(j) < n ? line[T::col(j)] : 0;
}

template <class Layout = void, int COLS>
__device__ inline void write_line(const real (&v)[COLS], unsigned n, real *line) {
    using T = Columns<Layout, COLS>;
    UNROLL_LOOP(j, COLS)
    if (T::col(j) < n) line[T::col(j)] = v[j];
}

// v += line
template <class Layout = void, int COLS>
__device__ inline void add_line(const real *line, unsigned n, real (&v)[COLS]) {
    using T = Columns<Layout, COLS>;
    UNROLL_LOOP(j, COLS) v[j] += T::col(j) < n ? line[T::col(j)] : 0;
}

// line += v
template <class Layout = void, int COLS>
__device__ inline void add_to_line(const real (&v)[COLS], unsigned n, real *line) {
    using T = Columns<Layout, COLS>;
    UNROLL_LOOP(j, COLS)
    if (T::col(j) < n) line[T::col(j)] += v[j];
}

// ---- lines of all rows of a warp
//
// Their loads are under way together. One row after the other would wait for memory each time: some 300 cycles of an
// H100, a fifth of a product of the whole tile.

// v[i] = line(i), a pointer or NULL, which reads as 0.
template <int ROWS, int COLS, class Line>
__device__ inline void read_lines(Line line, unsigned n, real (&v)[ROWS][COLS]) {
    UNROLL_LOOP(i, ROWS) {
        const real *from = line(i);
        UNROLL_LOOP(j, COLS) v[i][j] = from && Tile<1, COLS>::col(j) < n ? from[Tile<1, COLS>::col(j)] : 0;
    }
}

// line(i) += v[i]
template <int ROWS, int COLS, class Line>
__device__ inline void add_to_lines(const real (&v)[ROWS][COLS], unsigned n, Line line) {
    real sum[ROWS][COLS];
    read_lines(line, n, sum);
    UNROLL_LOOP(i, ROWS) {
        real *to = line(i);
        UNROLL_LOOP(j, COLS) sum[i][j] += v[i][j];
        if (to) write_line(sum[i], n, to);
    }
}

// ---- shared memory

// Begins to copy a number of global memory; copies_end() waits for all of this thread's.
static __device__ inline void copy_begin(const real *from, real *to) {
#ifdef __CUDACC__
    __pipeline_memcpy_async(to, from, sizeof *to);
#else
    *to = *from;
#endif
}
static __device__ inline void copies_end() {
#ifdef __CUDACC__
    __pipeline_commit();
    __pipeline_wait_prior(0);
#endif
}

// COUNT elements from a multiple of COUNT on.
template <int COUNT> __device__ inline void read_run(const real *from, real *to) {
    UNROLL(COUNT)
    for (int i = 0; i < COUNT; i += COUNT % 4 ? 1 : 4) {
        if (COUNT % 4) {
            to[i] = from[i];
            continue;
        }
        float4 four = read_four(from + i);
        to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
}

// This thread's columns of a line.
template <class Layout = void, int COLS> __device__ inline void read_columns(const real *line, real (&v)[COLS]) {
    UNROLL_LOOP(j, COLS) v[j] = line[Columns<Layout, COLS>::col(j)];
}

// Columns from n on become 0.
template <class Layout = void, int COLS>
__device__ inline void write_columns(const real (&v)[COLS], unsigned n, real *line) {
    using T = Columns<Layout, COLS>;
    UNROLL_LOOP(j, COLS) line[T::col(j)] = T::col(j) < n ? v[j] : 0;
}

// A tile and its n columns of lines of `width`. Other warps see it after a barrier.
template <class T> __device__ inline void tile_store(const T &tile, unsigned n, real *to, unsigned width) {
    UNROLL_LOOP(i, T::R) write_columns<T>(tile.v[i], n, to + tile.row(i) * width);
}

template <class T> __device__ inline void tile_load(const real *from, unsigned width, T &tile) {
    UNROLL_LOOP(i, T::R) read_columns<T>(from + tile.row(i) * width, tile.v[i]);
}

// strip (rows, width) = the first n columns of from (rows, n); all threads of the block cooperate.
static __device__ inline void copy_lines(const real *from, unsigned rows, unsigned n, unsigned width, real *strip) {
    if (n % 4 == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
        for (unsigned i = 4 * threadIdx.x; i < rows * n; i += 4 * blockDim.x)
            *reinterpret_cast<float4 *>(strip + i / n * width + i % n) = *reinterpret_cast<const float4 *>(from + i);
    } else {
        for (unsigned i = threadIdx.x; i < rows * n; i += blockDim.x) strip[i / n * width + i % n] = from[i];
    }
}

// strip[k * width + c] = from[c * n + first + k] for c < cols, k < count: lines of the transposed `from` (cols, n).
static __device__ inline void copy_turned(const real *from, unsigned cols, unsigned n, unsigned first, unsigned count,
                                          unsigned width, real *strip) {
    for (unsigned i = threadIdx.x; i < cols * TILE_STRIP; i += blockDim.x) {
        unsigned c = i / TILE_STRIP, k = i % TILE_STRIP;
        if (k < count) strip[k * width + c] = from[c * n + first + k];
    }
}

// sum += a w, with a (tile rows, count) in shared memory, lines of a_width, and w (count, 32 * COLS) in `strip`; count
// is even.
template <int ROWS, int COLS>
__device__ inline void tile_madd(const real *a, unsigned a_width, const real *strip, unsigned count,
                                 Tile<ROWS, COLS> &sum) {
    using T = Tile<ROWS, COLS>;
    UNROLL(1)
    for (unsigned k = 0; k < count; k += 2) {
        real w[2][COLS];
        UNROLL_LOOP(q, 2) read_columns(strip + (k + q) * T::WIDTH, w[q]);
        UNROLL_LOOP(i, ROWS) {
            float2 x = *reinterpret_cast<const float2 *>(a + T::row(i) * a_width + k);
            UNROLL_LOOP(j, COLS) sum.v[i][j] += x.x * w[0][j];
            UNROLL_LOOP(j, COLS) sum.v[i][j] += x.y * w[1][j];
        }
    }
}

// sum += a W, with a (tile rows, depth) in shared memory, lines of a_width. stage(k, count) writes lines k .. k + count
// - 1 of W (depth, n) to `strip`. Columns from n on become 0. All threads of the block cooperate; begins with a
// barrier. Each warp reads only its own rows of `a`, and has read them at the end.
template <int ROWS, int COLS, class Stage>
__device__ inline void tile_product(const real *a, unsigned a_width, unsigned depth, unsigned n, real *strip,
                                    Stage stage, Tile<ROWS, COLS> &sum) {
    constexpr unsigned WIDTH = Tile<ROWS, COLS>::WIDTH;
    for (unsigned k = 0; k < depth; k += TILE_STRIP) {
        unsigned count = depth - k < TILE_STRIP ? depth - k : TILE_STRIP, whole = (count + 1) / 2 * 2;
        __syncthreads(); // the strip was read completely
        stage(k, count);
        for (unsigned i = count * WIDTH + threadIdx.x; i < whole * WIDTH; i += blockDim.x) strip[i] = 0;
        __syncthreads();
        tile_madd(a + k, a_width, strip, whole, sum);
    }
    UNROLL_LOOP(j, COLS)
    if (sum.col(j) >= n) UNROLL_LOOP(i, ROWS) sum.v[i][j] = 0;
    __syncwarp();
}

// to (depth, n) = (or += with `add`) a^T d, summed over the tile's rows of a (rows, depth) and d (rows, 32 * COLS),
// both in shared lines of `width`. The block cooperates, each warp on separate lines; the caller provides barriers.
template <int ROWS, int COLS>
__device__ inline void tile_outer(const real *a, unsigned depth, const real *d, unsigned width, unsigned n, bool add,
                                  real *to) {
    using T = Tile<ROWS, COLS>;
    unsigned warps = blockDim.x / CUDA_WARP, rows = warps * ROWS;
    for (unsigned k = T::row(0); k < depth; k += rows) {
        T sum;
        sum.clear();
        UNROLL(1)
        for (unsigned r = 0; r < rows; r++) {
            real x[ROWS], y[COLS];
            read_columns(d + r * width, y);
            read_run<ROWS>(a + r * width + k, x);
            UNROLL_LOOP(i, ROWS)
            UNROLL_LOOP(j, COLS) sum.v[i][j] += x[i] * y[j];
        }
        UNROLL_LOOP(i, ROWS) {
            unsigned line_of = k + i;
            if (line_of >= depth) continue;
            real *line = to + line_of * n;
            if (add) add_to_line(sum.v[i], n, line);
            else write_line(sum.v[i], n, line);
        }
    }
}

// to[j] = (or += with `add`) the sum over the tile's rows of part[j], which each thread has summed over its own rows.
// Uses `strip`; the block cooperates, with barriers.
template <int COLS>
__device__ inline void tile_column_sums(const real (&part)[COLS], unsigned n, bool add, real *strip, real *to) {
    using T = Tile<1, COLS>;
    __syncthreads(); // the strip was read completely
    UNROLL_LOOP(j, COLS) strip[cuda_warp() * T::WIDTH + T::col(j)] = part[j];
    __syncthreads();
    THREAD_LOOP(j, n) {
        real sum = add ? to[j] : 0;
        for (unsigned warp = 0; warp < blockDim.x / CUDA_WARP; warp++) sum += strip[warp * T::WIDTH + j];
        to[j] = sum;
    }
}

#endif
