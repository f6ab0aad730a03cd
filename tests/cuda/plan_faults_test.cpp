// SPDX-License-Identifier: Apache-2.0
// Kernels of plans and flow compiled once more with a fault each: the comparison with the CPU and between orders of
// threads must catch it.
#include "tests/cuda/both.h"

#include "gnn/cuda/functions.h"
#include "gnn/plan.h"
#include "motion/cuda/functions.h"
#include "motion/flow_elements.h"
#include "nn/cuda/each_row.h"
#include "nn/cuda/sums.h"

#pragma push_macro("__syncthreads")
#undef __syncthreads
#define __syncthreads() ((void)0)
namespace no_barrier {
#include "gnn/cuda/plan.cu"
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

#define assert_caught(both, table, op, faulty, make, ...)                                                              \
    do {                                                                                                               \
        assert_both(both, table, op, make, __VA_ARGS__);                                                               \
        double off = run_both(both, (both).cpu->table->op, faulty, make, {__VA_ARGS__});                               \
        if (off <= 1e-5) fail_msg("%s is not caught", #faulty);                                                        \
    } while (0)

static void barriers_and_indices(void **) {
    Both both;
    const size_t n = 300, channels = 40;
    Floats h(both, floats(n * channels, 5)), out(both, junk<float>(1)), target(both, floats(3 * n, 3)),
        normal(both, floats(3 * n, 4));
    auto spread = [&](Device *d) { return PlanSpreadArgs{n, channels, h.at(d), out.at(d)}; };
    assert_caught(both, gnn, plan_spread, no_barrier::plan_spread_cuda, spread, &out);
    assert_caught(both, gnn, plan_spread, wrong_index::plan_spread_cuda, spread, &out);

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

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(barriers_and_indices)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
