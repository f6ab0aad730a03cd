// SPDX-License-Identifier: Apache-2.0
// Forward and backward of the fused MLP. A block takes tiles of rows through all layers in registers and shared memory;
// what leaves it is what the caller keeps, sums over groups or other ends, and its part of the weights' gradients.
#include "gnn/cuda/message_tiles.h"

#include "gnn/cuda/functions.h"

constexpr real NORM_EPS = 1e-5f;

// Blocks of a backward pass: no more than this, and than have room for their parts of the gradients (elements). Both
// fix the order of sums, and so do not depend on the GPU.
constexpr size_t MESSAGE_BLOCKS = 256, MESSAGE_PART_ROOM = 1 << 25;

// ---- one tile

// Lines of a tile in a (rows, n) matrix, which may be NULL.
template <int ROWS, int COLS>
static __device__ inline void write_rows(const Tile<ROWS, COLS> &tile, const TileRows &t, unsigned n, real *to) {
    UNROLL_LOOP(i, ROWS) {
        int32_t row = t.row[tile.row(i)];
        if (to && row >= 0) write_line(tile.v[i], n, to + static_cast<size_t>(row) * n);
    }
}

template <int ROWS, int COLS>
static __device__ inline void read_rows(const real *from, const TileRows &t, unsigned n, Tile<ROWS, COLS> &tile) {
    tile.clear();
    UNROLL_LOOP(i, ROWS) {
        int32_t row = t.row[tile.row(i)];
        if (row >= 0) read_line(from + static_cast<size_t>(row) * n, n, tile.v[i]);
    }
}

// sum = a W, W (depth, n) in global memory
template <int ROWS, int COLS>
static __device__ inline void product(const real *a, unsigned a_width, unsigned depth, const real *weight, unsigned n,
                                      real *strip, Tile<ROWS, COLS> &sum) {
    sum.clear();
    auto stage = [&](unsigned k, unsigned count) { copy_lines(weight + k * n, count, n, sum.WIDTH, strip); };
    tile_product(a, a_width, depth, n, strip, stage, sum);
}

// sum = a W^T, W (n, depth) in global memory
template <int ROWS, int COLS>
static __device__ inline void product_turned(const real *a, unsigned a_width, unsigned depth, const real *weight,
                                             unsigned n, real *strip, Tile<ROWS, COLS> &sum) {
    sum.clear();
    auto stage = [&](unsigned k, unsigned count) { copy_turned(weight, n, depth, k, count, sum.WIDTH, strip); };
    tile_product(a, a_width, depth, n, strip, stage, sum);
}

// tile = act(tile + bias), and the slopes of act there; bias may be NULL
template <int ROWS, int COLS>
static __device__ inline void activate_rows(Activation act, const real *bias, unsigned n, Tile<ROWS, COLS> &tile,
                                            Tile<ROWS, COLS> &slope) {
    UNROLL_LOOP(i, ROWS) {
        if (bias) add_line(bias, n, tile.v[i]);
        UNROLL_LOOP(j, COLS) activate(act, &tile.v[i][j], &slope.v[i][j]);
    }
}

// The mean of a row, and 1 / sqrt(variance + eps).
template <int COLS>
static __device__ inline void row_moments(const real (&v)[COLS], unsigned n, real *mean, real *scale) {
    real sum = 0, square = 0;
    UNROLL_LOOP(j, COLS) sum += v[j]; // zero behind n
    *mean = tile_row_sum(sum) / static_cast<real>(n);
    UNROLL_LOOP(j, COLS)
    if (Tile<1, COLS>::col(j) < n) square += (v[j] - *mean) * (v[j] - *mean);
    *scale = 1 / real_sqrt(tile_row_sum(square) / static_cast<real>(n) + NORM_EPS);
}

static __device__ inline unsigned hidden_width(const MessageArgs &m) { return static_cast<unsigned>(m.hidden); }
static __device__ inline unsigned out_width(const MessageArgs &m) { return static_cast<unsigned>(m.out); }
static __device__ inline const real *last_weight(const MessageArgs &m) { return m.weight2 ? m.weight2 : m.weight1; }
static __device__ inline const real *last_bias(const MessageArgs &m) { return m.weight2 ? m.bias2 : m.bias1; }

