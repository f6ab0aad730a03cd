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

    static __device__ unsigned row(int i) { return cuda_warp() * ROWS + static_cast<unsigned>(i); }
    static __device__ unsigned col(int j) { return cuda_lane() + static_cast<unsigned>(j) * 32; }
    __device__ void clear() {
        UNROLL_LOOP(i, ROWS)
        UNROLL_LOOP(j, COLS) v[i][j] = 0;
    }
};

// The sum over a row's columns, in all lanes that have some of them.
static __device__ inline real tile_row_sum(real part) { return warp_sum(part); }

// ---- lines of n elements in global memory, this thread's columns of them

// Columns from n on read as 0.
template <int COLS> __device__ inline void read_line(const real *line, unsigned n, real (&v)[COLS]) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS) v[j] = T::col(j) < n ? line[T::col(j)] : 0;
}

template <int COLS> __device__ inline void write_line(const real (&v)[COLS], unsigned n, real *line) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS)
    if (T::col(j) < n) line[T::col(j)] = v[j];
}

// v += line
template <int COLS> __device__ inline void add_line(const real *line, unsigned n, real (&v)[COLS]) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS) v[j] += T::col(j) < n ? line[T::col(j)] : 0;
}

// line += v
template <int COLS> __device__ inline void add_to_line(const real (&v)[COLS], unsigned n, real *line) {
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

// This thread's columns of a line.
template <int COLS> __device__ inline void read_columns(const real *line, real *v) {
    UNROLL_LOOP(j, COLS) v[j] = line[Tile<1, COLS>::col(j)];
}

// Columns from n on become 0.
template <int COLS> __device__ inline void write_columns(const real *v, unsigned n, real *line) {
    using T = Tile<1, COLS>;
    UNROLL_LOOP(j, COLS) line[T::col(j)] = T::col(j) < n ? v[j] : 0;
}

// A tile and its n columns of lines of `width`. Other warps see what was written behind a barrier.
template <int ROWS, int COLS>
__device__ inline void tile_store(const Tile<ROWS, COLS> &tile, unsigned n, real *to, unsigned width) {
    UNROLL_LOOP(i, ROWS) write_columns<COLS>(tile.v[i], n, to + tile.row(i) * width);
}

template <int ROWS, int COLS>
__device__ inline void tile_load(const real *from, unsigned width, Tile<ROWS, COLS> &tile) {
    UNROLL_LOOP(i, ROWS) read_columns<COLS>(from + tile.row(i) * width, tile.v[i]);
}

// strip (rows, width) = the first n columns of from (rows, n); the block works together.
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

// sum += a w: a (tile rows, count) in shared memory, lines of a_width; w (count, 32 * COLS) in `strip`; count even.
template <int ROWS, int COLS>
__device__ inline void tile_madd(const real *a, unsigned a_width, const real *strip, unsigned count,
                                 Tile<ROWS, COLS> &sum) {
    using T = Tile<ROWS, COLS>;
    UNROLL(1)
    for (unsigned k = 0; k < count; k += 2) {
        real w[2][COLS];
        UNROLL_LOOP(q, 2) read_columns<COLS>(strip + (k + q) * T::WIDTH, w[q]);
        UNROLL_LOOP(i, ROWS) {
            float2 x = *reinterpret_cast<const float2 *>(a + T::row(i) * a_width + k);
            UNROLL_LOOP(j, COLS) sum.v[i][j] += x.x * w[0][j];
            UNROLL_LOOP(j, COLS) sum.v[i][j] += x.y * w[1][j];
        }
    }
}

// sum += a W: a (tile rows, depth) in shared memory, lines of a_width; stage(k, count) writes lines k .. k + count - 1
// of W (depth, n) to `strip`. Columns from n on become 0. The block works together; begins with a barrier. Each warp
// reads its own rows of `a` alone, and has done so at the end.
template <int ROWS, int COLS, class Stage>
__device__ inline void tile_product(const real *a, unsigned a_width, unsigned depth, unsigned n, real *strip,
                                    Stage stage, Tile<ROWS, COLS> &sum) {
    constexpr unsigned WIDTH = Tile<ROWS, COLS>::WIDTH;
    for (unsigned k = 0; k < depth; k += TILE_STRIP) {
        unsigned count = depth - k < TILE_STRIP ? depth - k : TILE_STRIP, whole = (count + 1) / 2 * 2;
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
            read_columns<COLS>(d + r * width, y);
            read_run<ROWS>(a + r * width + k, x);
            UNROLL_LOOP(i, ROWS)
            UNROLL_LOOP(j, COLS) sum.v[i][j] += x[i] * y[j];
        }
        UNROLL_LOOP(i, ROWS) {
            unsigned line_of = k + static_cast<unsigned>(i);
            if (line_of >= depth) continue;
            real *line = to + line_of * n;
            if (add) add_to_line(sum.v[i], n, line);
            else write_line(sum.v[i], n, line);
        }
    }
}

// to[j] = or, with `add`, += the sum over the tile's rows of what each thread has summed over its own: part[j]. Uses
// `strip`; the block works together, with barriers.
template <int COLS>
__device__ inline void tile_column_sums(const real (&part)[COLS], unsigned n, bool add, real *strip, real *to) {
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
