// SPDX-License-Identifier: Apache-2.0
// One thread per particle; one warp per node, which goes through the list of its edges.
#include "gnn/cuda/by_other.h"
#include "nn/cuda/each_row.h"

#include "gnn/cuda/functions.h"
#include "gnn/edge_elements.h"

// w (groups, k)
static __global__ void blend(NodeBlendArgs a, real *w) {
    GRID_LOOP(group, a.edges.groups) blend_group(&a, group, w + group * a.edges.k);
}

enum { MOTION_MOST = 7 }; // numbers per node of its motion, without features

// Fills the weights w (groups, k); dw (groups, k) is scratch memory.
static __global__ void groups_backward(NodeBlendArgs a, real *w, real *dw) {
    GRID_LOOP(group, a.edges.groups) {
        size_t first = group * a.edges.k, last = first + a.edges.k;
        real mean = 0, dx[3] = {0, 0, 0};
        blend_weights(&a, group, w + first);
        for (size_t row = first; row < last; row++) {
            dw[row] = 0;
            if (a.edges.index[row] < 0) continue;
            size_t other = static_cast<size_t>(a.edges.index[row]);
            real du[MOTION_MOST] = {}; // the nodes' part
            blend_motion_backward(&a, group, other, w[row], du, dx);
            dw[row] = blend_weight_gradient(&a, group, other);
            mean += w[row] * dw[row];
        }
        for (size_t row = first; a.dz && row < last; row++) a.dz[row] += w[row] * (dw[row] - mean);
        for (size_t c = 0; a.dx_group && c < 3; c++) a.dx_group[group * 3 + c] += dx[c];
    }
}

static __global__ void others_backward(NodeBlendArgs a, CudaLists by_other, const real *w) {
    size_t features = a.motion.features, at = element_motion_features_at(&a.motion), width = at + features;
    WARP_LOOP(other, a.edges.others) {
        size_t first = static_cast<size_t>(by_other.start[other]),
               last = static_cast<size_t>(by_other.start[other + 1]);
        real du[MOTION_MOST] = {}, dx[3] = {0, 0, 0};
        for (size_t i = first + cuda_lane(); i < last; i += CUDA_WARP) {
            size_t row = static_cast<size_t>(by_other.item[i]);
            blend_motion_backward(&a, row / a.edges.k, other, w[row], du, dx);
        }
        for (size_t j = 0; j < MOTION_MOST; j++) {
            real sum = warp_sum(du[j]);
            if (a.du && cuda_lane() == 0 && j < at) a.du[other * width + j] += sum;
        }
        for (size_t c = 0; c < 3; c++) {
            real sum = warp_sum(dx[c]);
            if (a.dx_other && cuda_lane() == 0) a.dx_other[other * 3 + c] -= sum;
        }
        for (size_t j = cuda_lane(); a.du && j < features; j += CUDA_WARP) {
            real sum = 0;
            for (size_t i = first; i < last; i++) {
                size_t row = static_cast<size_t>(by_other.item[i]);
                sum += w[row] * a.dout[row / a.edges.k * (3 + features) + 3 + j];
            }
            a.du[other * width + at + j] += sum;
        }
    }
}

void node_blend_forward_cuda(Device *device, const NodeBlendArgs *a) {
    if (!cuda_op(device, "node blend forward", a->edges.groups, a->edges.k, a->edges.others)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    real *w = device_scratch(device, a->edges.groups * a->edges.k);
    LAUNCH(device, cuda_blocks(a->edges.groups, CUDA_ROW_THREADS), CUDA_ROW_THREADS, 0, blend, *a, w);
    arena_release(&device->scratch, mark);
}

void node_blend_backward_cuda(Device *device, const NodeBlendArgs *a) {
    if (!cuda_op(device, "node blend backward", a->edges.groups, a->edges.k, a->edges.others)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    size_t rows = a->edges.groups * a->edges.k;
    real *w = device_scratch(device, rows), *dw = device_scratch(device, rows);
    LAUNCH(device, cuda_blocks(a->edges.groups, CUDA_ROW_THREADS), CUDA_ROW_THREADS, 0, groups_backward, *a, w, dw);
    if (a->du || a->dx_other)
        LAUNCH(device, cuda_blocks(a->edges.others, CUDA_ROW_THREADS / CUDA_WARP), CUDA_ROW_THREADS, 0, others_backward,
               *a, edges_by_other(device, &a->edges), w);
    arena_release(&device->scratch, mark);
}
