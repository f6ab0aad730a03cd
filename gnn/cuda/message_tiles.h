// SPDX-License-Identifier: Apache-2.0
// Operations of gnn/cuda/message.cu on a tile of rows.
#ifndef VPD_GNN_CUDA_MESSAGE_TILES_H
#define VPD_GNN_CUDA_MESSAGE_TILES_H

#include "gnn/cuda/tile.h"

#include "gnn/message.h"

// Two blocks of a backward pass 128 wide in bfloat16 need 220 KB of shared memory on a multiprocessor: 9.0 and 10.x
// have it, 12.x have 100 KB.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)
#define MESSAGE_MUCH_SHARED 0
#else
#define MESSAGE_MUCH_SHARED 1
#endif

// Precision of products, ROWS per warp, hidden and output columns per lane (of a Tile).
template <Precision P, int ROWS_, int HIDDEN_, int OUT_> struct MessageShape {
    static constexpr Precision PRECISION = P;
    static constexpr bool TENSOR = P != PRECISION_F32;
    static constexpr int ROWS = ROWS_, HIDDEN = HIDDEN_, OUT = OUT_,
                         TOGETHER = ROWS / 2, // rows that a warp loads at a time: all would take too many registers
        NARROW = TENSOR && ROWS < 4 ? 2 : 1;  // columns of a lane that hold a few inputs
    static constexpr unsigned WIDTH = 32 * HIDDEN,              // columns
        STRIDE = WIDTH + (TENSOR ? 4 : 0),                      // of a tile's lines: see tensor_row
        STRIP = TENSOR ? CUDA_THREADS / CUDA_WARP : TILE_STRIP, // lines: of a weight, or of each warp's sums
        MOST_ROWS = CUDA_THREADS / CUDA_WARP * ROWS,            // of a tile
        BLOCKS = HIDDEN <= 2 || (P == PRECISION_BF16 && HIDDEN == 4) ? 2 : 1, // that share registers
        BLOCKS_BACKWARD = MESSAGE_MUCH_SHARED || HIDDEN <= 2 ? BLOCKS : 1;
    template <int COLS> using TileOf = std::conditional_t<TENSOR, TensorTile<ROWS, COLS>, Tile<ROWS, COLS>>;
    using Hidden = TileOf<HIDDEN>;
    using Out = TileOf<OUT>;

    // Synchronises what a thread does with its part of a tile with what a warp does with its rows.
    static __device__ void share() {
        if constexpr (TENSOR) __syncthreads();
        else __syncwarp();
    }
};

// Sums over consecutive rows, of a group or an other end. A segment that ends within its tile is written to `sum`;
// pieces of others go to `piece`, row (tile + segment), which no one else writes.
typedef struct MessageSegments {
    size_t count, width;
    real *sum;   // (count, width), overwritten, NULL = no sums
    real *piece; // (tiles + count, width)
    bool mean;   // over present rows
} MessageSegments;

// A gradient that is summed in parts; elements from `offset` of a part belong to `to`.
typedef struct MessageSlot {
    real *to;
    size_t offset, size;
} MessageSlot;

enum { MESSAGE_SLOTS = MESSAGE_MAX_TERMS + MESSAGE_PRODUCTS + 7 };

// Tiles p, p + parts, p + 2 parts, .. add up part p.
typedef struct MessageSlots {
    size_t count, part_size, parts;
    real *part; // (parts, part_size)
    MessageSlot slot[MESSAGE_SLOTS];
} MessageSlots;

typedef struct MessageWork {
    size_t rows, tile_rows, tiles;
    size_t left;     // sums for MESSAGE_REST
    unsigned inputs; // columns of all terms with a weight
    bool by_other;   // rows are in the order of their other ends (edges_order), else in their own
    MessageSegments segments;
    struct {
        TensorFactor terms, weight1, weight2, product[MESSAGE_PRODUCTS];
    } plain, turned; // weights in tensor-core layout, all terms' below one another
    // backward
    MessageSlots slots;
    // where they begin in a part
    size_t terms, bias0, weight1, bias1, weight2, bias2, gain, offset, product[MESSAGE_PRODUCTS];
    real *row_dx[MESSAGE_MAX_TERMS]; // (rows, width) of terms by group with a weight, by row; NULL = not wanted
    real *da;                        // (rows, hidden) for terms by group without one
} MessageWork;

