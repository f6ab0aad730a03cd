// SPDX-License-Identifier: Apache-2.0
// Backward pass of the fused MLP, tile by tile, and the sums that the tiles leave.
#ifndef VPD_GNN_CUDA_MESSAGE_BACKWARD_H
#define VPD_GNN_CUDA_MESSAGE_BACKWARD_H

#include "gnn/cuda/message_layers.h"

// Recomputes ha and hb of the forward pass (hb is the last hidden layer, or ha itself with one layer), and the slopes.
template <class S>
static __device__ inline void hidden_again(const MessageArgs &m, const MessageWork &w, const TileRows &t, real *ha,
                                           real *hb, real *x, real *strip, HiddenSlopes<S> &slope_a,
                                           HiddenSlopes<S> &slope_b) {
    unsigned n = hidden_width(m);
    typename S::Hidden v;
    if (m.kept_a) read_rows(m.kept_a, t, n, v);
    else first_layer<S>(m, w, t, x, strip, v);
    activate_rows(nullptr, n, v, slope_a);
    tile_store(v, n, ha, S::STRIDE);
    if (!m.weight2) return;
    if (m.kept_b) read_rows(m.kept_b, t, n, v);
    else product<S>(ha, n, m.weight1, w.plain.weight1, n, strip, v);
    activate_rows(m.bias1, n, v, slope_b);
    tile_store(v, n, hb, S::STRIDE);
}

// 1 / number of rows in mean `line`; the whole warp.
static __device__ inline real mean_share(const MessageArgs &m, size_t line) {
    if (m.mean_kind == MEAN_OTHER) return 1 / static_cast<real>(m.edges.count[line]);
    if (!m.edges.index) return 1 / static_cast<real>(m.edges.k);
    int present = 0;
    for (size_t e = 0; e < m.edges.k; e += CUDA_WARP) {
        bool there = e + cuda_lane() < m.edges.k && m.edges.index[line * m.edges.k + e + cuda_lane()] >= 0;
        present += __popc(__ballot_sync(WHOLE_WARP, there));
    }
    return 1 / static_cast<real>(present);
}

// Gradient of output row r of a tile.
template <int COLS>
static __device__ inline void row_gradient(const MessageArgs &m, const TileRows &t, unsigned r, real (&dy)[COLS]) {
    unsigned n = out_width(m);
    size_t row = static_cast<size_t>(t.row[r]);
    UNROLL_LOOP(j, COLS) dy[j] = 0;
    if (m.drows) read_line(m.drows + row * n, n, dy);
    if (!m.dmean || (m.edges.index && t.other[r] < 0)) return;
    size_t line = static_cast<size_t>(m.mean_kind == MEAN_GROUP ? t.group[r] : t.other[r]);
    real share = mean_share(m, line), mean[COLS];
    read_line(m.dmean + line * n, n, mean);
    UNROLL_LOOP(j, COLS) dy[j] += share * mean[j];
}

// Where a tile's part of the weights' gradients begins, and whether the tile adds to it: the first one does not.
static __device__ inline real *part_at(const MessageWork &w, const TileRows &t, size_t offset) {
    return w.slots.part + *t.part * w.slots.part_size + offset;
}
static __device__ inline bool adds(const TileRows &t) { return *t.tile != *t.part; }

// to[j] = (or += with `add`) the column sums of x (tile rows, n), which each warp has just written; ends with x visible
// to all warps.
template <class S, int COLS>
static __device__ inline void sum_columns(const real *x, unsigned n, bool add, real *strip, real *to) {
    real sum[COLS] = {}, v[COLS];
    UNROLL(1)
    for (unsigned i = 0; i < S::ROWS; i++) {
        read_columns(x + Tile<S::ROWS, 1>::row(i) * S::STRIDE, v);
        UNROLL_LOOP(j, COLS) sum[j] += v[j];
    }
    tile_column_sums(sum, n, add, strip, to);
}

// Replaces v, the input of the norm without its bias, by its gradient, given the gradient of the norm's output. Columns
// from n on, where dy is 0, are undefined.
template <int COLS>
static __device__ inline void norm_backward(const MessageArgs &m, const real (&dy)[COLS], real (&v)[COLS],
                                            real (&dgain)[COLS], real (&doffset)[COLS]) {
    unsigned n = out_width(m);
    real mean, scale, sum = 0, along = 0, gain[COLS];
    if (last_bias(m)) add_line(last_bias(m), n, v);
    row_moments(v, n, &mean, &scale);
    read_line(m.gain, n, gain);
    UNROLL_LOOP(j, COLS) {
        v[j] = (v[j] - mean) * scale;
        dgain[j] += dy[j] * v[j];
        doffset[j] += dy[j];
        sum += dy[j] * gain[j];
        along += dy[j] * gain[j] * v[j];
    }
    sum = tile_row_sum(sum) / static_cast<real>(n);
    along = tile_row_sum(along) / static_cast<real>(n);
    UNROLL_LOOP(j, COLS) v[j] = scale * (dy[j] * gain[j] - (v[j] * along + sum));
}

