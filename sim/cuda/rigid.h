// SPDX-License-Identifier: Apache-2.0
// Rigid bodies, a block each: threads go through its particles, sums are of warps and then over warps in order, and one
// thread moves the body. Part of sim/cuda/phases.h.
namespace SIM_CUDA_SPACE {

constexpr unsigned RIGID_THREADS = 128, RIGID_WARPS = RIGID_THREADS / CUDA_WARP, RIGID_SUMS = 18;

struct SharedRigid {
    SimRigidBody body;
    double sums[RIGID_WARPS][RIGID_SUMS];
};

// Adds the numbers FIRST .. LAST-1 of each thread's struct of doubles to those of `out`, which all threads share. The
// whole block takes part.
template <unsigned FIRST, unsigned LAST, class T>
static __device__ inline void add_block(const T &mine, SharedRigid *shared, T *out) {
    static_assert(LAST - FIRST <= RIGID_SUMS, "room for the sums");
    double all[sizeof(T) / sizeof(double)];
    memcpy(all, &mine, sizeof mine);
    UNROLL_LOOP(k, LAST - FIRST) {
        const double sum = warp_sum(all[FIRST + k]);
        if (cuda_lane() == 0) shared->sums[cuda_warp()][k] = sum;
    }
    __syncthreads();
    if (threadIdx.x < LAST - FIRST) {
        double *to = reinterpret_cast<double *>(out) + FIRST + threadIdx.x;
        UNROLL_LOOP(warp, RIGID_WARPS) *to += shared->sums[warp][threadIdx.x];
    }
    __syncthreads();
}

// What the body does in a step from this state.
static __device__ inline void move_body(const SimPacked &p, const SimRigid &rigid, const void *state, const void *total,
                                        SharedRigid *shared) {
    const size_t first = static_cast<size_t>(rigid.vertex), count = static_cast<size_t>(rigid.vertices);
    SimRigidBody *body = &shared->body;
    SimRigidSums mine = zeros<SimRigidSums>();
    __syncthreads(); // all have read the last body
    if (threadIdx.x == 0) body->sums = zeros<SimRigidSums>();
    THREAD_LOOP(i, count) sim_rigid_sum_place(&p, state, first + i, &mine);
    add_block<0, 7>(mine, shared, &body->sums); // mass, centre, velocity
    if (threadIdx.x == 0) sim_rigid_middle(&body->sums);
    __syncthreads();
    THREAD_LOOP(i, count) sim_rigid_sum_turn(&p, body, state, total, first + i, &mine);
    add_block<7, 25>(mine, shared, &body->sums); // second, spin, force, torque
    if (threadIdx.x == 0) sim_rigid_step(&p, &rigid, body);
    __syncthreads();
}

static __global__ void rigid_step(SimDevicePacked a, SimStep step, unsigned long long number) {
    SHARED(SharedRigid, shared);
    if (*a.bad_step < number) return;
    BLOCK_LOOP(r, a.packed.rigids) {
        const SimRigid rigid = a.packed.rigid[r];
        const size_t first = static_cast<size_t>(rigid.vertex), count = static_cast<size_t>(rigid.vertices);
        bool good = true;
        move_body(a.packed, rigid, step.state, step.total, shared);
        THREAD_LOOP(i, count) good &= sim_rigid_write(&shared->body, &step, first + i);
        if (!good) atomicMin(a.bad_step, number);
    }
}

// `adjoint` and `w` of a rigid body's vertices are ready then, less what planes do.
static __global__ void rigid_back(SimDevicePacked a, SimBack b) {
    SHARED(SharedRigid, shared);
    SimRigidBody *body = &shared->body;
    const SimPacked &p = a.packed;
    BLOCK_LOOP(r, p.rigids) {
        const SimRigid rigid = p.rigid[r];
        const size_t first = static_cast<size_t>(rigid.vertex), count = static_cast<size_t>(rigid.vertices);
        SimRigidBack mine = zeros<SimRigidBack>();
        double most = 0;
        move_body(p, rigid, b.state, b.total, shared);
        if (threadIdx.x == 0) body->back = mine;
        THREAD_LOOP(i, count) most = fmax(most, sim_rigid_sum_back(&p, &b, body, first + i, &mine));
        add_block<0, 18>(mine, shared, &body->back); // centre, velocity, turn, rate
        if (threadIdx.x == 0) sim_rigid_step_back(&p, &b, &rigid, body);
        __syncthreads();
        mine = zeros<SimRigidBack>();
        THREAD_LOOP(i, count) sim_rigid_sum_arms(&p, &b, body, first + i, &mine);
        add_block<0, 6>(mine, shared, &body->back); // centre, velocity
        THREAD_LOOP(i, count) sim_rigid_write_back(&p, &b, body, first + i);
        note_growth(a, most);
    }
}

} // namespace SIM_CUDA_SPACE