static __device__ inline size_t segment_start(const MessageArgs &m, const MessageWork &w, size_t segment) {
    return w.by_other ? static_cast<size_t>(m.edges.start[segment]) : segment * m.edges.k;
}

// 1, or 1 / present rows
static __device__ inline real segment_share(const MessageArgs &m, const MessageWork &w, size_t first, size_t last) {
    if (!w.segments.mean) return 1;
    size_t present = last - first;
    for (size_t i = first; !w.by_other && m.edges.index && i < last; i++) present -= m.edges.index[i] < 0;
    return present ? 1 / static_cast<real>(present) : 0;
}

// Whether one tile holds all rows [first, last) of a segment, and so its sum.
static __device__ inline bool is_whole(const MessageWork &w, size_t first, size_t last) {
    return first < last && first / w.tile_rows == (last - 1) / w.tile_rows;
}

// Column j of a segment's sum, without its share where it is one of pieces.
static __device__ inline real segment_sum(const MessageArgs &m, const MessageWork &w, size_t segment, size_t j) {
    const MessageSegments &s = w.segments;
    size_t first = segment_start(m, w, segment), last = segment_start(m, w, segment + 1);
    if (is_whole(w, first, last)) return s.sum[segment * s.width + j];
    real sum = 0;
    for (size_t tile = first / w.tile_rows; first < last && tile <= (last - 1) / w.tile_rows; tile++)
        sum += s.piece[(tile + segment) * s.width + j];
    return sum;
}

// The rows of a tile, in shared memory: row number (-1 after the last), group, other end (-1: none), and segment. The
// numbers of the tile and of its part are there too, where they take no registers.
typedef struct TileRows {
    int32_t *row, *group, *other, *segment;
    unsigned *tile, *part;
} TileRows;

// Begins and ends with a barrier.
static __device__ inline void find_rows(const MessageArgs &m, const MessageWork &w, unsigned tile, unsigned tile_rows,
                                        const TileRows &t) {
    __syncthreads(); // the last tile is finished
    if (threadIdx.x == 0) *t.tile = tile;
    THREAD_LOOP(r, tile_rows) {
        size_t at = size_t{tile} * w.tile_rows + r;
        bool is_row = r < w.tile_rows && at < w.rows;
        size_t row = w.by_other && is_row ? static_cast<size_t>(m.edges.by_other[at]) : at;
        int32_t group = is_row ? static_cast<int32_t>(row / m.edges.k) : -1;
        int32_t other = is_row && m.edges.index ? m.edges.index[row] : -1;
        t.row[r] = is_row ? static_cast<int32_t>(row) : -1;
        t.group[r] = group;
        t.other[r] = other;
        t.segment[r] = w.by_other ? other : group;
    }
    __syncthreads();
}

// Sums the present rows of each segment of a tile (tile rows, width) in shared memory, lines of `stride`.
static __device__ inline void sum_segments(const MessageArgs &m, const MessageWork &w, unsigned tile_rows,
                                           const TileRows &t, const real *x, unsigned stride) {
    const MessageSegments &s = w.segments;
    size_t tile = *t.tile;
    for (unsigned r = cuda_warp(); r < tile_rows; r += blockDim.x / CUDA_WARP) {
        int32_t segment = t.segment[r];
        if (segment < 0 || (r > 0 && t.segment[r - 1] == segment)) continue; // not the first of its run
        size_t id = static_cast<size_t>(segment), first = segment_start(m, w, id), last = segment_start(m, w, id + 1);
        bool whole = first >= tile * w.tile_rows && last <= (tile + 1) * w.tile_rows;
        real share = whole ? segment_share(m, w, first, last) : 1;
        real *to = whole ? s.sum + id * s.width : s.piece + (tile + id) * s.width;
        for (size_t j = cuda_lane(); j < s.width; j += CUDA_WARP) {
            real sum = 0;
            for (unsigned q = r; q < tile_rows && t.segment[q] == segment; q++)
                if (!m.edges.index || t.other[q] >= 0) sum += x[q * stride + j];
            to[j] = share * sum;
        }
    }
}

// ---- the first layer

