// SPDX-License-Identifier: Apache-2.0
// The loops of a plan as CUDA kernels, against the CPU's.
#include "tests/cuda/both.h"

#include "gnn/plan_ops.h"
#include "motion/flow_ops.h"
#include "nn/row_ops.h"

static const size_t COUNTS[] = {0, 1, 33, 257};

static void copies(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats x(both, floats(40 * 3, 1)), out(both, junk<float>(n * 5)), own(both, floats(n * 3, 2));
        Floats placed(both, junk<float>(3 * 520)), sum(both, junk<float>(n * 3));
        Integers index(both, integers(n, 1, 40, 3)), list(both, some(n, 520));
        auto gather = [&](Device *d) { return RowGatherArgs{n, 3, 5, 2, x.at(d), index.at(d), 0.5f, out.at(d)}; };
        assert_both(both, nn, row_gather, gather, &out);
        auto in_place = [&](Device *d) { return RowGatherArgs{n, 3, 3, 0, own.at(d), nullptr, -1, own.at(d)}; };
        assert_both(both, nn, row_gather, in_place, &own);
        auto scatter = [&](Device *d) { return PlanScatterArgs{n, list.at(d), own.at(d), placed.at(d)}; };
        assert_both(both, gnn, plan_scatter, scatter, &placed);
        auto add = [&](Device *d) { return RowAddArgs{3 * n, own.at(d), own.at(d), -0.3f, sum.at(d)}; };
        assert_both(both, nn, row_add, add, &sum);
        auto logit = [&](Device *d) { return PlanLogitArgs{3 * n, own.at(d), 0.3f, sum.at(d)}; };
        assert_both(both, gnn, plan_logit, logit, &sum);
    }
}

static void lists(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats value(both, floats(3 * 50, 1)), mean(both, junk<float>(3 * n)), pairs(both, junk<float>(3 * n * 3));
        Integers holes(both, integers(n, 9, 50, 2, 9)), full(both, integers(n, 9, 50, 3)),
            few(both, integers(n, 4, 9, 4, 3)), list(both, some(9, 50)), joined(both, junk<int32_t>(n * 13));
        auto mean_of = [&](Device *d) { return RowMeanArgs{n, 9, holes.at(d), value.at(d), mean.at(d)}; };
        assert_both(both, nn, row_mean, mean_of, &mean);
        auto pair = [&](Device *d) { return FlowPairPointsArgs{n, 9, 4, 3, full.at(d), value.at(d), 2, pairs.at(d)}; };
        assert_both(both, motion, flow_pair_points, pair, &pairs);
        auto join = [&](Device *d) { return PlanJoinArgs{n, 9, 4, holes.at(d), few.at(d), list.at(d), joined.at(d)}; };
        assert_both(both, gnn, plan_join, join, &joined);
    }
}

static void marks_and_counts(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats m(both, floats(n, 1)), mark(both, junk<float>(n * 4)), log_count(both, junk<float>(20 * 3));
        Integers index(both, integers(n, 5, 20, 2, 5)), count(both, junk<int32_t>(20));
        for (int flag = 0; flag < 3; flag++) {
            auto marks = [&](Device *d) {
                return PlanMarkArgs{n,        4,         flag ? size_t{2} : size_t{3}, flag == 2 ? m.at(d) : nullptr,
                                    flag > 0, mark.at(d)};
            };
            assert_both(both, gnn, plan_mark, marks, &mark);
        }
        auto counts = [&](Device *d) {
            return PlanCountArgs{{n, 5, 20, index.at(d), nullptr}, count.at(d), log_count.at(d), 3, 1};
        };
        assert_both(both, gnn, plan_count, counts, &count, &log_count);
    }
}

