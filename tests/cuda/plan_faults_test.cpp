// SPDX-License-Identifier: Apache-2.0
// Kernels of plans and flow compiled once more with a fault each: the comparison with the CPU and between orders of
// threads must catch it.
#include "tests/cuda/both.h"

#include "gnn/cuda/by_other.h"
#include "gnn/cuda/functions.h"
#include "gnn/plan_elements.h"
#include "motion/cuda/functions.h"
#include "motion/flow_elements.h"
#include "nn/cuda/each_row.h"
#include "nn/cuda/sums.h"

#pragma push_macro("__syncthreads")
#undef __syncthreads
#define __syncthreads() ((void)0)
namespace no_barrier {
#include "gnn/cuda/plan_bodies.cu"
} // namespace no_barrier
#pragma pop_macro("__syncthreads")

#pragma push_macro("__syncwarp")
#undef __syncwarp
#define __syncwarp() ((void)0)
namespace no_warp_barrier {
#include "motion/cuda/flow.cu"
} // namespace no_warp_barrier
#pragma pop_macro("__syncwarp")

namespace wrong_index {
#define cuda_lane() ((threadIdx.x + 1) % CUDA_WARP)
#include "gnn/cuda/plan.cu"
#undef cuda_lane
} // namespace wrong_index

namespace one_lane {
#define warp_sum(value) (value)
#include "gnn/cuda/plan_carry.cu"
#undef warp_sum
} // namespace one_lane

namespace lost_update {
#define atomicAdd(at, by) (*(at) = (by))
#define atomicMin(at, value) (*(at) = (value))
#include "gnn/cuda/plan_bodies.cu"
#undef atomicAdd
#undef atomicMin
} // namespace lost_update

#define assert_caught(both, table, op, faulty, make, ...)                                                              \
    do {                                                                                                               \
        assert_both(both, table, op, make, __VA_ARGS__);                                                               \
        double off = run_both(both, (both).cpu->table->op, faulty, make, {__VA_ARGS__});                               \
        if (off <= 1e-5) fail_msg("%s is not caught", #faulty);                                                        \
    } while (0)

static std::vector<int32_t> alternating(size_t n) {
    std::vector<int32_t> body(n);
    for (size_t i = 0; i < n; i++) body[i] = static_cast<int32_t>(i % 2);
    return body;
}

static void barriers_and_atomics(void **) {
    Both both;
    const size_t n = 300;
    Floats x(both, floats(3 * n, 1)), w(both, floats(3 * n, 2, 0.1f)), target(both, floats(3 * n, 3)),
        normal(both, floats(3 * n, 4)), nodes(both, floats(3 * 8, 5)), out(both, junk<float>(8 * 12));
    Integers list(both, some(8, 8)), row(both, some(8, 8)), body(both, alternating(n));
    auto meet = [&](Device *d) {
        return PlanMeetArgs{8,          n,       12,       0,        list.at(d),   row.at(d),    nodes.at(d),
                            body.at(d), x.at(d), w.at(d),  nullptr,  target.at(d), normal.at(d), nullptr,
                            0.2f,       0.05f,   INFINITY, out.at(d)};
    };
    assert_caught(both, gnn, plan_meet, no_barrier::plan_meet_cuda, meet, &out);
    assert_caught(both, gnn, plan_meet, lost_update::plan_meet_cuda, meet, &out);

    const size_t Q = 3, pairs = 40;
    Floats place(both, floats(3 * Q * pairs, 6)), distance2(both, std::vector<float>(Q * pairs, 0.01f)),
        centre(both, floats(3 * Q, 7)), motion(both, floats(RIGID_MOTION * Q, 8));
    Integers match(both, integers(Q * pairs, 1, n, 9));
    auto step = [&](Device *d) {
        return FlowStepArgs{{Q, pairs, place.at(d), match.at(d), distance2.at(d), target.at(d), normal.at(d), 0.3, 0.2},
                            0.02,
                            1e-4,
                            centre.at(d),
                            motion.at(d)};
    };
    assert_caught(both, motion, flow_step, no_warp_barrier::flow_step_cuda, step, &motion);
}

static void indices(void **) {
    Both both;
    const size_t n = 40, looked = 20, k = 6;
    Floats x(both, floats(3 * n, 1)), v(both, floats(3 * n, 2)), spin(both, floats(3 * n, 4));
    Integers near(both, integers(n, looked, n, 3)), out(both, junk<int32_t>(n * k));
    auto contact = [&](Device *d) {
        return PlanContactArgs{n, looked, k, near.at(d), v.at(d), x.at(d), spin.at(d), 1, out.at(d)};
    };
    assert_caught(both, gnn, plan_contact, wrong_index::plan_contact_cuda, contact, &out);
}

static void sums(void **) {
    Both both;
    const size_t n = 600;
    Floats x(both, floats(3 * n, 1)), past(both, floats(3 * n, 2)), node(both, floats(3 * 2, 3)),
        logit(both, floats(n, 4)), v(both, junk<float>(6)), spin(both, junk<float>(6));
    Integers index(both, integers(n, 1, 2, 5));
    auto carry = [&](Device *d) {
        return PlanCarryArgs{
            {n, 1, 2, index.at(d), nullptr}, logit.at(d), x.at(d), past.at(d), node.at(d), 1e-2f, v.at(d), spin.at(d)};
    };
    assert_caught(both, gnn, plan_carry, one_lane::plan_carry_cuda, carry, &v, &spin);

    Integers near(both, integers(n, 20, n, 6)), body(both, alternating(n)), other(both, junk<int32_t>(n)),
        own(both, junk<int32_t>(n * 10));
    auto sides = [&](Device *d) {
        return PlanSidesArgs{n, 20, 10, n / 2, 3, near.at(d), body.at(d), other.at(d), own.at(d)};
    };
    assert_caught(both, gnn, plan_sides, lost_update::plan_sides_cuda, sides, &other);
}

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(barriers_and_atomics), cmocka_unit_test(indices),
                                       cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
