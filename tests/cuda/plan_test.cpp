// SPDX-License-Identifier: Apache-2.0
// The loops of a plan as CUDA kernels, against the CPU's.
#include "tests/cuda/both.h"

#include "gnn/plan.h"
#include "motion/flow_ops.h"
#include "nn/row_ops.h"

#include <array>
#include <memory>

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
        Floats mark(both, junk<float>(n * 2)), more(both, junk<float>(2 * (n + 3))),
            log_count(both, junk<float>(20 * 2));
        Integers index(both, integers(n, 5, 20, 2, 5)), count(both, junk<int32_t>(20)), other(both, junk<int32_t>(20));
        auto marks = [&](Device *d) {
            return PlanRowsArgs{2, {n, n + 3}, {mark.at(d), more.at(d)}, 0, {}, {}, nullptr};
        };
        assert_both(both, gnn, plan_rows, marks, &mark, &more);
        Integers past(both, integers(n, 5, 20, 4, 5)), row(both, junk<int32_t>(10 * n)), start(both, junk<int32_t>(42));
        auto in_order = [&](Device *d) {
            return std::array<GnnEdges, 2>{{{n, 5, 20, past.at(d), nullptr, row.at(d), start.at(d)},
                                            {n, 5, 20, index.at(d), nullptr, row.at(d) + 5 * n, start.at(d) + 21}}};
        };
        EdgesOrderArgs order = {
            2, {in_order(both.gpu)[0], in_order(both.gpu)[1]}, row.at(both.gpu), start.at(both.gpu)};
        gnn_backend_cuda.edges_order(both.gpu, &order);
        auto counts = [&](Device *d) {
            auto edges = in_order(d);
            PlanRowsArgs args = marks(d);
            args.nodes = 20;
            args.edges[0] = edges[0], args.edges[1] = edges[1];
            args.count[0] = count.at(d), args.count[1] = other.at(d);
            args.log_count = log_count.at(d);
            return args;
        };
        assert_both(both, gnn, plan_rows, counts, &mark, &more, &count, &other, &log_count);
    }
}

// Rows of several edges at once: each edges' are sorted by their other ends, equal ones in their own order.
static void order_of_edges(void **) {
    Both both;
    for (size_t n : COUNTS)
        for (uint64_t seed = 0; seed < 3; seed++) {
            cuda_on_cpu_seed(seed);
            const size_t k[] = {5, 1, 3, 0}, others[] = {20, 0, 7, 4},
                         edges = 4; // with absent rows; all of them absent
            std::vector<std::vector<int32_t>> index;
            std::vector<std::unique_ptr<Integers>> on_gpu;
            EdgesOrderArgs args = {};
            args.count = edges;
            size_t rows = 0, starts = 0;
            for (size_t i = 0; i < edges; i++) {
                index.push_back(integers(n, k[i], others[i], 10 + static_cast<uint32_t>(i), i == 0 ? 5 : 0));
                on_gpu.push_back(std::make_unique<Integers>(both, index[i]));
                args.edges[i] = {n, k[i], others[i], on_gpu[i]->at(both.gpu), nullptr, nullptr, nullptr};
                rows += n * k[i];
                starts += others[i] + 1;
            }
            Integers row(both, junk<int32_t>(rows)), start(both, junk<int32_t>(starts));
            args.row = row.at(both.gpu), args.start = start.at(both.gpu);
            gnn_backend_cuda.edges_order(both.gpu, &args);
            std::vector<int32_t> got = row.fetch(), got_start = start.fetch(), want, want_start;
            for (size_t i = 0; i < edges; i++) {
                int32_t found = 0;
                for (size_t other = 0; other <= others[i]; other++) {
                    want_start.push_back(found);
                    for (size_t r = 0; r < n * k[i]; r++) {
                        bool here = index[i][r] < 0 ? other == others[i] : static_cast<size_t>(index[i][r]) == other;
                        if (here) want.push_back(static_cast<int32_t>(r)), found++;
                    }
                }
            }
            assert_true(got == want && got_start == want_start);
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
                                       cmocka_unit_test(marks_and_counts), cmocka_unit_test(order_of_edges),
                                       cmocka_unit_test(spread)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