// The inputs of a row are the columns of all terms with a weight, side by side. Calls f(term, from, to, at) for the
// columns [from, to) of each term that lie among the inputs [first, first + count), where they start at first + at.
template <class F> __device__ inline void each_input(const MessageArgs &m, unsigned first, unsigned count, F f) {
    unsigned begin = 0;
    for (size_t i = 0; i < m.term_count; i++) {
        if (!m.terms[i].weight) continue;
        unsigned end = begin + static_cast<unsigned>(m.terms[i].width);
        unsigned from = first > begin ? first : begin, to = first + count < end ? first + count : end;
        if (from < to) f(m.terms[i], from - begin, to - begin, from - first);
        begin = end;
    }
}

static __device__ inline size_t term_line(const TileRows &t, TermKind kind, unsigned r) {
    return static_cast<size_t>(kind == TERM_ROW ? t.row[r] : kind == TERM_GROUP ? t.group[r] : t.other[r]);
}

// The row of the tile that is row i of this warp, and whether it is there.
template <class S> __device__ inline unsigned own_row(unsigned i) { return Tile<S::ROWS, 1>::row(i); }
template <class S> __device__ inline bool has_row(const TileRows &t, unsigned i) { return t.row[own_row<S>(i)] >= 0; }

// Line of a (rows, n) matrix for row i of this warp; NULL where there is no row.
template <class S, class Number>
__device__ inline Number *own_line(const TileRows &t, unsigned i, Number *matrix, unsigned n) {
    return has_row<S>(t, i) ? matrix + static_cast<size_t>(t.row[own_row<S>(i)]) * n : nullptr;
}

// x (tile rows, S::WIDTH; lines of S::STRIDE) = the inputs [first, first + count) of rows, each warp its own.
template <class S>
__device__ inline void read_inputs(const MessageArgs &m, const TileRows &t, unsigned first, unsigned count, real *x) {
    UNROLL(1)
    for (unsigned i = 0; i < S::ROWS; i++) {
        unsigned r = own_row<S>(i), there = t.row[r] >= 0 ? count : 0;
        real *line = x + r * S::STRIDE;
        for (unsigned c = there + cuda_lane(); c < S::WIDTH; c += CUDA_WARP) line[c] = 0;
        if (!there) continue;
        each_input(m, first, count, [&](const MessageTermArgs &term, unsigned from, unsigned to, unsigned at) {
            const real *source = term.x + term_line(t, term.kind, r) * term.width;
            for (unsigned c = from + cuda_lane(); c < to; c += CUDA_WARP) copy_begin(source + c, line + at + c - from);
        });
    }
    copies_end();
}

// Lines of x (tile rows, depth) times lines from `line` on and columns from `col` on of a factor: sum += that.
template <class S, class T>
__device__ inline void tensor_tile_product(const real *x, unsigned depth, const TensorFactor &factor, unsigned line,
                                           unsigned col, T &sum) {
    __syncthreads(); // x is written
    tensor_product<S::PRECISION>(x + T::first_row() * S::STRIDE, S::STRIDE, depth, factor, line,
                                 col / TENSOR_COLS + T::first_tile(), sum.v);
    __syncthreads(); // x was read completely
}

// to (depth, n) = (or += with `add`) a^T d, summed over the tile's rows of a (rows, depth) and d (rows, n), both in
// lines of S::STRIDE. Each warp computes separate pieces; the caller provides barriers.
template <class S>
__device__ inline void tensor_tile_outer(real *a, unsigned depth, real *d, unsigned n, bool add, real *to) {
    unsigned rows = blockDim.x / CUDA_WARP * S::ROWS;
    tile_outer_tensor<S::PRECISION>(
        rows, SharedTile{a, S::STRIDE, depth}, SharedTile{d, S::STRIDE, n},
        [&](unsigned i, unsigned j, real sum) { to[i * n + j] = (add ? to[i * n + j] : 0) + sum; });
}