// The last products in x (tile rows, out) -> the rows that go out, there and in m.rows.
template <class S> static __device__ inline void finish_rows(const MessageArgs &m, const TileRows &t, real *x) {
    unsigned n = out_width(m);
    UNROLL(1)
    for (int i = 0; i < S::ROWS; i++) {
        unsigned r = Tile<S::ROWS, 1>::row(i);
        size_t row = static_cast<size_t>(t.row[r]);
        real v[S::OUT], *line = x + r * S::WIDTH;
        if (t.row[r] < 0) continue;
        read_columns<S::OUT>(line, v);
        if (m.kept_y) write_line(v, n, m.kept_y + row * n);
        if (last_bias(m)) add_line(last_bias(m), n, v);
        if (m.gain) {
            real mean, scale, gain[S::OUT];
            row_moments(v, n, &mean, &scale);
            read_line(m.gain, n, gain);
            UNROLL_LOOP(j, S::OUT) v[j] = (v[j] - mean) * scale * gain[j];
            add_line(m.offset, n, v);
        }
        if (m.residual) add_line(m.residual + row * n, n, v);
        if (m.rows) write_line(v, n, m.rows + row * n);
        write_columns<S::OUT>(v, n, line);
    }
}

// ---- forward

template <class S>
static __global__ __launch_bounds__(CUDA_THREADS, S::BLOCKS) void forward_tiles(MessageArgs m, MessageWork w) {
    SHARED(real, memory);
    unsigned h = hidden_width(m), o = out_width(m), tile_rows = blockDim.x / CUDA_WARP * S::ROWS;
    real *x = memory, *strip = x + tile_rows * S::WIDTH;
    TileRows t = tile_rows_in(strip + TILE_STRIP * S::WIDTH, tile_rows);
    BLOCK_LOOP(tile, w.tiles) {
        find_rows(m, w, tile, tile_rows, t);
        Tile<S::ROWS, S::HIDDEN> a, slope;
        first_layer<S>(m, w, t, x, strip, a);
        if (!m.weight1) {
            write_rows(a, t, h, m.rows);
            continue;
        }
        write_rows(a, t, h, m.kept_a);
        activate_rows(m.act, nullptr, h, a, slope);
        tile_store(a, h, x, S::WIDTH);
        if (m.weight2) {
            product(x, S::WIDTH, h, m.weight1, h, strip, a);
            write_rows(a, t, h, m.kept_b);
            activate_rows(m.act, m.bias1, h, a, slope);
            tile_store(a, h, x, S::WIDTH);
        }
        Tile<S::ROWS, S::OUT> y;
        product(x, S::WIDTH, h, last_weight(m), o, strip, y);
        tile_store(y, o, x, S::WIDTH);
        finish_rows<S>(m, t, x);
        if (!w.segments.sum) continue;
        __syncthreads();
        sum_segments(m, w, tile, tile_rows, t, x, S::WIDTH);
    }
}

// Segments that no tile holds whole: empty ones, and the sum of their pieces for the others.
static __global__ void finish_segments(MessageArgs m, MessageWork w, size_t tile_rows) {
    const MessageSegments &s = w.segments;
    WARP_LOOP(segment, s.count) {
        size_t first = segment_start(m, w, segment), last = segment_start(m, w, segment + 1);
        if (first < last && first / tile_rows == (last - 1) / tile_rows) continue;
        real share = segment_share(m, w, first, last);
        for (size_t j = cuda_lane(); j < s.width; j += CUDA_WARP) {
            real sum = 0;
            for (size_t tile = first / tile_rows; first < last && tile <= (last - 1) / tile_rows; tile++)
                sum += s.piece[(tile + segment) * s.width + j];
            s.sum[segment * s.width + j] = share * sum;
        }
    }
}

// ---- backward

// Fills ha and hb (the last hidden values; ha itself with one layer) as forward had them, and the slopes.
template <class S>
static __device__ inline void hidden_again(const MessageArgs &m, const MessageWork &w, const TileRows &t, real *ha,
                                           real *hb, real *x, real *strip, Tile<S::ROWS, S::HIDDEN> &slope_a,
                                           Tile<S::ROWS, S::HIDDEN> &slope_b) {
    unsigned n = hidden_width(m);
    Tile<S::ROWS, S::HIDDEN> v;
    if (m.kept_a) read_rows(m.kept_a, t, n, v);
    else first_layer<S>(m, w, t, x, strip, v);
    activate_rows(m.act, nullptr, n, v, slope_a);
    tile_store(v, n, ha, S::WIDTH);
    if (!m.weight2) return;
    if (m.kept_b) read_rows(m.kept_b, t, n, v);
    else product(ha, S::WIDTH, n, m.weight1, n, strip, v);
    activate_rows(m.act, m.bias1, n, v, slope_b);
    tile_store(v, n, hb, S::WIDTH);
}

