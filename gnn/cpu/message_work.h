// SPDX-License-Identifier: Apache-2.0
// Chunks of rows, buffers of a thread, and sums over parts of the chunks for gnn/cpu/message.c.
#ifndef VPD_GNN_CPU_MESSAGE_WORK_H
#define VPD_GNN_CPU_MESSAGE_WORK_H

#include "gnn/message.h"
#include "nn/cpu/cpu.h"
#include "nn/matmul.h"

// Rows per chunk, so that six buffers of 128 columns and two weights stay near the L2 cache
// (docs/speed_experiments.md).
enum { MESSAGE_CHUNK_ROWS = 128, NARROW = 8 };

// Whole groups, so that a group is never split between chunks.
typedef struct Chunk {
    size_t group, groups, row, rows;
} Chunk;

static inline size_t chunk_groups(const MessageArgs *m) {
    size_t groups = m->edges.k ? MESSAGE_CHUNK_ROWS / m->edges.k : MESSAGE_CHUNK_ROWS;
    return groups ? groups : 1;
}

static inline Chunk chunk_at(const MessageArgs *m, size_t index) {
    size_t per = chunk_groups(m), k = m->edges.k;
    size_t groups = chunk_size(m->edges.groups, per, index);
    return (Chunk){index * per, groups, index * per * k, groups * k};
}

// A thread's buffers. `sums` holds the gradients of weights of the part of the chunks that it works on, `others` the
// part's sums by other end.
typedef struct Work {
    real *group, *a, *ha, *b, *hb, *y, *line;
    real *sums, *others;
    real *packed;
    const struct WorkPlan *plan;
} Work;

// op(weight) (k, n), which all chunks multiply with. Each thread packs its own copy.
typedef struct Factor {
    const real *weight;
    Transpose turned;
    size_t k, n, offset;
} Factor;

enum { MESSAGE_MAX_FACTORS = 2 * (MESSAGE_MAX_TERMS + 2) };

// A gradient that is summed over the parts.
typedef struct SumSlot {
    real *to;
    size_t offset, size;
} SumSlot;

enum { MESSAGE_MAX_SLOTS = MESSAGE_MAX_TERMS + 8 };

typedef struct WorkPlan {
    real *memory, *sums; // of threads, of parts
    int parts;
    size_t stride, part_stride;    // elements per thread, per part
    size_t chunk_rows, widest;     // widest = max(hidden, out)
    size_t sums_size, others_size; // elements
    size_t slot_count;
    SumSlot slots[MESSAGE_MAX_SLOTS];
    Precision precision;
    size_t factor_count, packed_size; // elements
    Factor factors[MESSAGE_MAX_FACTORS];
} WorkPlan;

static inline size_t padded(size_t count) { return (count + 15) & ~(size_t)15; }

static inline void plan_chunks(WorkPlan *plan, const MessageArgs *m) {
    plan->chunk_rows = chunk_groups(m) * (m->edges.k ? m->edges.k : 1);
    plan->widest = m->hidden > m->out ? m->hidden : m->out;
}

static inline void plan_slot(WorkPlan *plan, real *to, size_t size) {
    plan->slots[plan->slot_count++] = (SumSlot){to, plan->sums_size, size};
    plan->sums_size += padded(size);
}

// Announces products with weight (rows, cols), or with its transpose if `turned`.
static inline void plan_factor(WorkPlan *plan, Transpose turned, size_t rows, size_t cols, const real *weight) {
    size_t k = turned == TRANSPOSED ? cols : rows, n = turned == TRANSPOSED ? rows : cols;
    plan->factors[plan->factor_count++] = (Factor){weight, turned, k, n, plan->packed_size};
    plan->packed_size += padded(matmul_packed_size(plan->precision, k, n));
}

// Allocates scratch memory for all threads and parts; false if memory is short.
static inline bool plan_allocate(WorkPlan *plan, Device *device, const MessageArgs *m) {
    size_t threads = (size_t)device->threads;
    plan->parts = sum_parts(chunk_count(m->edges.groups, chunk_groups(m)));
    plan->stride = padded(chunk_groups(m) * m->hidden) + 5 * padded(plan->chunk_rows * plan->widest) +
                   padded(plan->widest) + plan->packed_size;
    plan->part_stride = plan->sums_size + padded(plan->others_size);
    plan->memory = device_scratch(device, plan->stride * threads + plan->part_stride * (size_t)plan->parts);
    plan->sums = plan->memory ? plan->memory + plan->stride * threads : NULL;
    return plan->memory != NULL;
}

static inline Work work_of_thread(const WorkPlan *plan, const MessageArgs *m, int thread) {
    size_t block = padded(plan->chunk_rows * plan->widest);
    real *at = plan->memory + plan->stride * (size_t)thread;
    Work w = {.group = at, .plan = plan};
    w.a = at + padded(chunk_groups(m) * m->hidden);
    w.ha = w.a + block;
    w.b = w.ha + block;
    w.hb = w.b + block;
    w.y = w.hb + block;
    w.line = w.y + block;
    w.packed = w.line + padded(plan->widest);
    for (size_t i = 0; i < plan->factor_count; i++) {
        const Factor *f = &plan->factors[i];
        size_t stride = f->turned == TRANSPOSED ? f->k : f->n;
        matmul_pack(plan->precision, f->turned, f->k, f->n, f->weight, stride, w.packed + f->offset);
    }
    return w;
}

// The thread goes on to a part, whose sums begin at 0.
static inline void work_on_part(Work *w, int part) {
    w->sums = w->plan->sums + w->plan->part_stride * (size_t)part;
    w->others = w->sums + w->plan->sums_size;
    memset(w->sums, 0, w->plan->part_stride * sizeof(real));
}

// y (rows, n) = x (rows, k) op(weight) + beta y, with a planned factor.
static inline bool times_weight(const Work *w, size_t rows, const real *x, Transpose turned, const real *weight,
                                real beta, real *y) {
    const Factor *f = w->plan->factors;
    while (f->weight != weight || f->turned != turned) f++;
    return matmul_packed(w->plan->precision, PLAIN, rows, f->n, f->k, x, f->k, w->packed + f->offset, beta, y, f->n);
}

// sum (k, n) += x^T d, for x (rows, k) and d (rows, n): the gradient of a weight.
static inline bool add_weight_gradient(const Work *w, size_t rows, size_t k, size_t n, const real *x, const real *d,
                                       real *sum) {
    return matmul(w->plan->precision, TRANSPOSED, PLAIN, k, n, rows, x, k, d, n, 1, sum, n);
}

// This thread's share of adding all parts to the gradients, in their order.
static inline void add_sums(const WorkPlan *plan, int thread, int threads) {
    for (size_t s = 0; s < plan->slot_count; s++) {
        const SumSlot *slot = &plan->slots[s];
        size_t first, last;
        thread_range(slot->size, thread, threads, &first, &last);
        for (int p = 0; slot->to && p < plan->parts; p++) {
            const real *part = plan->sums + plan->part_stride * (size_t)p + slot->offset;
            for (size_t i = first; i < last; i++) slot->to[i] += part[i];
        }
    }
}

// to[i] += sum over parts of others[i], for elements [first, last).
static inline void add_others(const WorkPlan *plan, size_t first, size_t last, real *to) {
    for (int p = 0; p < plan->parts; p++) {
        const real *part = plan->sums + plan->part_stride * (size_t)p + plan->sums_size;
        for (size_t i = first; i < last; i++) to[i] += part[i];
    }
}

#endif
