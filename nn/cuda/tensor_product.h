// SPDX-License-Identifier: Apache-2.0
// Products of lines in shared memory on tensor cores, for fused kernels. A warp makes 16 rows and some tiles of eight
// columns of a result, two columns of a tile in a lane; no function waits for other warps. Terms are added in the order
// of their index, by the 8 or 16.
#ifndef VPD_NN_CUDA_TENSOR_PRODUCT_H
#define VPD_NN_CUDA_TENSOR_PRODUCT_H

#include "nn/cuda/factors.h"
#include "nn/cuda/tensor_core.h"

// ---- the second factor, in global memory

// A matrix (depth, cols) in the order in which lanes read it: (depth / TENSOR_DEPTH, tiles, 32 lanes, 2 registers), 0
// behind both ends.
struct TensorFactor {
    const uint2 *packed;
    unsigned tiles; // of eight columns, a multiple of TENSOR_TILES
};

// The most tiles of one warp; whole groups of them need no test.
constexpr unsigned TENSOR_TILES = 8;

constexpr size_t TENSOR_SOURCES = 10; // of one op
struct TensorSources {
    size_t count;
    TensorSource source[TENSOR_SOURCES];
};

// Begins a source; add its weights by tensor_add, and end it by tensor_factor_of.
static inline TensorSource *tensor_source(TensorSources *s, size_t width, bool turned) {
    CHECK(s->count < TENSOR_SOURCES);
    TensorSource *source = &s->source[s->count++];
    *source = {};
    source->width = static_cast<unsigned>(width);
    source->turned = turned;
    return source;
}

static inline void tensor_add(TensorSource *s, const real *weight, size_t rows) {
    CHECK(s->pieces < TENSOR_PIECES);
    s->rows += static_cast<unsigned>(rows);
    s->piece[s->pieces++] = {weight, s->rows};
}

static __host__ __device__ inline unsigned source_depth(const TensorSource &s) { return s.turned ? s.width : s.rows; }
static __host__ __device__ inline unsigned source_cols(const TensorSource &s) { return s.turned ? s.rows : s.width; }
static __host__ __device__ inline unsigned source_tiles(const TensorSource &s) {
    constexpr unsigned COLS = TENSOR_TILES * TENSOR_COLS;
    return (source_cols(s) + COLS - 1) / COLS * TENSOR_TILES;
}
template <Precision P> __host__ __device__ inline unsigned source_steps(const TensorSource &s) {
    return (source_depth(s) + TENSOR_DEPTH<P> - 1) / TENSOR_DEPTH<P>;
}

// The factor of the newest source. tensor_pack() fills it, unless an op of the same step has done so.
template <Precision P> TensorFactor tensor_factor_of(Device *device, TensorSources *all) {
    TensorSource *s = &all->source[all->count - 1];
    unsigned tiles = source_tiles(*s);
    size_t bytes = size_t{source_steps<P>(*s)} * tiles * CUDA_WARP * sizeof(uint2);
    if (cuda_factor_made(device, P, bytes, s)) all->count--;
    return {s->packed, tiles};
}

// Row i < s.rows of the weights.
static __device__ inline const real *source_line(const TensorSource &s, unsigned i) {
    unsigned piece = 0;
    while (i >= s.piece[piece].end) piece++;
    return s.piece[piece].weight + (i - (piece ? s.piece[piece - 1].end : 0)) * s.width;
}

// Fills the elements first, first + step, .. of a factor; whole warps begin at multiples of 32.
template <Precision P> __device__ inline void pack_factor(const TensorSource &s, size_t first, size_t step) {
    unsigned depth = source_depth(s), cols = source_cols(s), tiles = source_tiles(s);
    auto at = [&](unsigned k, unsigned col) {
        if (k >= depth || col >= cols) return real{0};
        return s.turned ? source_line(s, col)[k] : source_line(s, k)[col];
    };
    for (size_t i = first; i < size_t{source_steps<P>(s)} * tiles * CUDA_WARP; i += step) {
        unsigned tile = static_cast<unsigned>(i) / CUDA_WARP; // and lane i % 32 is this one
        unsigned k = tile / tiles * TENSOR_DEPTH<P>, col = tile % tiles * TENSOR_COLS + tensor_line();
        TensorB b;
        UNROLL_LOOP(r, 2) {
            unsigned from = k + tensor_b_depth<P>(r);
            b.r[r] = tensor_factor<P>(at(from, col), at(from + 1, col));
        }
        s.packed[i] = {b.r[0], b.r[1]};
    }
}

