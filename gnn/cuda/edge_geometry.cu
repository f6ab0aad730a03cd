// SPDX-License-Identifier: Apache-2.0
// Sums over the edges of a group, and over those of an other end.
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"
#include "gnn/edge_elements.h"

static __global__ void forward(EdgeGeometryArgs a) {
    GRID_LOOP(row, a.edges.groups * a.edges.k) geometry_row(&a, row / a.edges.k, row);
}

// dx (3) += sign * the sum over `count` edges, row_at(i) each; a warp's lanes share them.
template <class RowAt>
static __device__ void add_edges(const EdgeGeometryArgs &a, size_t count, RowAt row_at, real sign, real *dx) {
    real sum[3] = {0, 0, 0}, dd[3];
    for (size_t i = cuda_lane(); i < count; i += CUDA_WARP) {
        size_t row = row_at(i);
        if (!geometry_row_backward(&a, row / a.edges.k, row, dd)) continue;
        for (int c = 0; c < 3; c++) sum[c] += dd[c];
    }
    for (int c = 0; c < 3; c++) {
        real all = warp_sum(sum[c]);
        if (cuda_lane() == 0) dx[c] += sign * all;
    }
}

// A warp adds to a point what comes to it as a group and as an other end: they are one where edges are among one set.
static __global__ void backward(EdgeGeometryArgs a, size_t points) {
    const GnnEdges &edges = a.edges;
    WARP_LOOP(point, points) {
        if (a.dx_group && point < edges.groups)
            add_edges(
                a, edges.k, [&](size_t i) { return point * edges.k + i; }, 1, a.dx_group + point * 3);
        if (!a.dx_other || point >= edges.others) continue;
        const int32_t *row = edges.by_other + edges.start[point];
        size_t count = static_cast<size_t>(edges.start[point + 1] - edges.start[point]);
        add_edges(
            a, count, [&](size_t i) { return static_cast<size_t>(row[i]); }, -1, a.dx_other + point * 3);
    }
}

void edge_geometry_forward_cuda(Device *device, const EdgeGeometryArgs *a) {
    size_t rows = a->edges.groups * a->edges.k;
    if (!cuda_op(device, "edge geometry forward", a->edges.groups, a->edges.k, a->edges.others)) return;
    LAUNCH(device, cuda_blocks(rows), CUDA_THREADS, 0, forward, *a);
}

void edge_geometry_backward_cuda(Device *device, const EdgeGeometryArgs *a) {
    if (!cuda_op(device, "edge geometry backward", a->edges.groups, a->edges.k, a->edges.others)) return;
    size_t groups = a->dx_group ? a->edges.groups : 0, others = a->dx_other ? a->edges.others : 0;
    size_t points = groups > others ? groups : others;
    LAUNCH(device, cuda_blocks(points, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, backward, *a, points);
}