// 1 / the rows that are in mean `line`
static __device__ inline real mean_share(const MessageArgs &m, size_t line) {
    if (m.mean_kind == MEAN_OTHER) return 1 / static_cast<real>(m.edges.count[line]);
    int present = 0;
    for (size_t e = 0; e < m.edges.k; e++) present += !m.edges.index || m.edges.index[line * m.edges.k + e] >= 0;
    return 1 / static_cast<real>(present);
}

// The gradient of row r of a tile as it went out.
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

// to[j] = or, with `add`, += the sums of the columns of x (tile rows, n), which each warp has just written: behind this
// all see it.
template <class S, int COLS>
static __device__ inline void sum_columns(const real *x, unsigned n, bool add, real *strip, real *to) {
    real sum[COLS] = {}, v[COLS];
    UNROLL(1)
    for (int i = 0; i < S::ROWS; i++) {
        read_columns<COLS>(x + Tile<S::ROWS, 1>::row(i) * S::WIDTH, v);
        UNROLL_LOOP(j, COLS) sum[j] += v[j];
    }
    tile_column_sums(sum, n, add, strip, to);
}

// v, what the norm saw but for its bias, becomes its gradient, from that of the norm's output. Columns from n on, where
// dy is 0, hold anything.
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

// The last products in z (tile rows, out) become their gradients; gradients of residual, gain, offset and last bias.
template <class S>
static __device__ inline void output_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t, bool add,
                                              real *z, real *strip, real *part) {
    unsigned n = out_width(m);
    real dgain[S::OUT] = {}, doffset[S::OUT] = {};
    UNROLL(1)
    for (int i = 0; i < S::ROWS; i++) {
        unsigned r = Tile<S::ROWS, 1>::row(i);
        real v[S::OUT] = {}, dy[S::OUT], *line = z + r * S::WIDTH;
        if (t.row[r] >= 0) {
            real *residual = m.dresidual ? m.dresidual + static_cast<size_t>(t.row[r]) * n : nullptr;
            row_gradient(m, t, r, dy);
            if (residual && m.dresidual == m.drows) write_line(dy, n, residual);
            else if (residual) add_to_line(dy, n, residual);
            if (m.gain) read_columns<S::OUT>(line, v);
            if (m.gain) norm_backward(m, dy, v, dgain, doffset);
            else UNROLL_LOOP(j, S::OUT) v[j] = dy[j];
        }
        write_columns<S::OUT>(v, n, line);
    }
    if (m.gain) tile_column_sums(dgain, n, add, strip, part + w.gain);
    if (m.gain) tile_column_sums(doffset, n, add, strip, part + w.offset);
    sum_columns<S, S::OUT>(z, n, add, strip, part + (m.weight2 ? w.bias2 : w.bias1));
}

// d *= slope
template <int ROWS, int COLS>
static __device__ inline void times_slope(const Tile<ROWS, COLS> &slope, Tile<ROWS, COLS> &d) {
    UNROLL_LOOP(i, ROWS)
    UNROLL_LOOP(j, COLS) d.v[i][j] *= slope.v[i][j];
}

