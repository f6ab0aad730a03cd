// SPDX-License-Identifier: Apache-2.0
// Velocities of nodes from the displacements of their particles.
#include "nn/cuda/launch.h"

#include "gnn/cuda/by_other.h"
#include "gnn/cuda/functions.h"
#include "gnn/plan_elements.h"

static __global__ void share_particles(PlanCarryArgs a, real *weight) {
    size_t k = a.edges.k;
    GRID_LOOP(i, a.edges.groups) plan_softmax(k, a.edges.index + i * k, a.logit + i * k, weight + i * k);
}

// One warp per node adds its particles' moments.
static __global__ void carry_nodes(PlanCarryArgs a, CudaLists edges, const real *weight) {
    WARP_LOOP(o, a.edges.others) {
        real sum[PLAN_MOMENTS] = {0}, d[3];
        int32_t first = edges.start[o], end = edges.start[o + 1];
        for (int32_t at = first + static_cast<int32_t>(cuda_lane()); at < end; at += CUDA_WARP) {
            size_t row = static_cast<size_t>(edges.item[at]), i = cuda_quotient(row, a.edges.k);
            for (size_t c = 0; c < 3; c++) d[c] = a.x[i * 3 + c] - a.past[i * 3 + c];
            plan_carry_edge(&a, i, o, weight[row], d, sum);
        }
        for (size_t c = 0; c < PLAN_MOMENTS; c++) sum[c] = warp_sum(sum[c]);
        if (cuda_lane() == 0) plan_carry_node(&a, o, sum);
    }
}

void plan_carry_cuda(Device *device, const PlanCarryArgs *a) {
    size_t nodes = a->edges.others;
    if (!cuda_op(device, "plan carry", a->edges.groups, a->edges.k, nodes)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    CudaLists edges = edges_by_other(device, &a->edges);
    real *weight = device_scratch(device, edge_rows(&a->edges));
    LAUNCH(device, cuda_blocks(a->edges.groups), CUDA_THREADS, 0, share_particles, *a, weight);
    LAUNCH(device, cuda_blocks(nodes, 2), 2 * CUDA_WARP, 0, carry_nodes, *a, edges, weight);
    arena_release(&device->scratch, mark);
}
