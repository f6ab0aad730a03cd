// SPDX-License-Identifier: Apache-2.0
// The loops of scene flow as CUDA kernels, against the CPU's.
#include "tests/cuda/both.h"

#include "motion/flow_ops.h"
#include "motion/rigid.h"

static const size_t COUNTS[] = {0, 1, 33, 130};

// Small motions: turns that are nearly rotations, and shifts.
static std::vector<float> motions(size_t count) {
    std::vector<float> out = floats(RIGID_MOTION * count, 20, 0.1f);
    for (size_t i = 0; i < out.size(); i++)
        out[i] += static_cast<float>(i % RIGID_MOTION < 9 && i % RIGID_MOTION % 4 == 0);
    return out;
}

static std::vector<float> units(size_t count, uint32_t stream) {
    std::vector<float> out = floats(3 * count, stream);
    for (size_t i = 0; i < count; i++) {
        float *n = &out[3 * i], length = sqrtf(element_dot(n, n));
        for (size_t c = 0; c < 3; c++) n[c] /= length;
    }
    return out;
}

static void normals(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats x(both, floats(3 * 90, 1)), out(both, junk<float>(3 * n));
        Integers index(both, integers(n, 12, 90, 2, 9));
        auto make = [&](Device *d) { return FlowNormalsArgs{n, 12, index.at(d), x.at(d), out.at(d)}; };
        assert_both(both, motion, flow_normals, make, &out);
    }
}

static void motions_are_moved(void **) {
    Both both;
    for (size_t n : COUNTS) {
        Floats motion(both, motions(n)), centre(both, floats(3 * n, 1)), x(both, floats(9 * n, 2)),
            place(both, junk<float>(9 * n)), adopted(both, junk<float>(RIGID_MOTION * n)), u(both, junk<float>(3 * n)),
            g(both, junk<float>(9 * n));
        Integers of(both, integers(n, 2, n, 3));
        for (bool own : {false, true}) {
            auto places = [&](Device *d) {
                return FlowPlaceArgs{n,       3,          own ? nullptr : of.at(d), 2, motion.at(d), centre.at(d),
                                     x.at(d), place.at(d)};
            };
            assert_both(both, motion, flow_place, places, &place);
        }
        auto adopt = [&](Device *d) { return FlowAdoptArgs{n, of.at(d), centre.at(d), motion.at(d), adopted.at(d)}; };
        assert_both(both, motion, flow_adopt, adopt, &adopted);
        auto to_u = [&](Device *d) { return FlowMotionArgs{n, nullptr, motion.at(d), u.at(d), g.at(d)}; };
        assert_both(both, motion, flow_motion, to_u, &u, &g);
        auto from_u = [&](Device *d) { return FlowMotionArgs{n, centre.at(d), adopted.at(d), nullptr, nullptr}; };
        assert_both(both, motion, flow_motion, from_u, &adopted);
    }
}

static void registration(void **) {
    Both both;
    const size_t shapes[][2] = {{0, 64}, {1, 1}, {9, 31}, {5, 33}, {3, 64}}; // queries, pairs
    for (auto &s : shapes) {
        size_t Q = s[0], rows = Q * s[1];
        Floats place(both, floats(3 * rows, 1)), distance2(both, std::vector<float>(rows, 0.01f)),
            target(both, floats(3 * 80, 2)), normal(both, units(80, 3)), centre(both, floats(3 * Q, 4, 0.2f)),
            motion(both, motions(Q)), best(both, floats(Q, 5, 0.05f));
        Integers match(both, integers(rows, 1, 80, 6)), of(both, integers(Q, 4, Q, 7)), chosen(both, junk<int32_t>(Q));
        auto pairs = [&](Device *d) {
            return FlowPairs{Q, s[1], place.at(d), match.at(d), distance2.at(d), target.at(d), normal.at(d), 0.3, 0.2};
        };
        auto step = [&](Device *d) { return FlowStepArgs{pairs(d), 0.02, 1e-4, centre.at(d), motion.at(d)}; };
        assert_both(both, motion, flow_step, step, &motion);
        auto vote = [&](Device *d) { return FlowVoteArgs{pairs(d), of.at(d) + 1, 4, best.at(d), chosen.at(d)}; };
        assert_both(both, motion, flow_vote, vote, &best, &chosen);
    }
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normals),
        cmocka_unit_test(motions_are_moved),
        cmocka_unit_test(registration),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
