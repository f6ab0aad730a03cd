// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan, a thread for each number; how far the states of nodes are spread.
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"
#include "gnn/plan.h"
#include "nn/cuda/device.h"
#include "nn/cuda/sums.h"
#include "nn/element.h"

static __global__ void write_rows(const __grid_constant__ PlanRowsArgs a) {
    for (size_t t = 0; t < a.sets; t++)
        GRID_LOOP(i, a.particles[t] * a.sets) a.mark[t][i] = i - cuda_quotient(i, a.sets) * a.sets == t;
    GRID_LOOP(i, a.nodes * a.sets) {
        size_t o = cuda_quotient(i, a.sets), t = i - o * a.sets;
        int32_t count = a.edges[t].start[o + 1] - a.edges[t].start[o];
        a.count[t][o] = count;
        a.log_count[i] = real_log1p(static_cast<real>(count));
    }
}

void plan_rows_cuda(Device *device, const PlanRowsArgs *a) {
    size_t most = a->nodes;
    for (size_t t = 0; t < a->sets; t++) most = a->particles[t] > most ? a->particles[t] : most;
    if (!cuda_op(device, "rows of a plan", most, a->sets, a->nodes)) return;
    LAUNCH(device, cuda_blocks(most * a->sets), CUDA_THREADS, 0, write_rows, *a);
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
