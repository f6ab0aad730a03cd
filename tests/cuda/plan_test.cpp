// SPDX-License-Identifier: Apache-2.0
// The loops of a plan as CUDA kernels, against the CPU's.
#include "tests/cuda/both.h"

#include "gnn/plan.h"
#include "motion/flow_ops.h"
#include "nn/row_ops.h"

static const size_t COUNTS[] = {0, 1, 33, 257};

static void copies(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats x(both, floats(40 * 3, 1)), out(both, junk<float>(n * 5)), own(both, floats(n * 3, 2));
        Floats sum(both, junk<float>(n * 3));
        Integers index(both, integers(n, 1, 40, 3));
        auto gather = [&](Device *d) { return RowGatherArgs{n, 3, 5, 2, x.at(d), index.at(d), 0.5f, out.at(d)}; };
        assert_both(both, nn, row_gather, gather, &out);
        auto in_place = [&](Device *d) { return RowGatherArgs{n, 3, 3, 0, own.at(d), nullptr, -1, own.at(d)}; };
        assert_both(both, nn, row_gather, in_place, &own);
        auto add = [&](Device *d) { return RowAddArgs{3 * n, own.at(d), own.at(d), -0.3f, sum.at(d)}; };
        assert_both(both, nn, row_add, add, &sum);
    }
}

static void lists(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats value(both, floats(3 * 50, 1)), mean(both, junk<float>(3 * n)), pairs(both, junk<float>(3 * n * 3));
        Integers holes(both, integers(n, 9, 50, 2, 9)), full(both, integers(n, 9, 50, 3));
        auto mean_of = [&](Device *d) { return RowMeanArgs{n, 9, holes.at(d), value.at(d), mean.at(d)}; };
        assert_both(both, nn, row_mean, mean_of, &mean);
        auto pair = [&](Device *d) { return FlowPairPointsArgs{n, 9, 4, 3, full.at(d), value.at(d), 2, pairs.at(d)}; };
        assert_both(both, motion, flow_pair_points, pair, &pairs);
    }
}

static void marks_and_counts(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats mark(both, junk<float>(n * 4)), log_count(both, junk<float>(20 * 3));
        Integers index(both, integers(n, 5, 20, 2, 5)), count(both, junk<int32_t>(20));
        auto marks = [&](Device *d) { return PlanMarkArgs{n, 4, 2, mark.at(d)}; };
        assert_both(both, gnn, plan_mark, marks, &mark);
        auto counts = [&](Device *d) {
            return PlanCountArgs{{n, 5, 20, index.at(d), nullptr}, count.at(d), log_count.at(d), 3, 1};
        };
        assert_both(both, gnn, plan_count, counts, &count, &log_count);
    }
}

static void spread(void **) {
    Both both;
    const size_t shapes[][2] = {{0, 5}, {1, 1}, {33, 40}, {400, 128}, {7, 0}}; // nodes, channels
    for (auto &s : shapes) {
        Floats h(both, floats(s[0] * s[1], 1)), out(both, junk<float>(1));
        auto make = [&](Device *d) { return PlanSpreadArgs{s[0], s[1], h.at(d), out.at(d)}; };
        assert_both(both, gnn, plan_spread, make, &out);
    }
}

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies), cmocka_unit_test(lists),
                                       cmocka_unit_test(marks_and_counts), cmocka_unit_test(spread)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