// Replaces the last products in z (tile rows, out) by their gradients; also gradients of residual, gain, offset and
// last bias.
template <class S>
static __device__ inline void output_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t, real *z,
                                              real *strip) {
    unsigned n = out_width(m);
    real dgain[S::OUT] = {}, doffset[S::OUT] = {};
    UNROLL(1)
    for (unsigned i = 0; i < S::ROWS; i++) {
        unsigned r = Tile<S::ROWS, 1>::row(i);
        real v[S::OUT] = {}, dy[S::OUT], *line = z + r * S::STRIDE;
        if (t.row[r] >= 0) {
            real *residual = m.dresidual ? m.dresidual + static_cast<size_t>(t.row[r]) * n : nullptr;
            row_gradient(m, t, r, dy);
            if (residual && m.dresidual == m.drows) write_line(dy, n, residual);
            else if (residual) add_to_line(dy, n, residual);
            if (m.gain) read_columns(line, v);
            if (m.gain) norm_backward(m, dy, v, dgain, doffset);
            else UNROLL_LOOP(j, S::OUT) v[j] = dy[j];
        }
        write_columns(v, n, line);
    }
    if (m.gain) tile_column_sums(dgain, n, adds(t), strip, part_at(w, t, w.gain));
    if (m.gain) tile_column_sums(doffset, n, adds(t), strip, part_at(w, t, w.offset));
    sum_columns<S, S::OUT>(z, n, adds(t), strip, part_at(w, t, m.weight2 ? w.bias2 : w.bias1));
}

// to (depth, n) = (or += with `add`) a^T d over the tile's rows, in lines of S::STRIDE. The caller provides barriers.
template <class S, int COLS>
static __device__ inline void outer(real *a, unsigned depth, real *d, unsigned n, bool add, real *to) {
    if constexpr (S::TENSOR) tensor_tile_outer<S>(a, depth, d, n, add, to);
    else tile_outer<S::ROWS, COLS>(a, depth, d, S::STRIDE, n, add, to);
}

// line(i) += row i of this warp in x (tile rows, n).
template <class S, int COLS, class Line> static __device__ inline void add_rows(const real *x, unsigned n, Line line) {
    UNROLL(1)
    for (unsigned first = 0; first < S::ROWS; first += S::TOGETHER) {
        real v[S::TOGETHER][COLS];
        UNROLL_LOOP(i, S::TOGETHER) read_columns(x + own_row<S>(first + i) * S::STRIDE, v[i]);
        add_to_lines(v, n, [&](unsigned i) { return line(first + i); });
    }
}

// The products' shares in the gradients of the rows, which are added to m.drows, and gradients of their weights; x and
// d are two buffers.
template <class S>
static __device__ inline void products_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t, real *x,
                                                real *d, real *strip) {
    unsigned h = hidden_width(m), o = out_width(m);
    UNROLL(1)
    for (unsigned i = 0; i < MESSAGE_PRODUCTS; i++) {
        const MessageProductArgs &p = m.product[i];
        typename S::Hidden dy;
        typename S::Out rows;
        if (!p.dy) continue;
        read_rows(p.dy, t, h, dy);
        tile_store(dy, h, d, S::STRIDE);
        read_rows(m.rows, t, o, rows);
        tile_store(rows, o, x, S::STRIDE);
        __syncthreads();
        if (p.dweight) outer<S, S::HIDDEN>(x, o, d, h, adds(t), part_at(w, t, w.product[i]));
        product_turned<S>(d, h, p.weight, w.turned.product[i], o, strip, rows);
        tile_store(rows, o, d, S::STRIDE); // each warp adds whole rows
        S::share();
        add_rows<S, S::OUT>(d, o, [&](unsigned r) { return own_line<S>(t, r, m.drows, o); });
        S::share(); // d was read completely
    }
}

