// SPDX-License-Identifier: Apache-2.0
// Sums over the edges of a group, and over those of an other end; one thread each, in the order of the edges.
#include "gnn/cuda/by_other.h"
#include "nn/cuda/each_row.h"

#include "gnn/cuda/functions.h"
#include "gnn/edge_elements.h"

static __global__ void forward(EdgeGeometryArgs a) {
    GRID_LOOP(row, a.edges.groups * a.edges.k) geometry_row(&a, row / a.edges.k, row);
}

static __global__ void add_to_groups(EdgeGeometryArgs a) {
    GRID_LOOP(group, a.edges.groups) {
        real sum[3] = {0, 0, 0}, dd[3];
        for (size_t row = group * a.edges.k; row < (group + 1) * a.edges.k; row++) {
            if (!geometry_row_backward(&a, group, row, dd)) continue;
            for (int c = 0; c < 3; c++) sum[c] += dd[c];
        }
        for (int c = 0; c < 3; c++) a.dx_group[group * 3 + c] += sum[c];
    }
}

static __global__ void add_to_others(EdgeGeometryArgs a, CudaLists by_other) {
    GRID_LOOP(other, a.edges.others) {
        real sum[3] = {0, 0, 0}, dd[3];
        for (int32_t i = by_other.start[other]; i < by_other.start[other + 1]; i++) {
            size_t row = static_cast<size_t>(by_other.item[i]);
            geometry_row_backward(&a, row / a.edges.k, row, dd);
            for (int c = 0; c < 3; c++) sum[c] += dd[c];
        }
        for (int c = 0; c < 3; c++) a.dx_other[other * 3 + c] -= sum[c];
    }
}

void edge_geometry_forward_cuda(Device *device, const EdgeGeometryArgs *a) {
    size_t rows = a->edges.groups * a->edges.k;
    if (!cuda_op(device, "edge geometry forward", a->edges.groups, a->edges.k, a->edges.others)) return;
    LAUNCH(device, cuda_blocks(rows), CUDA_THREADS, 0, forward, *a);
}

void edge_geometry_backward_cuda(Device *device, const EdgeGeometryArgs *a) {
    if (!cuda_op(device, "edge geometry backward", a->edges.groups, a->edges.k, a->edges.others)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    if (a->dx_group)
        LAUNCH(device, cuda_blocks(a->edges.groups, CUDA_ROW_THREADS), CUDA_ROW_THREADS, 0, add_to_groups, *a);
    if (a->dx_other)
        LAUNCH(device, cuda_blocks(a->edges.others, CUDA_ROW_THREADS), CUDA_ROW_THREADS, 0, add_to_others, *a,
               edges_by_other(device, &a->edges));
    arena_release(&device->scratch, mark);
}
