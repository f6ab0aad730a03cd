// SPDX-License-Identifier: Apache-2.0
// Farthest-point sampling, and how far the states of nodes are spread.
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"
#include "gnn/plan_elements.h"
#include "nn/cuda/device.h"
#include "nn/cuda/sums.h"

// ---- farthest points: a launch for each, as the next one needs the distances of all points to the last.

typedef unsigned long long FarthestKey; // the larger the farther; of equal ones, the smaller index is larger

static __device__ FarthestKey farthest_key(real distance, size_t index) {
    return static_cast<FarthestKey>(__float_as_uint(distance)) << 32 | ~static_cast<uint32_t>(index);
}

// Point j of the choice joins, and the farthest from all chosen is left in key[j].
static __global__ void join_chosen(PlanFarthestArgs a, size_t j, FarthestKey *key) {
    __shared__ FarthestKey farthest;
    int32_t chosen = j ? static_cast<int32_t>(~static_cast<uint32_t>(key[j - 1])) : a.start;
    const real *from = a.x + 3 * static_cast<size_t>(chosen);
    if (threadIdx.x == 0) farthest = 0;
    __syncthreads();
    FarthestKey best = 0;
    GRID_LOOP(i, a.count) {
        real d = plan_farthest_square(&a, i, from), before = j ? a.distance[i] : INFINITY;
        real least = d < before ? d : before;
        a.distance[i] = least;
        FarthestKey mine = farthest_key(least, i);
        best = mine > best ? mine : best;
    }
    best = warp_max(best);
    if (cuda_lane() == 0) atomicMax(&farthest, best);
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicMax(&key[j], farthest);
    if (blockIdx.x == 0) a.chosen[j] = chosen;
}

void plan_farthest_cuda(Device *device, const PlanFarthestArgs *a) {
    if (!cuda_op(device, "plan farthest", a->count, a->want)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    FarthestKey *key = static_cast<FarthestKey *>(device_scratch_bytes(device, (a->want + 1) * sizeof *key));
    if (key) cuda_zero(device, key, a->want * sizeof *key);
    for (size_t j = 0; j < a->want; j++)
        LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, join_chosen, *a, j, key);
    arena_release(&device->scratch, mark);
}

// ---- spread

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