// The hidden layers: da, and gradients of their weights and biases. ha and hb are as hidden_again() leaves them.
template <class S>
static __device__ inline void layers_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t, bool add,
                                              real *ha, real *hb, real *dz, real *strip, real *part,
                                              Tile<S::ROWS, S::HIDDEN> &da) {
    unsigned h = hidden_width(m), o = out_width(m);
    Tile<S::ROWS, S::HIDDEN> slope_a, slope_b;
    hidden_again<S>(m, w, t, ha, hb, dz, strip, slope_a, slope_b);
    if (m.gain) {
        Tile<S::ROWS, S::OUT> y;
        if (m.kept_y) read_rows(m.kept_y, t, o, y);
        else product(hb, S::WIDTH, h, last_weight(m), o, strip, y);
        tile_store(y, o, dz, S::WIDTH);
    }
    output_backward<S>(m, w, t, add, dz, strip, part);
    if (m.weight2) {
        if (m.dweight2) tile_outer<S::ROWS, S::OUT>(hb, h, dz, S::WIDTH, o, add, part + w.weight2);
        product_turned(dz, S::WIDTH, o, m.weight2, h, strip, da);
        times_slope(slope_b, da);
        tile_store(da, h, hb, S::WIDTH);
        sum_columns<S, S::HIDDEN>(hb, h, add, strip, part + w.bias1);
        if (m.dweight1) tile_outer<S::ROWS, S::HIDDEN>(ha, h, hb, S::WIDTH, h, add, part + w.weight1);
        product_turned(hb, S::WIDTH, h, m.weight1, h, strip, da);
    } else {
        if (m.dweight1) tile_outer<S::ROWS, S::OUT>(ha, h, dz, S::WIDTH, o, add, part + w.weight1);
        product_turned(dz, S::WIDTH, o, m.weight1, h, strip, da);
    }
    times_slope(slope_a, da);
    tile_store(da, h, ha, S::WIDTH);
    sum_columns<S, S::HIDDEN>(ha, h, add, strip, part + w.bias0);
}

// Whether a term's rows are not its own lines: k of them have one.
static __device__ inline bool is_shared(const MessageArgs &m, const MessageTermArgs &term) {
    return term.kind == TERM_GROUP && m.edges.k > 1;
}

// The gradients of the inputs [first, first + count), COLS columns a lane: da W^T.
template <class S, int COLS>
static __device__ inline void inputs_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t,
                                              unsigned first, unsigned count, const real *da, real *strip) {
    using T = Tile<S::ROWS, COLS>;
    unsigned n = hidden_width(m);
    T d;
    d.clear();
    auto stage = [&](unsigned k, unsigned lines) {
        each_input(m, first, count, [&](const MessageTermArgs &term, unsigned from, unsigned to, unsigned at) {
            copy_turned(term.weight + from * n, to - from, n, k, lines, T::WIDTH, strip + at);
        });
    };
    tile_product(da, S::WIDTH, n, count, strip, stage, d);
    each_input(m, first, count, [&](const MessageTermArgs &term, unsigned from, unsigned to, unsigned at) {
        real *dx = is_shared(m, term) ? w.row_dx[&term - m.terms] : term.dx;
        if (!dx) return;
        UNROLL_LOOP(i, S::ROWS) {
            int32_t row = t.row[T::row(i)];
            real *line = dx + static_cast<size_t>(row) * term.width + from;
            UNROLL_LOOP(j, COLS) {
                if (row < 0 || T::col(j) < at || T::col(j) >= at + (to - from)) continue;
                if (is_shared(m, term)) line[T::col(j) - at] = d.v[i][j];
                else line[T::col(j) - at] += d.v[i][j];
            }
        }
    });
}

// Gradients of terms, from da (tile rows, hidden) in registers and in shared memory; x is a buffer like it.
template <class S>
static __device__ inline void terms_backward(const MessageArgs &m, const MessageWork &w, const TileRows &t, bool add,
                                             const Tile<S::ROWS, S::HIDDEN> &tile, const real *da, real *x, real *strip,
                                             real *part) {
    unsigned n = hidden_width(m);
    for (size_t i = 0; i < m.term_count; i++)
        if (!m.terms[i].weight && m.terms[i].kind != TERM_OTHER && !is_shared(m, m.terms[i]) && m.terms[i].dx)
            UNROLL_LOOP(r, S::ROWS)
    if (t.row[tile.row(r)] >= 0) add_to_line(tile.v[r], n, m.terms[i].dx + static_cast<size_t>(t.row[tile.row(r)]) * n);
    write_rows(tile, t, n, w.da);
    for (unsigned first = 0; first < w.inputs; first += S::WIDTH) {
        unsigned count = w.inputs - first < S::WIDTH ? w.inputs - first : S::WIDTH;
        bool weights = false, inputs = false;
        each_input(m, first, count, [&](const MessageTermArgs &term, unsigned, unsigned, unsigned) {
            weights = weights || term.dweight;
            inputs = inputs || term.dx;
        });
        if (weights) {
            __syncthreads(); // x has been read
            read_inputs<S>(m, t, first, count, x);
            __syncthreads();
            tile_outer<S::ROWS, S::HIDDEN>(x, count, da, S::WIDTH, n, add, part + w.terms + first * n);
        }
        if (inputs && count <= 32) inputs_backward<S, 1>(m, w, t, first, count, da, strip);
        else if (inputs) inputs_backward<S, S::HIDDEN>(m, w, t, first, count, da, strip);
    }
}

