// SPDX-License-Identifier: Apache-2.0
// Scene-flow kernels: one thread per row or point, or one warp per query that adds its pairs in order.
#include "nn/cuda/launch.h"

#include "motion/cuda/functions.h"
#include "motion/flow_elements.h"
#include "nn/cuda/each_row.h"

void flow_normals_cuda(Device *device, const FlowNormalsArgs *a) {
    cuda_each_row<FlowNormalsArgs, flow_normal_row>(device, "flow normals", a, a->count);
}

void flow_adopt_cuda(Device *device, const FlowAdoptArgs *a) {
    cuda_each_row<FlowAdoptArgs, flow_adopt_row>(device, "flow adopt", a, a->queries);
}

void flow_motion_cuda(Device *device, const FlowMotionArgs *a) {
    cuda_each_row<FlowMotionArgs, flow_motion_row>(device, "flow motion", a, a->queries);
}

static __global__ void pairs(FlowPairPointsArgs a) {
    GRID_LOOP(i, 3 * a.queries * a.pairs) {
        size_t row = i / 3, q = cuda_quotient(row, a.pairs), j = row - q * a.pairs;
        a.out[i] = a.scale * a.value[3 * static_cast<size_t>(a.index[q * a.k + j * a.every]) + i % 3];
    }
}

void flow_pair_points_cuda(Device *device, const FlowPairPointsArgs *a) {
    if (!cuda_op(device, "flow pair points", a->queries, a->pairs)) return;
    LAUNCH(device, cuda_blocks(3 * a->queries * a->pairs), CUDA_THREADS, 0, pairs, *a);
}

static __global__ void place(FlowPlaceArgs a) {
    GRID_LOOP(j, a.queries * a.pairs) flow_place_point(&a, cuda_quotient(j, a.pairs), j);
}

void flow_place_cuda(Device *device, const FlowPlaceArgs *a) {
    if (!cuda_op(device, "flow place", a->queries, a->pairs)) return;
    LAUNCH(device, cuda_blocks(a->queries * a->pairs), CUDA_THREADS, 0, place, *a);
}

// Sums pair by pair in the CPU's order, because the sums are compared.
static __global__ void vote(FlowVoteArgs a) {
    size_t pairs = a.pairs.pairs;
    WARP_LOOP(q, a.pairs.queries) {
        real e[3];
        double sum = 0;
        for (size_t first = 0; first < pairs; first += CUDA_WARP) {
            size_t j = first + cuda_lane(), count = pairs - first < CUDA_WARP ? pairs - first : CUDA_WARP;
            double fit = j < pairs ? flow_pair_fit(&a.pairs, q * pairs + j, e) : 0;
            for (size_t i = 0; i < count; i++) sum += __shfl_sync(WHOLE_WARP, fit, static_cast<int>(i));
        }
        if (cuda_lane() == 0) flow_vote_row(&a, q, sum);
    }
}

void flow_vote_cuda(Device *device, const FlowVoteArgs *a) {
    if (!cuda_op(device, "flow vote", a->pairs.queries, a->pairs.pairs)) return;
    LAUNCH(device, cuda_blocks(a->pairs.queries, 2), 2 * CUDA_WARP, 0, vote, *a);
}

// ---- one step of registration

// Shared memory of a warp.
struct Registration {
    RigidRow rows[CUDA_WARP][RIGID_PAIR_ROWS];
    RigidSystem system;
};

constexpr unsigned STEP_WARPS = 2;
constexpr int TRIANGLE = RIGID_UNKNOWNS * (RIGID_UNKNOWNS + 1) / 2; // entries of A

// Entries of the system, one per lane: the lower triangle of A row by row, then b, then the weight.
struct Entry {
    int row, column; // RIGID_UNKNOWNS: entry of b; row -1: the weight
};

static __device__ Entry entry_of(int lane) {
    if (lane >= TRIANGLE + RIGID_UNKNOWNS) return {-1, 0};
    if (lane >= TRIANGLE) return {lane - TRIANGLE, RIGID_UNKNOWNS};
    int row = 0;
    while ((row + 1) * (row + 2) / 2 <= lane) row++;
    return {row, lane - row * (row + 1) / 2};
}

// Each lane computes the rows of a pair; then each adds all pairs' contributions to its entry, in order.
static __device__ double add_pairs(const FlowStepArgs *a, size_t q, Entry entry, RigidRow (*rows)[RIGID_PAIR_ROWS]) {
    size_t pairs = a->pairs.pairs;
    double sum = 0;
    for (size_t first = 0; first < pairs; first += CUDA_WARP) {
        size_t j = first + cuda_lane(), count = pairs - first < CUDA_WARP ? pairs - first : CUDA_WARP;
        if (j < pairs) flow_pair_rows(a, q, q * pairs + j, rows[cuda_lane()]);
        __syncwarp();
        for (size_t i = 0; i < count; i++) {
            if (entry.row < 0) sum += rows[i][0].weight;
            else
                for (int row = 0; row < RIGID_PAIR_ROWS; row++)
                    sum += rigid_row_part(&rows[i][row], entry.row, entry.column);
        }
        __syncwarp();
    }
    return sum;
}

static __global__ void step(FlowStepArgs a) {
    SHARED(Registration, all);
    Registration *own = all + cuda_warp();
    RigidSystem *system = &own->system;
    Entry entry = entry_of(static_cast<int>(cuda_lane()));
    WARP_LOOP(q, a.pairs.queries) {
        double sum = add_pairs(&a, q, entry, own->rows);
        if (entry.row < 0) system->weight = sum;
        else if (entry.column == RIGID_UNKNOWNS) system->b[entry.row] = sum;
        else system->a[entry.row * RIGID_UNKNOWNS + entry.column] = sum;
        __syncwarp();
        if (cuda_lane() == 0) {
            rigid_solve(system, a.damping);
            rigid_compose(system->b, a.motion + RIGID_MOTION * q);
        }
        __syncwarp();
    }
}

void flow_step_cuda(Device *device, const FlowStepArgs *a) {
    if (!cuda_op(device, "flow step", a->pairs.queries, a->pairs.pairs)) return;
    LAUNCH(device, cuda_blocks(a->pairs.queries, STEP_WARPS), STEP_WARPS * CUDA_WARP, STEP_WARPS * sizeof(Registration),
           step, *a);
}
