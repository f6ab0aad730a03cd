// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan, a thread for each number; how far the states of nodes are spread.
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"
#include "gnn/plan.h"
#include "nn/cuda/device.h"
#include "nn/cuda/sums.h"
#include "nn/element.h"

static __global__ void mark(const __grid_constant__ PlanMarkArgs a) {
    for (size_t t = 0; t < a.sets; t++)
        GRID_LOOP(i, a.count[t] * a.sets) a.out[t][i] = i - cuda_quotient(i, a.sets) * a.sets == t;
}

void plan_mark_cuda(Device *device, const PlanMarkArgs *a) {
    size_t most = 0;
    for (size_t t = 0; t < a->sets; t++) most = a->count[t] > most ? a->count[t] : most;
    if (!cuda_op(device, "plan mark", most, a->sets)) return;
    LAUNCH(device, cuda_blocks(most * a->sets), CUDA_THREADS, 0, mark, *a);
}

// ---- numbers of edges

static __global__ void count_ends(const __grid_constant__ PlanCountArgs a) {
    GRID_LOOP(i, a.edges[0].others * a.sets) {
        size_t o = cuda_quotient(i, a.sets), t = i - o * a.sets;
        int32_t count = a.edges[t].start[o + 1] - a.edges[t].start[o];
        a.count[t][o] = count;
        a.log_count[i] = real_log1p(static_cast<real>(count));
    }
}

void plan_count_cuda(Device *device, const PlanCountArgs *a) {
    if (!cuda_op(device, "plan count", a->sets, edge_rows(&a->edges[0]), a->edges[0].others)) return;
    LAUNCH(device, cuda_blocks(a->edges[0].others * a->sets), CUDA_THREADS, 0, count_ends, *a);
}

// ---- spread of nodes

// The sum of a column's values over the block's warps, which take every eighth row each; lanes are columns.
static __device__ double column_sum(double value) {
    __shared__ double part[CUDA_THREADS];
    __syncthreads();
    part[threadIdx.x] = value;
    __syncthreads();
    double sum = 0;
    for (unsigned warp = 0; warp < blockDim.x / CUDA_WARP; warp++) sum += part[warp * CUDA_WARP + cuda_lane()];
    return sum;
}

static __global__ void deviations(PlanSpreadArgs a, double *deviation) {
    size_t tiles = (a.channels + CUDA_WARP - 1) / CUDA_WARP, warps = blockDim.x / CUDA_WARP;
    double nodes = static_cast<double>(a.nodes ? a.nodes : 1);
    BLOCK_LOOP(tile, tiles) {
        size_t j = tile * CUDA_WARP + cuda_lane(), rows = j < a.channels ? a.nodes : 0;
        double sum = 0, square = 0;
        for (size_t i = cuda_warp(); i < rows; i += warps) sum += static_cast<double>(a.h[i * a.channels + j]);
        double mean = column_sum(sum) / nodes;
        for (size_t i = cuda_warp(); i < rows; i += warps) {
            double off = static_cast<double>(a.h[i * a.channels + j]) - mean;
            square += off * off;
        }
        square = column_sum(square);
        if (cuda_warp() == 0 && j < a.channels) deviation[j] = sqrt(square / nodes);
    }
}

void plan_spread_cuda(Device *device, const PlanSpreadArgs *a) {
    if (!cuda_op(device, "plan spread", a->nodes, a->channels)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    size_t channels = a->channels ? a->channels : 1;
    double *deviation = static_cast<double *>(device_scratch_bytes(device, channels * sizeof *deviation));
    LAUNCH(device, cuda_blocks(a->channels, CUDA_WARP), CUDA_THREADS, 0, deviations, *a, deviation);
    cuda_sum(device, a->channels, deviation, 1 / static_cast<double>(channels), a->spread);
    arena_release(&device->scratch, mark);
}
