// SPDX-License-Identifier: Apache-2.0
// Launches of gnn/cuda/message_kernels.h in one precision. Each precision has its own file, so that they compile in
// parallel.
#ifndef VPD_GNN_CUDA_MESSAGE_LAUNCH_H
#define VPD_GNN_CUDA_MESSAGE_LAUNCH_H

#include "gnn/cuda/message_kernels.h"
#include "gnn/cuda/message_run.h"

// Largest number of parts of the weights' gradients, and of elements in all of them. Both determine the order of sums,
// and so do not depend on the GPU.
constexpr size_t MESSAGE_PARTS = 256, MESSAGE_PART_ROOM = 1 << 25;

// Calls f with the smallest shape that fits the widths.
template <Precision P, class F> static bool with_shape(size_t hidden, size_t out, F f) {
    size_t width = hidden > out ? hidden : out;
    if (width <= 32) return f(MessageShape<P, 8, 1, 1>());
    if (width <= 64) return f(MessageShape<P, 8, 2, 2>());
    if (width <= 128) return f(MessageShape<P, 8, 4, 4>());
    if (width <= 256) return f(MessageShape<P, 4, 8, 8>());
    return f(MessageShape<P, 2, 16, 16>());
}

// Launch of tiles that need `buffers` tile-sized buffers in shared memory.
typedef struct TileLaunch {
    unsigned threads;
    size_t tile_rows, shared;
} TileLaunch;

// Does the message with those that wait already.
template <class S, bool BACKWARD>
static void hold_message(Device *device, const TileLaunch &launch, const MessageJob &job) {
    const MessageKernel kernel = {run_messages<S, BACKWARD>, BACKWARD ? "backward pass of messages" : "messages",
                                  launch.threads, launch.shared};
    message_hold(device, kernel, job);
}

// Uses fewer rows if the GPU has little shared memory, and no threads if it has too little.
template <class S> static TileLaunch tile_launch(Device *device, size_t buffers) {
    for (unsigned threads = CUDA_THREADS; threads >= CUDA_WARP; threads /= 2) {
        size_t rows = threads / CUDA_WARP * S::ROWS;
        size_t bytes = (MESSAGE_JOB_ROOM + ROWS_ROOM<S> + STRIP_ROOM<S> + buffers * rows * S::STRIDE) * sizeof(real);
        bool whole = !S::TENSOR || rows % TENSOR_ROWS == 0;
        if (whole && bytes <= cuda_state(device)->shared_limit) return {threads, rows, bytes};
    }
    return {};
}