// a = bias0 + terms; x is a buffer like the tile's.
template <class S>
__device__ inline void first_layer(const MessageArgs &m, const MessageWork &w, const TileRows &t, real *x, real *strip,
                                   typename S::Hidden &a) {
    unsigned n = static_cast<unsigned>(m.hidden);
    a.clear();
    for (unsigned first = 0; first < w.inputs; first += S::WIDTH) {
        unsigned count = w.inputs - first < S::WIDTH ? w.inputs - first : S::WIDTH;
        read_inputs<S>(m, t, first, count, x);
        if constexpr (S::TENSOR) {
            tensor_tile_product<S>(x, count, w.plain.terms, first, 0, a);
        } else {
            auto stage = [&](unsigned k, unsigned lines) {
                each_input(m, first + k, lines,
                           [&](const MessageTermArgs &term, unsigned from, unsigned to, unsigned at) {
                               copy_lines(term.weight + from * n, to - from, n, S::WIDTH, strip + at * S::WIDTH);
                           });
            };
            tile_product(x, S::STRIDE, count, n, strip, stage, a);
        }
    }
    tile_store(a, n, x, S::STRIDE);
    S::share();
    UNROLL(1)
    for (unsigned first = 0; first < S::ROWS; first += S::TOGETHER) {
        real v[S::TOGETHER][S::HIDDEN], more[S::TOGETHER][S::HIDDEN];
        UNROLL_LOOP(i, S::TOGETHER) read_columns(x + own_row<S>(first + i) * S::STRIDE, v[i]);
        auto add = [&](auto line) {
            read_lines(line, n, more);
            UNROLL_LOOP(i, S::TOGETHER)
            UNROLL_LOOP(j, S::HIDDEN) v[i][j] += more[i][j];
        };
        if (m.bias0) add([&](unsigned i) { return has_row<S>(t, first + i) ? m.bias0 : nullptr; });
        UNROLL(1)
        for (size_t term = 0; term < m.term_count; term++) {
            const MessageTermArgs &by = m.terms[term];
            if (by.weight) continue;
            add([&](unsigned i) -> const real * {
                unsigned r = own_row<S>(first + i);
                bool there = t.row[r] >= 0 && (by.kind != TERM_OTHER || t.other[r] >= 0);
                return there ? by.x + term_line(t, by.kind, r) * n : nullptr;
            });
        }
        UNROLL_LOOP(i, S::TOGETHER) write_columns(v[i], n, x + own_row<S>(first + i) * S::STRIDE);
    }
    S::share();
    tile_load(x, S::STRIDE, a);
}

// ---- rows in global memory

// Writes a tile to rows of a (rows, n) matrix, which may be NULL.
template <class T> static __device__ inline void write_rows(const T &tile, const TileRows &t, unsigned n, real *to) {
    UNROLL_LOOP(i, T::R) {
        int32_t row = t.row[tile.row(i)];
        if (to && row >= 0) write_line<T>(tile.v[i], n, to + static_cast<size_t>(row) * n);
    }
}

template <class T> static __device__ inline void read_rows(const real *from, const TileRows &t, unsigned n, T &tile) {
    tile.clear();
    UNROLL_LOOP(i, T::R) {
        int32_t row = t.row[tile.row(i)];
        if (row >= 0) read_line<T>(from + static_cast<size_t>(row) * n, n, tile.v[i]);
    }
}

// ---- activations

static __device__ inline real sigmoid(real x) { return __fdividef(1, 1 + __expf(-x)); }

// v = silu(v), slope = silu'(v)
static __device__ inline void activate(real *v, real *slope) {
    real s = sigmoid(*v), y = *v * s;
    *slope = s + y * (1 - s);
    *v = y;
}

// Slopes of a tile's values; for bfloat16 products two per register.
template <class T, bool PACKED> struct Slopes {
    real v[T::R][T::C];
    __device__ void put(unsigned i, const real (&s)[T::C]) { UNROLL_LOOP(j, T::C) v[i][j] = s[j]; }
    __device__ void multiply(T &d) const {
        UNROLL_LOOP(i, T::R)
        UNROLL_LOOP(j, T::C) d.v[i][j] *= v[i][j];
    }
};

template <class T> struct Slopes<T, true> {
    unsigned v[T::R][T::C / 2];
    __device__ void put(unsigned i, const real (&s)[T::C]) {
        UNROLL_LOOP(j, T::C / 2) v[i][j] = tensor_bf16(s[2 * j], s[2 * j + 1]);
    }
    __device__ void multiply(T &d) const {
        UNROLL_LOOP(i, T::R)
        UNROLL_LOOP(j, T::C / 2) {
            d.v[i][2 * j] *= __uint_as_float(v[i][j] << 16);
            d.v[i][2 * j + 1] *= __uint_as_float(v[i][j] & 0xffff0000u);
        }
    }
};

template <class S> using HiddenSlopes = Slopes<typename S::Hidden, S::PRECISION == PRECISION_BF16>;

#endif
