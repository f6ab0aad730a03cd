// SPDX-License-Identifier: Apache-2.0
// Bodies of moving particles, their surfaces, and their contacts.
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"
#include "gnn/plan_elements.h"
#include "nn/cuda/device.h"
#include "nn/cuda/each_row.h"

// ---- bodies: a forest in body[], where no row's parent is larger than the row (ECL-CC, Jaiganesh and Burtscher 2018).
// Only roots get parents, by compare-and-swap, so a parent that was read late is still an ancestor, and the root of a
// body is its smallest row for any order of its edges.

static __global__ void begin_bodies(size_t count, int32_t *body) {
    GRID_LOOP(i, count) body[i] = static_cast<int32_t>(i);
}

static __device__ int32_t root_of(volatile int32_t *body, int32_t i) {
    for (int32_t up = body[i]; up != i; up = body[i]) {
        int32_t next = body[up];
        body[i] = next; // path halving, for later searches
        i = next;
    }
    return i;
}

static __device__ void unite(int32_t *body, int32_t i, int32_t j) {
    while ((i = root_of(body, i)) != (j = root_of(body, j))) {
        int32_t low = i < j ? i : j, high = i < j ? j : i;
        if (atomicCAS(&body[high], high, low) == high) return;
    }
}

static __global__ void unite_neighbours(PlanBodiesArgs a) {
    GRID_LOOP(r, a.count * a.k) {
        size_t i = cuda_quotient(r, a.k);
        int32_t j = a.near[r];
        if (j < 0) continue;
        size_t other = static_cast<size_t>(j);
        if (plan_moves_along(&a, i, other) && plan_moves_along(&a, other, i)) unite(a.body, static_cast<int32_t>(i), j);
    }
}

static __global__ void finish_bodies(size_t count, volatile int32_t *body) {
    GRID_LOOP(i, count) {
        int32_t root = static_cast<int32_t>(i);
        while (body[root] != root) root = body[root];
        body[i] = root;
    }
}

void plan_bodies_cuda(Device *device, const PlanBodiesArgs *a) {
    if (!cuda_op(device, "plan bodies", a->count, a->k)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, begin_bodies, a->count, a->body);
    LAUNCH(device, cuda_blocks(a->count * a->k), CUDA_THREADS, 0, unite_neighbours, *a);
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, finish_bodies, a->count, a->body);
}

// ---- planes of other bodies, a warp for each particle

static __global__ void list_own(PlanSidesArgs a, int32_t *size) {
    WARP_LOOP(i, a.count) {
        size_t found = 0;
        for (size_t first = 0; first < a.looked && found < a.k; first += CUDA_WARP) {
            size_t e = first + cuda_lane();
            int32_t j = e < a.looked ? a.near[i * a.looked + e] : -1;
            found = warp_append(j >= 0 && a.body[j] == a.body[i], j, found, a.k, a.own + i * a.k);
        }
        for (size_t e = found + cuda_lane(); e < a.k; e += CUDA_WARP) a.own[i * a.k + e] = static_cast<int32_t>(i);
        if (cuda_lane() == 0) atomicAdd(&size[a.body[i]], 1);
    }
}

static __global__ void find_other(PlanSidesArgs a, const int32_t *size) {
    WARP_LOOP(i, a.count) {
        size_t found = 0;
        for (size_t first = 0; first < a.looked && found == 0; first += CUDA_WARP) {
            size_t e = first + cuda_lane();
            int32_t j = e < a.looked ? a.near[i * a.looked + e] : -1;
            bool is = j >= 0 && plan_is_other_side(&a, i, static_cast<size_t>(j), size);
            found = warp_append(is, j, found, 1, &a.other[i]);
        }
        if (cuda_lane() == 0 && found == 0) a.other[i] = -1;
    }
}

void plan_sides_cuda(Device *device, const PlanSidesArgs *a) {
    if (!cuda_op(device, "plan sides", a->count, a->looked, a->k)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *size = static_cast<int32_t *>(device_scratch_bytes(device, (a->count + 1) * sizeof *size));
    if (size) cuda_zero(device, size, a->count * sizeof *size);
    LAUNCH(device, cuda_blocks(a->count, 2), 2 * CUDA_WARP, 0, list_own, *a, size);
    LAUNCH(device, cuda_blocks(a->count, 2), 2 * CUDA_WARP, 0, find_other, *a, size);
    arena_release(&device->scratch, mark);
}

// ---- contacts

// In the row of a body's first particle. first: the particle that makes contact first, -1 none.
struct Body {
    real middle[3];
    int32_t first;
};

// Keys in ascending order of x; +0 and -0 need no distinction.
static __device__ unsigned order_of(float x) {
    unsigned bits = __float_as_uint(x + 0);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

// One block per body goes through all particles, because bodies are few.
static __global__ void find_meetings(PlanMeetArgs a, Body *bodies) {
    __shared__ unsigned long long soonest;
    BLOCK_LOOP(root, a.particles) {
        if (a.body[root] != static_cast<int32_t>(root)) continue;
        real sum[3] = {0}, count = 0;
        THREAD_LOOP(i, a.particles) {
            if (a.body[i] != static_cast<int32_t>(root)) continue;
            for (size_t c = 0; c < 3; c++) sum[c] += a.x[3 * i + c];
            count++;
        }
        count = block_sum(count);
        for (size_t c = 0; c < 3; c++) sum[c] = block_sum(sum[c]) / count;
        if (threadIdx.x == 0) soonest = ~0ull;
        __syncthreads();
        unsigned long long best = ~0ull;
        THREAD_LOOP(i, a.particles) {
            PlanMeeting one;
            if (a.body[i] != static_cast<int32_t>(root) || !plan_meeting_of(&a, i, sum, &one)) continue;
            unsigned long long key = static_cast<unsigned long long>(order_of(one.left)) << 32 | i;
            if (one.left < INFINITY && key < best) best = key;
        }
        atomicMin(&soonest, best);
        __syncthreads();
        int32_t first = soonest == ~0ull ? -1 : static_cast<int32_t>(soonest);
        if (threadIdx.x == 0) bodies[root] = {{sum[0], sum[1], sum[2]}, first};
    }
}

static __global__ void write_meetings(PlanMeetArgs a, const Body *bodies) {
    GRID_LOOP(i, a.count) {
        const Body *body = &bodies[a.body[a.row[i]]];
        plan_meet_row(&a, i, body->middle, body->first);
    }
}

void plan_meet_cuda(Device *device, const PlanMeetArgs *a) {
    if (!cuda_op(device, "plan meet", a->count, a->particles)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    Body *bodies = static_cast<Body *>(device_scratch_bytes(device, (a->particles + 1) * sizeof *bodies));
    LAUNCH(device, cuda_blocks(a->particles, 1), CUDA_THREADS, 0, find_meetings, *a, bodies);
    LAUNCH(device, cuda_blocks(a->count, CUDA_ROW_THREADS), CUDA_ROW_THREADS, 0, write_meetings, *a, bodies);
    arena_release(&device->scratch, mark);
}