static MessageWork plan_work(const MessageArgs *m, size_t tile_rows) {
    MessageWork w = {};
    w.rows = m->edges.groups * m->edges.k;
    w.tile_rows = tile_rows;
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

// Weights in tensor-core layout, and with `turned` their transposes, which the backward pass needs.
template <class S> static void plan_factors(Device *device, const MessageArgs *m, bool turned, MessageWork *w) {
    TensorSources all = {};
    for (int turn = 0; turn <= turned; turn++) {
        auto &factors = turn ? w->turned : w->plain;
        auto begin = [&](size_t width) { return tensor_source(&all, width, turn); };
        if (w->inputs) {
            TensorSource *terms = begin(m->hidden);
            for (size_t i = 0; i < m->term_count; i++)
                if (m->terms[i].weight) tensor_add(terms, m->terms[i].weight, m->terms[i].width);
            factors.terms = tensor_factor_of<S::PRECISION>(device, &all);
        }
        auto layer = [&](const real *weight, size_t rows, size_t width) {
            if (!weight) return TensorFactor{};
            TensorSource *source = begin(width);
            tensor_add(source, weight, rows);
            return tensor_factor_of<S::PRECISION>(device, &all);
        };
        factors.weight1 = layer(m->weight1, m->hidden, m->weight2 ? m->hidden : m->out);
        factors.weight2 = layer(m->weight2, m->hidden, m->out);
        for (size_t i = 0; i < MESSAGE_PRODUCTS; i++)
            factors.product[i] = layer(m->product[i].weight, m->out, m->hidden);
    }
    tensor_pack<S::PRECISION>(device, &all);
}

// Rows that a tile of `most` takes: whole groups where that leaves at most an eighth of it empty, so that each tile has
// the sums of its groups whole.
static size_t rows_of_groups(size_t most, size_t k) {
    size_t left = k ? most % k : 0;
    return left <= most / 8 ? most - left : most;
}

template <class S> static bool run_forward(Device *device, const MessageArgs *m) {
    TileLaunch launch = tile_launch<S>(device, 1);
    if (!launch.threads) return false;
    size_t k = m->edges.k;
    bool by_other = m->mean_kind == MEAN_OTHER, by_group = m->mean_kind == MEAN_GROUP;
    MessageWork w = plan_work(m, by_group ? rows_of_groups(launch.tile_rows, k) : launch.tile_rows);
    if constexpr (S::TENSOR) plan_factors<S>(device, m, cuda_factors_stay(device), &w);
    w.by_other = by_other;
    if (m->mean_kind != MEAN_NONE)
        plan_segments(device, &w, by_other ? m->edges.others : m->edges.groups, m->out, true, m->mean);
    w.left = by_group && k && w.tile_rows % k == 0 ? 0 : w.segments.count; // by no tile
    hold_message<S, false>(
        device, launch,
        {.blocks = {0, 0, message_blocks(w.tiles, 1), message_blocks(w.left, CUDA_THREADS / CUDA_WARP)},
         .clear = {},
         .args = *m,
         .work = w});
    return true;
}

static size_t add_slot(MessageSlots *s, real *to, size_t size) {
    s->slot[s->count++] = {to, s->part_size, size};
    s->part_size += size;
    return s->part_size - size;
}

// Places of the weights' gradients in a part.
static void plan_slots(const MessageArgs *m, MessageWork *w) {
    MessageSlots &s = w->slots;
    size_t h = m->hidden, o = m->out, middle = m->weight2 ? h : o;
    for (size_t i = 0; i < m->term_count; i++)
        if (m->terms[i].weight) add_slot(&s, m->terms[i].dweight, m->terms[i].width * h);
    w->terms = 0;
    w->weight1 = add_slot(&s, m->dweight1, h * middle);
    w->weight2 = add_slot(&s, m->dweight2, m->weight2 ? h * o : 0);
    w->bias0 = add_slot(&s, m->dbias0, h);
    w->bias1 = add_slot(&s, m->dbias1, middle);
    w->bias2 = add_slot(&s, m->dbias2, o);
    w->gain = add_slot(&s, m->dgain, o);
    w->offset = add_slot(&s, m->doffset, o);
    for (size_t i = 0; i < MESSAGE_PRODUCTS; i++)
        w->product[i] = add_slot(&s, m->product[i].dweight, m->product[i].dy ? o * h : 0);
}

static size_t part_count(size_t tiles, size_t part_size) {
    size_t room = MESSAGE_PART_ROOM / (part_size + 1) + 1, count = tiles < MESSAGE_PARTS ? tiles : MESSAGE_PARTS;
    return count < room ? count : room;
}

// Scratch memory for gradients that several rows contribute to.
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
    w->by_other = true;
    plan_segments(device, w, m->edges.others, m->hidden, false, device_scratch(device, m->edges.others * m->hidden));
}

// How many sums the tiles leave.
static size_t sums_left(const MessageArgs *m, const MessageWork *w) {
    size_t count = (w->slots.parts ? w->slots.part_size : 0) + w->segments.count * w->segments.width;
    for (size_t i = 0; i < m->term_count; i++)
        if (m->terms[i].dx && m->terms[i].kind == TERM_GROUP && m->edges.k > 1)
            count += m->edges.groups * m->terms[i].width;
    return count;
}

template <class S> static bool run_backward(Device *device, const MessageArgs *m) {
    TileLaunch launch = tile_launch<S>(device, m->weight2 ? 3 : 2);
    if (!launch.threads) return false;
    MessageWork w = plan_work(m, launch.tile_rows);
    if constexpr (S::TENSOR) plan_factors<S>(device, m, true, &w);
    plan_slots(m, &w);
    plan_sums(device, m, &w);
    w.slots.parts = part_count(w.tiles, w.slots.part_size);
    w.slots.part = device_scratch(device, w.slots.parts * w.slots.part_size);
    w.left = sums_left(m, &w);
    unsigned parts = message_blocks(w.slots.parts, 1), products = m->product[0].dy || m->product[1].dy ? parts : 0;
    hold_message<S, true>(device, launch,
                          {.blocks = {0, products, parts, message_blocks(w.left)}, .clear = {}, .args = *m, .work = w});
    return true;
}

template <Precision P> bool message_run_forward(Device *device, const MessageArgs *m) {
    return with_shape<P>(m->hidden, m->out, [=](auto shape) { return run_forward<decltype(shape)>(device, m); });
}

template <Precision P> bool message_run_backward(Device *device, const MessageArgs *m) {
    return with_shape<P>(m->hidden, m->out, [=](auto shape) { return run_backward<decltype(shape)>(device, m); });
}

#endif