static void contacts(void **) {
    Both both;
    const size_t shapes[][3] = {{0, 4, 2}, {1, 0, 0}, {30, 32, 4}, {41, 70, 60}, {9, 3, 3}}; // nodes, looked, k
    for (auto &s : shapes) {
        Floats x(both, floats(3 * s[0], 1)), v(both, floats(3 * s[0], 2)), spin(both, floats(3 * s[0], 3));
        Integers near(both, integers(s[0], s[1], s[0], 4, s[1])), out(both, junk<int32_t>(s[0] * s[2]));
        auto make = [&](Device *d) {
            return PlanContactArgs{s[0], s[1], s[2], near.at(d), v.at(d), x.at(d), spin.at(d), 1, out.at(d)};
        };
        assert_both(both, gnn, plan_contact, make, &out);
    }
}

static void carry(void **) {
    Both both;
    const size_t shapes[][3] = {{0, 3, 5}, {1, 1, 1}, {300, 4, 17}, {900, 3, 2}, {5000, 1, 1}}; // groups, k, others
    for (auto &s : shapes) {
        Floats x(both, floats(3 * s[0], 1)), past(both, floats(3 * s[0], 2)), node(both, floats(3 * s[2], 3)),
            logit(both, floats(s[0] * s[1], 4, 4)), v(both, junk<float>(3 * s[2])), spin(both, junk<float>(3 * s[2]));
        Integers index(both, integers(s[0], s[1], s[2], 5, s[1] - 1));
        auto make = [&](Device *d) {
            return PlanCarryArgs{{s[0], s[1], s[2], index.at(d), nullptr},
                                 logit.at(d),
                                 x.at(d),
                                 past.at(d),
                                 node.at(d),
                                 1e-2f,
                                 v.at(d),
                                 spin.at(d)};
        };
        assert_both(both, gnn, plan_carry, make, &v, &spin);
    }
}

static void velocities(void **) {
    Both both;
    for (size_t n : COUNTS) {
        size_t nodes = 520;
        Floats g(both, floats(9 * n, 1)), spin(both, junk<float>(3 * nodes)), v(both, floats(3 * nodes, 2)),
            x(both, floats(3 * nodes, 3)), out(both, junk<float>(3 * nodes)), mean(both, floats(3 * n, 4)),
            extra(both, junk<float>(8 * nodes)), place(both, floats(3 * n, 5)), m(both, floats(nodes, 6)),
            turn(both, junk<float>(3 * nodes));
        Integers list(both, some(n, nodes)), to(both, integers(nodes, 6, nodes, 8, 6));
        auto spins = [&](Device *d) { return PlanSpinArgs{n, list.at(d), g.at(d), spin.at(d)}; };
        assert_both(both, gnn, plan_spin, spins, &spin);
        for (bool known : {false, true}) {
            auto extras = [&](Device *d) {
                return PlanExtraArgs{
                    n,     list.at(d), known ? mean.at(d) : nullptr, x.at(d), known ? v.at(d) : nullptr, 1, 0.2f,
                    0.05f, extra.at(d)};
            };
            assert_both(both, gnn, plan_extra, extras, &extra);
        }
        auto motion = [&](Device *d) {
            return PlanMotionArgs{n,           list.at(d), {nodes, 6, nodes, to.at(d), nullptr},
                                  place.at(d), x.at(d),    m.at(d),
                                  v.at(d),     g.at(d),    out.at(d),
                                  turn.at(d)};
        };
        if (n >= 200) assert_both(both, gnn, plan_motion, motion, &out, &turn); // g has a spin for every node
    }
}