// Backward pass of the hidden layers: da, and gradients of their weights and biases. Expects ha and hb as
// hidden_again() leaves them.
template <class S>
static __device__ inline void layers_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t, real *ha,
                                              real *hb, real *dz, real *strip, typename S::Hidden &da) {
    unsigned h = hidden_width(m), o = out_width(m);
    HiddenSlopes<S> slope_a, slope_b;
    hidden_again<S>(m, w, t, ha, hb, dz, strip, slope_a, slope_b);
    if (m.gain) {
        typename S::Out y;
        if (m.kept_y) read_rows(m.kept_y, t, o, y);
        else product<S>(hb, h, last_weight(m), last_factor(m, w), o, strip, y);
        tile_store(y, o, dz, S::STRIDE);
    }
    S::share();
    output_backward<S>(m, w, t, dz, strip);
    if (m.weight2) {
        if (m.dweight2) outer<S, S::OUT>(hb, h, dz, o, adds(t), part_at(w, t, w.weight2));
        product_turned<S>(dz, o, m.weight2, w.turned.weight2, h, strip, da);
        slope_b.multiply(da);
        tile_store(da, h, hb, S::STRIDE);
        S::share();
        sum_columns<S, S::HIDDEN>(hb, h, adds(t), strip, part_at(w, t, w.bias1));
        if (m.dweight1) outer<S, S::HIDDEN>(ha, h, hb, h, adds(t), part_at(w, t, w.weight1));
        product_turned<S>(hb, h, m.weight1, w.turned.weight1, h, strip, da);
    } else {
        if (m.dweight1) outer<S, S::OUT>(ha, h, dz, o, adds(t), part_at(w, t, w.weight1));
        product_turned<S>(dz, o, m.weight1, w.turned.weight1, h, strip, da);
    }
    slope_a.multiply(da);
    tile_store(da, h, ha, S::STRIDE);
    S::share();
    sum_columns<S, S::HIDDEN>(ha, h, adds(t), strip, part_at(w, t, w.bias0));
}

// Whether k rows share one line of the term.
static __device__ inline bool is_shared(const MessageArgs &m, const MessageTermArgs &term) {
    return term.kind == TERM_GROUP && m.edges.k > 1;
}

// Gradients of the inputs [first, first + count), COLS columns per lane: da W^T, computed in x.
template <class S, int COLS>
static __device__ inline void inputs_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t,
                                              unsigned first, unsigned count, const real *da, real *x, real *strip) {
    using T = typename S::template TileOf<COLS>;
    unsigned n = hidden_width(m);
    T d;
    d.clear();
    if constexpr (S::TENSOR) {
        tensor_tile_product<S>(da, n, w.turned.terms, 0, first, d);
    } else {
        auto stage = [&](unsigned k, unsigned lines) {
            each_input(m, first, count, [&](const MessageTermArgs &term, unsigned from, unsigned to, unsigned at) {
                copy_turned(term.weight + from * n, to - from, n, k, lines, T::WIDTH, strip + at);
            });
        };
        tile_product(da, S::STRIDE, n, count, strip, stage, d);
    }
    tile_store(d, count, x, S::STRIDE);
    S::share();
    each_input(m, first, count, [&](const MessageTermArgs &term, unsigned from, unsigned to, unsigned at) {
        unsigned width = static_cast<unsigned>(term.width);
        bool shared = is_shared(m, term);
        real *dx = shared ? w.row_dx[&term - m.terms] : term.dx;
        for (unsigned c = from + cuda_lane(); dx && c < to; c += CUDA_WARP) {
            UNROLL(1)
            for (unsigned i = 0; i < S::ROWS; i += S::TOGETHER) {
                real sum[S::TOGETHER]; // loads of these rows are under way together
                UNROLL_LOOP(q, S::TOGETHER)
                sum[q] = !shared && has_row<S>(t, i + q) ? own_line<S>(t, i + q, dx, width)[c] : 0;
                UNROLL_LOOP(q, S::TOGETHER)
                if (has_row<S>(t, i + q))
                    own_line<S>(t, i + q, dx, width)[c] = sum[q] + x[own_row<S>(i + q) * S::STRIDE + at + c - from];
            }
        }
    });
}

// Gradients of terms from da (tile rows, hidden) in shared memory; x is another such buffer.
template <class S>
static __device__ inline void terms_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t, real *da,
                                             real *x, real *strip) {
    unsigned n = hidden_width(m);
    UNROLL(1)
    for (size_t term = 0; term < m.term_count; term++) {
        const MessageTermArgs &by = m.terms[term];
        if (!by.weight && by.kind != TERM_OTHER && !is_shared(m, by) && by.dx)
            add_rows<S, S::HIDDEN>(da, n, [&](unsigned i) { return own_line<S>(t, i, by.dx, n); });
    }
    UNROLL(1)
    for (unsigned i = 0; w.da && i < S::ROWS; i++) {
        real v[S::HIDDEN];
        read_columns(da + own_row<S>(i) * S::STRIDE, v);
        if (has_row<S>(t, i)) write_line(v, n, own_line<S>(t, i, w.da, n));
    }
    for (unsigned first = 0; first < w.inputs; first += S::WIDTH) {
        unsigned count = w.inputs - first < S::WIDTH ? w.inputs - first : S::WIDTH;
        bool weights = false, inputs = false;
        each_input(m, first, count, [&](const MessageTermArgs &term, unsigned, unsigned, unsigned) {
            weights = weights || term.dweight;
            inputs = inputs || term.dx;
        });
        if (weights || inputs) __syncthreads(); // x was read completely
        if (weights) {
            read_inputs<S>(m, t, first, count, x);
            __syncthreads();
            outer<S, S::HIDDEN>(x, count, da, n, adds(t), part_at(w, t, w.terms + first * n));
        }
        if (inputs && count <= 32 * S::NARROW) inputs_backward<S, S::NARROW>(m, w, t, first, count, da, x, strip);
        else if (inputs) inputs_backward<S, S::HIDDEN>(m, w, t, first, count, da, x, strip);
    }
}