template <class S>
static __global__ __launch_bounds__(CUDA_THREADS, S::BLOCKS) void backward_tiles(MessageArgs m, MessageWork w) {
    SHARED(real, memory);
    unsigned tile_rows = blockDim.x / CUDA_WARP * S::ROWS, size = tile_rows * S::WIDTH;
    real *ha = memory, *hb = m.weight2 ? ha + size : ha, *dz = hb + size, *strip = dz + size;
    real *part = w.part + blockIdx.x * w.part_size;
    TileRows t = tile_rows_in(strip + TILE_STRIP * S::WIDTH, tile_rows);
    BLOCK_LOOP(tile, w.tiles) {
        bool add = tile != blockIdx.x;
        Tile<S::ROWS, S::HIDDEN> da;
        find_rows(m, w, tile, tile_rows, t);
        if (m.weight1) {
            layers_backward<S>(m, w, t, add, ha, hb, dz, strip, part, da);
        } else {
            read_rows(m.drows, t, hidden_width(m), da);
            tile_store(da, hidden_width(m), ha, S::WIDTH);
        }
        if (w.segments.sum) sum_segments(m, w, tile, tile_rows, t, ha, S::WIDTH);
        terms_backward<S>(m, w, t, add, da, ha, dz, strip, part);
    }
}

// The parts of all blocks, in their order, into the gradients.
static __global__ void add_parts(MessageSlots s) {
    GRID_LOOP(i, s.part_size) {
        size_t slot = 0;
        while (i >= s.slot[slot].offset + s.slot[slot].size) slot++;
        real sum = 0;
        if (!s.slot[slot].to) continue;
        for (size_t part = 0; part < s.parts; part++) sum += s.part[part * s.part_size + i];
        s.slot[slot].to[i - s.slot[slot].offset] += sum;
    }
}

// to (groups, width) += the sum of each group's k rows
static __global__ void add_groups(size_t groups, size_t k, size_t width, const real *x, real *to) {
    GRID_LOOP(i, groups * width) {
        size_t group = i / width, j = i - group * width;
        real sum = 0;
        for (size_t e = 0; e < k; e++) sum += x[(group * k + e) * width + j];
        to[i] += sum;
    }
}

// ---- launches

// Runs f with the smallest shape that holds the widths.
template <class F> static void with_shape(size_t hidden, size_t out, F f) {
    size_t width = hidden > out ? hidden : out;
    if (width <= 32) f(MessageShape<8, 1, 1>());
    else if (width <= 64) f(MessageShape<8, 2, 2>());
    else if (width <= 128) f(MessageShape<8, 4, 4>());
    else if (width <= 256) f(MessageShape<4, 8, 8>());
    else f(MessageShape<2, 16, 16>());
}

// A launch of tiles with `buffers` of them in shared memory.
typedef struct TileLaunch {
    unsigned threads;
    size_t tile_rows, shared;
} TileLaunch;

// Fewer rows where the GPU has little shared memory.
template <class S> static TileLaunch tile_launch(Device *device, size_t buffers) {
    for (unsigned threads = CUDA_THREADS; threads >= CUDA_WARP; threads /= 2) {
        size_t rows = threads / CUDA_WARP * S::ROWS;
        size_t bytes = ((buffers * rows + TILE_STRIP) * S::WIDTH + 4 * rows) * sizeof(real);
        if (bytes <= cuda_state(device)->shared_limit) return {threads, rows, bytes};
    }
    device_fail(device, STATUS_FAILED,
                "CUDA: layers of %u channels need more shared memory than this GPU has (%zu KiB)", S::WIDTH,
                cuda_state(device)->shared_limit >> 10);
    return {CUDA_THREADS, 1, 0};
}

static MessageWork plan_work(const MessageArgs *m, size_t tile_rows) {
    MessageWork w = {};
    w.rows = m->edges.groups * m->edges.k;
    w.tiles = (w.rows + tile_rows - 1) / tile_rows;
    for (size_t i = 0; i < m->term_count; i++)
        w.inputs += m->terms[i].weight ? static_cast<unsigned>(m->terms[i].width) : 0;
    CHECK(w.rows <= INT32_MAX);
    return w;
}

