// SPDX-License-Identifier: Apache-2.0
// Forward pass of the fused MLP, tile by tile, and the sums that the tiles leave.
#ifndef VPD_GNN_CUDA_MESSAGE_FORWARD_H
#define VPD_GNN_CUDA_MESSAGE_FORWARD_H

#include "gnn/cuda/message_layers.h"

// From the last products in x (tile rows, out) to the output rows, in place and in m.rows.
template <class S> static __device__ inline void finish_rows(const MessageArgs &m, const TileRows &t, real *x) {
    unsigned n = out_width(m);
    UNROLL(1)
    for (unsigned i = 0; i < S::ROWS; i++) {
        real v[S::OUT], *line = x + own_row<S>(i) * S::STRIDE;
        if (!has_row<S>(t, i)) continue;
        read_columns(line, v);
        if (m.kept_y) write_line(v, n, own_line<S>(t, i, m.kept_y, n));
        if (last_bias(m)) add_line(last_bias(m), n, v);
        if (m.gain) {
            real mean, scale, gain[S::OUT];
            row_moments(v, n, &mean, &scale);
            read_line(m.gain, n, gain);
            UNROLL_LOOP(j, S::OUT) v[j] = (v[j] - mean) * scale * gain[j];
            add_line(m.offset, n, v);
        }
        write_columns(v, n, line);
    }
    real v[S::ROWS][S::OUT], residual[S::ROWS][S::OUT];
    UNROLL_LOOP(i, S::ROWS) read_columns(x + own_row<S>(i) * S::STRIDE, v[i]);
    if (m.residual) {
        read_lines([&](unsigned i) { return own_line<S>(t, i, m.residual, n); }, n, residual);
        UNROLL_LOOP(i, S::ROWS)
        UNROLL_LOOP(j, S::OUT) v[i][j] += residual[i][j];
    }
    UNROLL_LOOP(i, S::ROWS) {
        if (m.rows && has_row<S>(t, i)) write_line(v[i], n, own_line<S>(t, i, m.rows, n));
        if (m.residual) write_columns(v[i], n, x + own_row<S>(i) * S::STRIDE);
    }
}

// Products of the finished rows, which are in x.
template <class S>
static __device__ inline void multiply_rows(const MessageArgs &m, const MessageWork &w, const TileRows &t,
                                            const real *x, real *strip) {
    UNROLL(1)
    for (unsigned i = 0; i < MESSAGE_PRODUCTS; i++) {
        typename S::Hidden y;
        if (!m.product[i].weight) continue;
        product<S>(x, out_width(m), m.product[i].weight, w.plain.product[i], hidden_width(m), strip, y);
        write_rows(y, t, hidden_width(m), m.product[i].y);
    }
}

template <class S>
static __device__ inline void forward_block(const MessageArgs &m, const MessageWork &w, const BlockMemory &memory) {
    unsigned h = hidden_width(m), o = out_width(m), tile_rows = blockDim.x / CUDA_WARP * S::ROWS;
    real *x = memory.buffers, *strip = memory.strip;
    const TileRows &t = memory.rows;
    UNROLL(1)
    for (unsigned tile = blockIdx.x; tile < w.tiles; tile = *t.tile + gridDim.x) {
        find_rows(m, w, tile, tile_rows, t);
        typename S::Hidden a;
        HiddenSlopes<S> slopes;
        first_layer<S>(m, w, t, x, strip, a);
        write_rows(a, t, h, m.kept_a);
        activate_rows(nullptr, h, a, slopes);
        tile_store(a, h, x, S::STRIDE);
        if (m.weight2) {
            product<S>(x, h, m.weight1, w.plain.weight1, h, strip, a);
            write_rows(a, t, h, m.kept_b);
            activate_rows(m.bias1, h, a, slopes);
            tile_store(a, h, x, S::STRIDE);
        }
        typename S::Out y;
        product<S>(x, h, last_weight(m), last_factor(m, w), o, strip, y);
        tile_store(y, o, x, S::STRIDE);
        S::share();
        finish_rows<S>(m, t, x);
        multiply_rows<S>(m, w, t, x, strip);
        if (!w.segments.sum) continue;
        __syncthreads();
        sum_segments(m, w, tile_rows, t, x, S::STRIDE);
    }
}

// Finishes segments that no tile holds completely: empty ones, and those that need the sum of their pieces.
static __device__ inline void finish_segments(const MessageArgs &m, const MessageWork &w) {
    const MessageSegments &s = w.segments;
    WARP_LOOP(segment, s.count) {
        size_t first = segment_start(m, w, segment), last = segment_start(m, w, segment + 1);
        if (is_whole(w, first, last)) continue;
        real share = segment_share(m, w, first, last);
        for (size_t j = cuda_lane(); j < s.width; j += CUDA_WARP)
            s.sum[segment * s.width + j] = share * segment_sum(m, w, segment, j);
    }
}

#endif
