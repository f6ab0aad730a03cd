// SPDX-License-Identifier: Apache-2.0
// Bodies that meet, in three launches of a step or of its adjoint: the trees of each body, a block each; what each
// particle and each edge touches, a thread each; and sums at vertices, a thread each. A vertex adds what comes to it in
// the order of rows and touches: first those where it is the particle, then those where it is a face's corner or an
// edge's end. For these its block goes through the groups of rows that touch one of its vertices so, a touch to a
// thread, and hands them round in shared memory. So a face may be touched by any number of particles. Part of
// sim/cuda/phases.h.
namespace SIM_CUDA_SPACE {

constexpr unsigned TREE_THREADS = 512, TOUCH_THREADS = 128, TOUCH_WARPS = TOUCH_THREADS / CUDA_WARP;
static_assert(SIM_DEVICE_LANES == CUDA_WARP && CUDA_WARP * SIM_TOUCHES == TOUCH_THREADS, "a touch to a thread");

// By the whole block.
static __device__ inline void fit_tree(const SimTree &tree, const real *state) {
    int32_t first = tree.groups, filled = tree.count; // of the nodes of a level, from the faces or edges to the root
    while (first > 0) {
        first = (first - 1) / SIM_BRANCHES;
        filled = (filled + SIM_BRANCHES - 1) / SIM_BRANCHES;
        THREAD_LOOP(i, static_cast<size_t>(filled)) sim_fit_group(&tree, state, first + static_cast<int32_t>(i));
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(TREE_THREADS) body_trees(SimTouching t, const real *state) {
    BLOCK_LOOP(b, t.bodies) {
        const SimBody body = t.body[b];
        fit_tree(sim_edge_tree(&t, &body), state);
        fit_tree(sim_face_tree(&t, &body), state);
        THREAD_LOOP(c, static_cast<size_t>(body.faces ? 3 : 0)) {
            const real *low = static_cast<real *>(t.group) + static_cast<size_t>(body.group) * SIM_GROUP +
                              c * SIM_BRANCHES,
                       *high = low + 3 * SIM_BRANCHES;
            real *box = static_cast<real *>(t.box) + b * SIM_RECORD + c;
            box[0] = num_min(num_min(low[0], low[1]), num_min(low[2], low[3]));
            box[SIM_QUAD] = num_max(num_max(high[0], high[1]), num_max(high[2], high[3]));
        }
    }
}

// Touches of a warp's rows, with forces or adjoints.
template <bool back> __global__ void touches(SimTouching t, SimTouched *touched, const real *state, const real *w) {
    WARP_LOOP(group, (t.rows + CUDA_WARP - 1) / CUDA_WARP) {
        const size_t i = group * CUDA_WARP + cuda_lane();
        int32_t low = INT32_MAX, high = -1;
        if (i < t.rows) {
            sim_find_touches(&t, state, i, sim_look_anew, sim_touch_edges);
            for (int32_t k = 0; k < t.touches[i]; k++) {
                int32_t vertex[4];
                sim_touch_parts(&t, state, back ? w : nullptr, i, static_cast<size_t>(k));
                sim_touch_vertices(&t, i, t.touch + i * SIM_TOUCHES + k, vertex);
                for (int j = i < t.points ? 1 : 0; j < 4; j++) {
                    low = vertex[j] < low ? vertex[j] : low;
                    high = vertex[j] > high ? vertex[j] : high;
                }
            }
        }
        low = warp_min(low);
        high = warp_max(high);
        if (cuda_lane() == 0) touched[group] = {low, high};
    }
}

// ---- sums

// Reals of a part: of a force, or of an adjoint with dLoss/d(k_e, k_d, k_f, mu).
template <bool back> constexpr unsigned PART = back ? 6 : 3;
constexpr unsigned SLOPE = SIM_QUAD;

template <bool back> struct TouchSum { real part[PART<back>], slope[SLOPE]; };

// Touches of a group, of which the bits of `wanted` are some; particles, the first vertices of theirs, are not here.
// The first two vertices get half of the slope each.
template <bool back> struct SharedTouches {
    real part[4][PART<back>][TOUCH_THREADS], slope[back ? SLOPE : 1][TOUCH_THREADS];
    int32_t vertex[4][TOUCH_THREADS];
    unsigned wanted[TOUCH_WARPS], groups[TOUCH_WARPS];
};

template <bool back> static __device__ inline void read_part(const SimTouching &t, size_t row, int corner, real *out) {
    const real *part = static_cast<const real *>(t.part) + (4 * row + static_cast<size_t>(corner)) * SIM_RECORD;
    UNROLL_LOOP(c, PART<back>) out[c] = part[c / 3 * SIM_QUAD + c % 3];
}

static __device__ inline real half_slope(const SimTouching &t, size_t row, unsigned c) {
    return static_cast<const real *>(t.slope)[row * SIM_QUAD + c] / 2;
}

// What vertex i feels as a particle.
template <bool back>
static __device__ inline void add_own(const SimTouching &t, const int32_t *point_of, size_t i, TouchSum<back> *sum) {
    const int32_t point = point_of[i];
    for (int32_t k = 0; k < (point < 0 ? 0 : t.touches[point]); k++) {
        const size_t row = static_cast<size_t>(point) * SIM_TOUCHES + static_cast<size_t>(k);
        real part[PART<back>];
        read_part<back>(t, row, 0, part);
        UNROLL_LOOP(c, PART<back>) sum->part[c] += part[c];
        if constexpr (back) UNROLL_LOOP(c, SLOPE) sum->slope[c] += half_slope(t, row, c);
    }
}

// A thread's touch of a group; whether it has one of the vertices first .. first+TOUCH_THREADS-1.
template <bool back>
static __device__ inline bool share_touch(const SimTouching &t, size_t group, size_t first,
                                          SharedTouches<back> *shared) {
    const size_t touch = group * TOUCH_THREADS + threadIdx.x, row = touch / SIM_TOUCHES;
    bool wanted = false;
    int32_t vertex[4];
    if (row >= t.rows || static_cast<int32_t>(touch % SIM_TOUCHES) >= t.touches[row]) return false;
    sim_touch_vertices(&t, row, t.touch + touch, vertex);
    if (row < t.points) vertex[0] = -1;
    for (int j = 0; j < 4; j++) {
        real part[PART<back>];
        read_part<back>(t, touch, j, part);
        UNROLL_LOOP(c, PART<back>) shared->part[j][c][threadIdx.x] = part[c];
        shared->vertex[j][threadIdx.x] = vertex[j];
        wanted = wanted || static_cast<size_t>(vertex[j]) - first < TOUCH_THREADS;
    }
    if constexpr (back) UNROLL_LOOP(c, SLOPE) shared->slope[c][threadIdx.x] = half_slope(t, touch, c);
    return wanted;
}

// What vertex i feels as a corner of faces or an end of edges that a group touches. The whole block takes part.
template <bool back>
static __device__ inline void add_group(const SimTouching &t, size_t group, size_t first, size_t i,
                                        SharedTouches<back> *shared, TouchSum<back> *sum) {
    const unsigned wanted = __ballot_sync(WHOLE_WARP, share_touch<back>(t, group, first, shared));
    if (cuda_lane() == 0) shared->wanted[cuda_warp()] = wanted;
    __syncthreads();
    for (unsigned warp = 0; warp < TOUCH_WARPS; warp++)
        for (unsigned rest = shared->wanted[warp]; rest; rest &= rest - 1) {
            const unsigned touch = warp * CUDA_WARP + static_cast<unsigned>(__ffs(static_cast<int>(rest))) - 1;
            for (unsigned j = 0; j < 4; j++) {
                if (shared->vertex[j][touch] != static_cast<int32_t>(i)) continue;
                UNROLL_LOOP(c, PART<back>) sum->part[c] += shared->part[j][c][touch];
                if constexpr (back)
                    if (j < 2) UNROLL_LOOP(c, SLOPE) sum->slope[c] += shared->slope[c][touch];
            }
        }
    __syncthreads(); // the next group writes where all have read
}

// Forces into touching.sum; or adjoints into touch_sum, with values added to touch_values.
template <bool back> __global__ void touch_sums(SimDevicePacked a, SimBack b) {
    SHARED(SharedTouches<back>, shared);
    const SimTouching &t = a.packed.touching;
    const size_t vertices = a.packed.vertex_blocks * LANES, groups = (t.rows + CUDA_WARP - 1) / CUDA_WARP;
    BLOCK_LOOP(block, (vertices + TOUCH_THREADS - 1) / TOUCH_THREADS) {
        const size_t first = block * TOUCH_THREADS, i = first + threadIdx.x;
        TouchSum<back> sum = {};
        if (i < vertices) add_own<back>(t, a.point_of, i, &sum);
        for (size_t g = 0; g < groups; g += TOUCH_THREADS) {
            const size_t mine = g + threadIdx.x;
            const SimTouched range = mine < groups ? a.touched[mine] : SimTouched{INT32_MAX, -1};
            const bool here =
                range.low < static_cast<int64_t>(first + TOUCH_THREADS) && range.high >= static_cast<int64_t>(first);
            const unsigned chosen = __ballot_sync(WHOLE_WARP, here);
            if (cuda_lane() == 0) shared->groups[cuda_warp()] = chosen;
            __syncthreads();
            for (unsigned warp = 0; warp < TOUCH_WARPS; warp++)
                for (unsigned rest = shared->groups[warp]; rest; rest &= rest - 1) {
                    const unsigned bit = static_cast<unsigned>(__ffs(static_cast<int>(rest))) - 1;
                    add_group<back>(t, g + warp * CUDA_WARP + bit, first, i, shared, &sum);
                }
            __syncthreads(); // the next groups are written where all have read
        }
        if (i >= vertices) continue;
        if constexpr (!back) write_quad(t.sum, i, sum.part);
        else {
            write_record(b.touch_sum, i, sum.part, sum.part + 3);
            real *values = static_cast<real *>(b.touch_values) + i * SIM_QUAD;
            UNROLL_LOOP(c, SLOPE) values[c] += sum.slope[c];
        }
    }
}

// back: b.w is ready.
template <bool back>
static void launch_touches(Device *device, const SimDevicePacked *a, const void *state, const SimBack &b) {
    const SimTouching &t = a->packed.touching;
    const real *records = static_cast<const real *>(state), *w = static_cast<const real *>(b.w);
    if (!t.bodies) return;
    LAUNCH(device, cuda_blocks(t.bodies, 1), TREE_THREADS, 0, body_trees, t, records);
    LAUNCH(device, cuda_blocks(t.rows, TOUCH_THREADS), TOUCH_THREADS, 0, touches<back>, t, a->touched, records, w);
    LAUNCH(device, cuda_blocks(a->packed.vertex_blocks * LANES, TOUCH_THREADS), TOUCH_THREADS,
           sizeof(SharedTouches<back>), touch_sums<back>, *a, b);
}

} // namespace SIM_CUDA_SPACE