// Neighbours in a ring whose motions differ at every `length`-th place; edges are listed by one of their two ends.
static void bodies(void **) {
    Both both;
    const size_t shapes[][2] = {{0, 1}, {1, 1}, {700, 700}, {700, 45}, {130, 1}};
    for (auto &s : shapes) {
        size_t n = s[0];
        std::vector<float> w(3 * n), x = floats(3 * n, 1);
        std::vector<int32_t> near(2 * n, -1);
        for (size_t i = 0; i < n; i++) {
            w[3 * i] = static_cast<float>(i / s[1]);
            size_t place = i * 9 % n, next = (i + 1) * 9 % n; // 9 and n have no common factor
            near[2 * place] = static_cast<int32_t>(next);
            std::swap(x[3 * place], x[3 * i]);
        }
        std::vector<float> placed(3 * n);
        for (size_t i = 0; i < n; i++) placed[3 * (i * 9 % n)] = w[3 * i];
        Floats where(both, x), moves(both, placed), turn(both, std::vector<float>(3 * n));
        Integers list(both, near), body(both, junk<int32_t>(n));
        auto make = [&](Device *d) {
            return PlanBodiesArgs{n, 2, list.at(d), where.at(d), moves.at(d), turn.at(d), 0.1f, body.at(d)};
        };
        assert_both(both, gnn, plan_bodies, make, &body);
        std::vector<int32_t> got = body.fetch();
        size_t roots = 0;
        for (size_t i = 0; i < n; i++) roots += got[i] == static_cast<int32_t>(i);
        assert_int_equal(roots, (n + s[1] - 1) / s[1]);
    }
}

// Bodies of every third, of which the row 0, 1 or 2 is the smallest.
static std::vector<int32_t> by_threes(size_t n) {
    std::vector<int32_t> body(n);
    for (size_t i = 0; i < n; i++) body[i] = static_cast<int32_t>(i % 3);
    return body;
}

static void sides(void **) {
    Both both;
    const size_t shapes[][2] = {{0, 5}, {1, 3}, {40, 31}, {200, 64}, {77, 40}}; // count, looked
    for (auto &s : shapes) {
        size_t n = s[0], looked = s[1];
        Integers near(both, integers(n, looked, n, 1, looked)), body(both, by_threes(n)), other(both, junk<int32_t>(n)),
            own(both, junk<int32_t>(n * 10));
        for (size_t fewest : {size_t{1}, n / 3 + 1}) {
            auto make = [&](Device *d) {
                return PlanSidesArgs{n, looked, 10, fewest, 3, near.at(d), body.at(d), other.at(d), own.at(d)};
            };
            assert_both(both, gnn, plan_sides, make, &other, &own);
        }
    }
}

static void meetings(void **) {
    Both both;
    const size_t shapes[][2] = {{0, 3}, {1, 3}, {30, 40}, {20, 900}}; // nodes, particles
    for (auto &s : shapes) {
        size_t n = s[1];
        Floats nodes(both, floats(3 * 64, 1)), x(both, floats(3 * n, 2)), w(both, floats(3 * n, 3, 0.1f)),
            target(both, floats(3 * 50, 4)), normal(both, floats(3 * 50, 5)), target_w(both, floats(3 * 50, 6, 0.1f)),
            own_target(both, floats(3 * n, 7)), own_normal(both, floats(3 * n, 8)), out(both, junk<float>(64 * 26));
        Integers list(both, some(s[0], 64)), row(both, integers(s[0], 1, n, 9)), body(both, by_threes(n)),
            meets(both, integers(n, 1, 50, 10, 1));
        for (int kind = 0; kind < 4; kind++) {
            auto make = [&](Device *d) {
                PlanMeetArgs a = {s[0],        n,          26,      13,      list.at(d), row.at(d),
                                  nodes.at(d), body.at(d), x.at(d), w.at(d), nullptr,    nullptr,
                                  nullptr,     nullptr,    0.2f,    0.05f,   0.5f,       out.at(d)};
                if (kind == 1) a.target = own_target.at(d), a.normal = own_normal.at(d), a.reach = INFINITY;
                if (kind > 1) a.target = target.at(d), a.normal = normal.at(d), a.meets = meets.at(d);
                if (kind > 2) a.target_w = target_w.at(d);
                return a;
            };
            assert_both(both, gnn, plan_meet, make, &out);
        }
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),   cmocka_unit_test(lists), cmocka_unit_test(marks_and_counts),
        cmocka_unit_test(contacts), cmocka_unit_test(carry), cmocka_unit_test(velocities),
        cmocka_unit_test(bodies),   cmocka_unit_test(sides), cmocka_unit_test(meetings),
        cmocka_unit_test(spread),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
