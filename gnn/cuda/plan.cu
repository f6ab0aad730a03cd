// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan, a thread for each number; how far the states of nodes are spread.
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"
#include "gnn/plan.h"
#include "nn/cuda/device.h"
#include "nn/cuda/sums.h"
#include "nn/element.h"

static __global__ void mark(PlanMarkArgs a) {
    GRID_LOOP(i, a.count * a.stride) a.out[i] = i - cuda_quotient(i, a.stride) * a.stride == a.t;
}

void plan_mark_cuda(Device *device, const PlanMarkArgs *a) {
    if (!cuda_op(device, "plan mark", a->count, a->stride)) return;
    LAUNCH(device, cuda_blocks(a->count * a->stride), CUDA_THREADS, 0, mark, *a);
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
