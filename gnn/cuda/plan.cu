// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan: a thread for each row or number, a warp where a row chooses from a list.
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"
#include "gnn/plan_elements.h"
#include "nn/cuda/device.h"
#include "nn/cuda/each_row.h"

// ---- copies

static __global__ void scatter(PlanScatterArgs a) {
    GRID_LOOP(i, 3 * a.count) a.out[3 * static_cast<size_t>(a.list[i / 3]) + i % 3] = a.x[i];
}

void plan_scatter_cuda(Device *device, const PlanScatterArgs *a) {
    if (!cuda_op(device, "plan scatter", a->count)) return;
    LAUNCH(device, cuda_blocks(3 * a->count), CUDA_THREADS, 0, scatter, *a);
}

static __global__ void mark(PlanMarkArgs a) {
    GRID_LOOP(i, a.count * a.stride) {
        size_t row = cuda_quotient(i, a.stride), c = i - row * a.stride;
        bool is_flag = a.has_flag && a.m && c + 1 == a.stride;
        a.out[i] = is_flag ? a.m[row] : c == a.t;
    }
}

void plan_mark_cuda(Device *device, const PlanMarkArgs *a) {
    if (!cuda_op(device, "plan mark", a->count, a->stride)) return;
    LAUNCH(device, cuda_blocks(a->count * a->stride), CUDA_THREADS, 0, mark, *a);
}

static __global__ void join(PlanJoinArgs a) {
    size_t width = a.ka + a.kb;
    GRID_LOOP(i, a.rows * width) {
        size_t row = cuda_quotient(i, width), e = i - row * width;
        int32_t b = e < a.ka ? -1 : a.b[row * a.kb + e - a.ka];
        a.out[i] = e < a.ka ? a.a[row * a.ka + e] : b < 0 ? -1 : a.list[b];
    }
}

void plan_join_cuda(Device *device, const PlanJoinArgs *a) {
    if (!cuda_op(device, "plan join", a->rows, a->ka, a->kb)) return;
    LAUNCH(device, cuda_blocks(a->rows * (a->ka + a->kb)), CUDA_THREADS, 0, join, *a);
}

// ---- numbers of edges

static __global__ void count_ends(size_t rows, const int32_t *index, int32_t *count) {
    GRID_LOOP(r, rows) {
        if (index[r] >= 0) atomicAdd(&count[index[r]], 1);
    }
}

static __global__ void log_counts(PlanCountArgs a) {
    GRID_LOOP(o, a.edges.others) { a.log_count[o * a.stride + a.column] = real_log1p(static_cast<real>(a.count[o])); }
}

void plan_count_cuda(Device *device, const PlanCountArgs *a) {
    size_t rows = edge_rows(&a->edges);
    cuda_zero(device, a->count, a->edges.others * sizeof *a->count);
    if (!cuda_op(device, "plan count", rows, a->edges.others)) return;
    LAUNCH(device, cuda_blocks(rows), CUDA_THREADS, 0, count_ends, rows, a->edges.index, a->count);
    LAUNCH(device, cuda_blocks(a->edges.others), CUDA_THREADS, 0, log_counts, *a);
}

static __global__ void logits(PlanLogitArgs a) {
    real factor = plan_logit_factor(a.width);
    GRID_LOOP(i, a.count) a.logit[i] = factor * a.distance2[i];
}

void plan_logit_cuda(Device *device, const PlanLogitArgs *a) {
    if (!cuda_op(device, "plan logit", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, logits, *a);
}

// ---- rows

void plan_spin_cuda(Device *device, const PlanSpinArgs *a) {
    cuda_each_row<PlanSpinArgs, plan_spin_row>(device, "plan spin", a, a->count);
}

void plan_extra_cuda(Device *device, const PlanExtraArgs *a) {
    cuda_each_row<PlanExtraArgs, plan_extra_row>(device, "plan extra", a, a->count);
}

void plan_motion_cuda(Device *device, const PlanMotionArgs *a) {
    cuda_each_row<PlanMotionArgs, plan_motion_row>(device, "plan motion", a, a->count);
}

// ---- choices from lists, a warp for each row

static __global__ void contacts(PlanContactArgs a) {
    WARP_LOOP(q, a.nodes) {
        size_t found = 0;
        for (size_t first = 0; first < a.looked && found < a.k; first += CUDA_WARP) {
            size_t j = first + cuda_lane();
            int32_t other = j < a.looked ? a.near[q * a.looked + j] : -1;
            bool is = other >= 0 && plan_is_contact(&a, q, static_cast<size_t>(other));
            found = warp_append(is, other, found, a.k, a.out + q * a.k);
        }
        for (size_t j = found + cuda_lane(); j < a.k; j += CUDA_WARP) a.out[q * a.k + j] = -1;
    }
}

void plan_contact_cuda(Device *device, const PlanContactArgs *a) {
    if (!cuda_op(device, "plan contact", a->nodes, a->looked, a->k)) return;
    LAUNCH(device, cuda_blocks(a->nodes, 2), 2 * CUDA_WARP, 0, contacts, *a);
}