static void plan_segments(Device *device, MessageWork *w, size_t count, size_t width, bool mean, real *sum) {
    w->segments.count = count;
    w->segments.width = width;
    w->segments.mean = mean;
    w->segments.sum = sum;
    w->segments.piece = device_scratch(device, (w->tiles + count) * width);
}

static void launch_segments(Device *device, const MessageArgs *m, const MessageWork *w, size_t tile_rows) {
    size_t count = w->segments.sum ? w->segments.count : 0;
    LAUNCH(device, cuda_blocks(count, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, finish_segments, *m, *w, tile_rows);
}

template <class S> static void run_forward(Device *device, const MessageArgs *m) {
    TileLaunch launch = tile_launch<S>(device, 1);
    MessageWork w = plan_work(m, launch.tile_rows);
    bool by_other = m->mean_kind == MEAN_OTHER;
    if (by_other) w.by_other = rows_by_other(device, &m->edges);
    if (m->mean_kind != MEAN_NONE)
        plan_segments(device, &w, by_other ? m->edges.others : m->edges.groups, m->out, true, m->mean);
    LAUNCH(device, cuda_blocks(w.tiles, 1), launch.threads, launch.shared, forward_tiles<S>, *m, w);
    launch_segments(device, m, &w, launch.tile_rows);
}

static size_t add_slot(MessageSlots *s, real *to, size_t size) {
    s->slot[s->count++] = {to, s->part_size, size};
    s->part_size += size;
    return s->part_size - size;
}

// What each block sums of the gradients of weights, and where.
static MessageSlots plan_slots(const MessageArgs *m, MessageWork *w) {
    MessageSlots s = {};
    size_t h = m->hidden, o = m->out, middle = m->weight2 ? h : o;
    for (size_t i = 0; i < m->term_count; i++)
        if (m->terms[i].weight) add_slot(&s, m->terms[i].dweight, m->terms[i].width * h);
    w->terms = 0;
    w->weight1 = add_slot(&s, m->dweight1, m->weight1 ? h * middle : 0);
    w->weight2 = add_slot(&s, m->dweight2, m->weight2 ? h * o : 0);
    w->bias0 = add_slot(&s, m->dbias0, h);
    w->bias1 = add_slot(&s, m->dbias1, middle);
    w->bias2 = add_slot(&s, m->dbias2, o);
    w->gain = add_slot(&s, m->dgain, o);
    w->offset = add_slot(&s, m->doffset, o);
    return s;
}

static size_t part_count(size_t tiles, size_t part_size) {
    size_t room = MESSAGE_PART_ROOM / (part_size + 1) + 1, count = tiles < MESSAGE_BLOCKS ? tiles : MESSAGE_BLOCKS;
    return count < room ? count : room;
}

// Scratch memory for gradients that several rows add to.
static void plan_sums(Device *device, const MessageArgs *m, MessageWork *w) {
    bool by_other = false;
    for (size_t i = 0; i < m->term_count; i++) {
        const MessageTermArgs *term = &m->terms[i];
        if (!term->dx) continue;
        by_other = by_other || term->kind == TERM_OTHER;
        if (term->kind != TERM_GROUP || m->edges.k <= 1) continue;
        if (term->weight) w->row_dx[i] = device_scratch(device, w->rows * term->width);
        else if (!w->da) w->da = device_scratch(device, w->rows * m->hidden);
    }
    if (!by_other) return;
    w->by_other = rows_by_other(device, &m->edges);
    plan_segments(device, w, m->edges.others, m->hidden, false, device_scratch(device, m->edges.others * m->hidden));
}

static void launch_sums(Device *device, const MessageArgs *m, const MessageWork *w) {
    for (size_t i = 0; i < m->term_count; i++) {
        const MessageTermArgs *t = &m->terms[i];
        bool of_group = t->kind == TERM_GROUP && m->edges.k > 1;
        if (!t->dx || (t->kind != TERM_OTHER && !of_group)) continue;
        size_t lines = of_group ? m->edges.groups : m->edges.others;
        const real *x = !of_group ? w->segments.sum : t->weight ? w->row_dx[i] : w->da;
        LAUNCH(device, cuda_blocks(lines * t->width), CUDA_THREADS, 0, add_groups, lines, of_group ? m->edges.k : 1,
               t->width, x, t->dx);
    }
}

template <class S> static void run_backward(Device *device, const MessageArgs *m) {
    TileLaunch launch = tile_launch<S>(device, m->weight2 ? 3 : 2);
    MessageWork w = plan_work(m, launch.tile_rows);
    MessageSlots slots = plan_slots(m, &w);
    plan_sums(device, m, &w);
    slots.parts = part_count(w.tiles, slots.part_size);
    w.part_size = slots.part_size;
    w.part = slots.part = device_scratch(device, slots.parts * slots.part_size);
    LAUNCH(device, slots.parts, launch.threads, launch.shared, backward_tiles<S>, *m, w);
    LAUNCH(device, cuda_blocks(slots.parts ? slots.part_size : 0), CUDA_THREADS, 0, add_parts, slots);
    launch_segments(device, m, &w, launch.tile_rows);
    launch_sums(device, m, &w);
}

// ---- the ops

// Products of terms that all rows of a group share are taken once per group where they are this wide.
constexpr size_t MESSAGE_WIDE = 32;

// Moves wide terms by group from `m` to a call of its own, over groups: a sum of products without further layers. In
// `m` they become one term without a weight, whose lines are scratch memory.
static MessageArgs split_groups(Device *device, MessageArgs *m) {
    MessageArgs of_groups = {};
    size_t left = 0;
    of_groups.edges = edges_of_rows(m->edges.groups);
    of_groups.hidden = of_groups.out = m->hidden;
    for (size_t i = 0; i < m->term_count; i++) {
        MessageTermArgs term = m->terms[i];
        bool moves = term.kind == TERM_GROUP && term.weight && term.width > MESSAGE_WIDE && m->edges.k > 1;
        if (!moves) m->terms[left++] = term;
        else term.kind = TERM_ROW, of_groups.terms[of_groups.term_count++] = term;
    }
    m->term_count = left;
    if (of_groups.term_count == 0) return of_groups;
    of_groups.rows = device_scratch(device, m->edges.groups * m->hidden);
    m->terms[m->term_count++] = {TERM_GROUP, m->hidden, of_groups.rows, nullptr, nullptr, nullptr};
    return of_groups;
}

// The widest shape's.
constexpr size_t MESSAGE_WIDEST = 512;

static bool fits(Device *device, const MessageArgs *m) {
    if (m->hidden <= MESSAGE_WIDEST && m->out <= MESSAGE_WIDEST) return true;
    device_fail(device, STATUS_FAILED, "CUDA: model.C is %zu; at most %zu there", m->hidden, MESSAGE_WIDEST);
    return false;
}

static void forward(Device *device, const MessageArgs *m) {
    with_shape(m->hidden, m->out, [=](auto shape) { run_forward<decltype(shape)>(device, m); });
}

static void backward(Device *device, const MessageArgs *m) {
    with_shape(m->hidden, m->out, [=](auto shape) { run_backward<decltype(shape)>(device, m); });
}

void message_forward_cuda(Device *device, const MessageArgs *a) {
    if (!cuda_op(device, "message forward", a->edges.groups, a->edges.k, a->edges.others, a->hidden, a->out) ||
        !fits(device, a))
        return;
    ArenaMark mark = arena_mark(&device->scratch);
    MessageArgs m = *a, of_groups = split_groups(device, &m);
    if (of_groups.term_count) forward(device, &of_groups);
    forward(device, &m);
    arena_release(&device->scratch, mark);
}

void message_backward_cuda(Device *device, const MessageArgs *a) {
    if (!cuda_op(device, "message backward", a->edges.groups, a->edges.k, a->edges.others, a->hidden, a->out) ||
        !fits(device, a))
        return;
    ArenaMark mark = arena_mark(&device->scratch);
    MessageArgs m = *a, of_groups = split_groups(device, &m);
    if (of_groups.term_count) {
        size_t count = m.edges.groups * m.hidden;
        real *d = m.terms[m.term_count - 1].dx = device_scratch(device, count);
        if (d) cuda_ok(device, cudaMemsetAsync(d, 0, count * sizeof *d, cuda_state(device)->stream), "cudaMemsetAsync");
        if (!m.kept_a) forward(device, &of_groups);
        backward(device, &m);
        of_groups.drows = d;
        backward(device, &of_groups);
    } else {
        backward(device, &m);
    }
    arena_release(&device->scratch, mark);
}