// Of the layers, or with PRODUCTS of the products alone.
template <class S, bool PRODUCTS>
static __device__ inline void backward_block(const MessageArgs &m, const MessageWork &w, const BlockMemory &memory) {
    unsigned tile_rows = blockDim.x / CUDA_WARP * S::ROWS, size = tile_rows * S::STRIDE;
    real *ha = memory.buffers, *hb = m.weight2 ? ha + size : ha, *dz = hb + size, *strip = memory.strip;
    const TileRows &t = memory.rows;
    UNROLL(1)
    for (unsigned part = blockIdx.x; part < w.slots.parts; part = *t.part + gridDim.x) {
        __syncthreads(); // the last part is finished
        if (threadIdx.x == 0) *t.part = part;
        UNROLL(1)
        for (unsigned tile = part; tile < w.tiles; tile = *t.tile + static_cast<unsigned>(w.slots.parts)) {
            find_rows(m, w, tile, tile_rows, t);
            if constexpr (PRODUCTS) {
                products_backward<S>(m, w, t, ha, dz, strip);
            } else {
                typename S::Hidden da;
                layers_backward<S>(m, w, t, ha, hb, dz, strip, da);
                if (w.segments.sum) sum_segments(m, w, tile_rows, t, ha, S::STRIDE);
                terms_backward<S>(m, w, t, ha, dz, strip);
            }
        }
    }
}

// Adds element i of all parts to its gradient, in their order.
static __device__ inline void add_part(const MessageSlots &s, size_t i) {
    size_t slot = 0;
    real sum = 0;
    while (i >= s.slot[slot].offset + s.slot[slot].size) slot++;
    if (!s.slot[slot].to) return;
    UNROLL(8) // loads are under way at once
    for (size_t part = 0; part < s.parts; part++) sum += s.part[part * s.part_size + i];
    s.slot[slot].to[i - s.slot[slot].offset] += sum;
}

// Adds column j of a segment to the gradients of terms by other end.
static __device__ inline void add_segment(const MessageArgs &m, const MessageWork &w, size_t segment, size_t j) {
    real sum = segment_sum(m, w, segment, j);
    for (size_t i = 0; i < m.term_count; i++)
        if (m.terms[i].kind == TERM_OTHER && m.terms[i].dx) m.terms[i].dx[segment * m.hidden + j] += sum;
}

// Adds the rows of a group to element i of the gradient of a term by group.
static __device__ inline void add_group(const MessageArgs &m, const MessageWork &w, size_t term, size_t i) {
    size_t width = m.terms[term].width, group = cuda_quotient(i, width), j = i - group * width;
    const real *x = m.terms[term].weight ? w.row_dx[term] : w.da;
    real sum = 0, *to = m.terms[term].dx + i;
    for (size_t e = 0; e < m.edges.k; e++) sum += x[(group * m.edges.k + e) * width + j];
    *to += sum;
}

// What is left when all tiles are done, a thread for each number: sums over blocks, over the edges of an other end and
// over those of a group.
static __device__ inline void finish_backward(const MessageArgs &m, const MessageWork &w) {
    const MessageSlots &slots = w.slots;
    GRID_LOOP(at, w.left) {
        size_t i = at, parts = slots.parts ? slots.part_size : 0, sums = w.segments.count * w.segments.width;
        if (i < parts) {
            add_part(slots, i);
            continue;
        }
        i -= parts;
        if (i < sums) {
            size_t segment = cuda_quotient(i, w.segments.width);
            add_segment(m, w, segment, i - segment * w.segments.width);
            continue;
        }
        i -= sums;
        for (size_t term = 0; term < m.term_count; term++) {
            if (!m.terms[term].dx || !is_shared(m, m.terms[term])) continue;
            size_t size = m.edges.groups * m.terms[term].width;
            if (i < size) {
                add_group(m, w, term, i);
                break;
            }
            i -= size;
        }
    }
}

#endif