template <Precision P> __global__ void tensor_pack_factors(const __grid_constant__ TensorSources all) {
    if constexpr (TENSOR_CORES)
        for (size_t n = 0; n < all.count; n++)
            pack_factor<P>(all.source[n], blockIdx.x * size_t{blockDim.x} + threadIdx.x,
                           size_t{gridDim.x} * blockDim.x);
}

template <Precision P> void tensor_pack(Device *device, const TensorSources *s) {
    size_t largest = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t size = size_t{source_steps<P>(s->source[i])} * source_tiles(s->source[i]) * CUDA_WARP;
        largest = size > largest ? size : largest;
    }
    LAUNCH(device, cuda_blocks(s->count ? largest : 0), CUDA_THREADS, 0, tensor_pack_factors<P>, *s);
}

// ---- the first factor, in shared memory

// 16 rows at x, of whose columns from x on `left` are there; others count as 0.
template <Precision P> __device__ inline TensorA tensor_a_rows(const float *x, unsigned stride, unsigned left) {
    TensorA a;
    UNROLL_LOOP(i, 4) {
        unsigned k = tensor_a_depth<P>(i);
        const float *at = x + tensor_row(i % 2) * stride + k;
        float2 two = {0, 0};
        if (P == PRECISION_BF16 && k + 1 < left) two = *reinterpret_cast<const float2 *>(at); // strides are even
        else if (k < left) two.x = *at;
        a.r[i] = tensor_factor<P>(two.x, two.y);
    }
    return a;
}

// The transpose: 16 columns at x, of which `left` are there, TENSOR_DEPTH rows.
template <Precision P> __device__ inline TensorA tensor_a_columns(const float *x, unsigned stride, unsigned left) {
    TensorA a;
    UNROLL_LOOP(i, 4) {
        unsigned row = tensor_row(i % 2);
        const float *at = x + tensor_a_depth<P>(i) * stride + row;
        bool there = row < left;
        a.r[i] = tensor_factor<P>(there ? at[0] : 0, there && P == PRECISION_BF16 ? at[stride] : 0);
    }
    return a;
}

// Eight columns at y, of which `left` are there, TENSOR_DEPTH rows.
template <Precision P> __device__ inline TensorB tensor_b_columns(const float *y, unsigned stride, unsigned left) {
    TensorB b;
    UNROLL_LOOP(i, 2) {
        const float *at = y + tensor_b_depth<P>(i) * stride + tensor_line();
        bool there = tensor_line() < left;
        b.r[i] = tensor_factor<P>(there ? at[0] : 0, there && P == PRECISION_BF16 ? at[stride] : 0);
    }
    return b;
}

// ---- products

// Tile t of the sums += the 16 rows of x (depth columns, lines of `stride`) times tile first + t of the factor, from
// its line `from` on, a multiple of 16; `first` is a multiple of their number.
template <Precision P, int COLS>
__device__ inline void tensor_product(const float *x, unsigned stride, unsigned depth, const TensorFactor &factor,
                                      unsigned from, unsigned first, float (&sum)[2][COLS]) {
    static_assert(COLS / 2 <= TENSOR_TILES && TENSOR_TILES % (COLS / 2) == 0,
                  "a group of tiles would end within a warp's");
    if (first >= factor.tiles) return; // the whole warp
    UNROLL(1)
    for (unsigned k = 0; k < depth; k += TENSOR_DEPTH<P>) {
        const uint2 *line = factor.packed + size_t{(from + k) / TENSOR_DEPTH<P>} * factor.tiles * CUDA_WARP;
        TensorA a = tensor_a_rows<P>(x + k, stride, depth - k);
        UNROLL_LOOP(t, COLS / 2) {
            uint2 two = line[(first + t) * CUDA_WARP + cuda_lane()];
            tensor_multiply_add<P>(a, TensorB{{two.x, two.y}}, sum, t);
        }
    }
}

// The sums += x^T y over `rows`, a multiple of 16: 16 columns of x, eight of y for each tile, of which so many are
// there.
template <Precision P, int COLS>
__device__ inline void tensor_outer(unsigned rows, const float *x, unsigned x_stride, unsigned x_left, const float *y,
                                    unsigned y_stride, unsigned y_left, float (&sum)[2][COLS]) {
    UNROLL(1)
    for (unsigned k = 0; k < rows; k += TENSOR_DEPTH<P>) {
        TensorA a = tensor_a_columns<P>(x + k * x_stride, x_stride, x_left);
        UNROLL_LOOP(t, COLS / 2) {
            if (t * TENSOR_COLS >= y_left) continue; // of the whole warp
            TensorB b = tensor_b_columns<P>(y + k * y_stride + t * TENSOR_COLS, y_stride, y_left - t * TENSOR_COLS);
            tensor_multiply_add<P>(a, b, sum, t);
        }
    }
}

#endif
