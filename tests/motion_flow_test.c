// SPDX-License-Identifier: Apache-2.0
// Scene flow without correspondences: it finds how a painted box moved and turned over a floor that stands, also when
// its shading changed; its loops against naive ones.
#include "motion/flow.h"

#include "base/random.h"
#include "motion/backend.h"
#include "motion/flow_ops.h"
#include "motion/rigid.h"
#include "tests/test.h"

enum { BODY = 1500, FLOOR = 900, POINTS = BODY + FLOOR, QUERIES = 40 };
static const double COLOUR_LENGTH = 1, EXTENT = 2, SHIFT[3] = {0.06, -0.03, 0.02}, HALF[3] = {0.12, 0.1, 0.08};
static const double TURN[3] = {0.07, 0.14, 0.14}; // 12 degrees

static double noise(uint32_t stream, size_t index) {
    return 2 * (double)random_uniform((RandomKey){.seed = 4, .purpose = RANDOM_TEST, .step = stream}, index) - 1;
}

// The motion of a turn vector and a shift about the origin.
static void motion_make(const double *turn, const double *shift, real *motion) {
    double step[6] = {turn[0], turn[1], turn[2], shift[0], shift[1], shift[2]};
    for (size_t c = 0; c < RIGID_MOTION; c++) motion[c] = c < 9 && c % 4 == 0;
    rigid_compose(step, motion);
}

// A box, then a floor below it that stands still.
typedef struct Cloud {
    real x[3 * POINTS], c[3 * POINTS];
} Cloud;

static void body_point(uint32_t stream, size_t i, const real *motion, double shade, real *x, real *c) {
    static const real origin[3] = {0};
    double side = noise(stream, 3 * i + i % 3) < 0 ? -1 : 1;
    real place[3];
    for (size_t d = 0; d < 3; d++) {
        double on = d == i % 3 ? side : noise(stream, 3 * i + d);
        place[d] = (real)(HALF[d] * on);
        c[d] = (real)(0.5 + 0.3 * sin(3 * on + (double)d) + (i % 3 == 0 ? shade * side : 0));
    }
    rigid_place(motion, origin, place, x);
}

// Points are drawn anew for each cloud: there are no correspondences. `shade` brightens one side of the box and darkens
// the one across.
static void cloud_make(Cloud *cloud, uint32_t stream, bool moved, double shade) {
    static const double none[3] = {0};
    real motion[RIGID_MOTION];
    motion_make(moved ? TURN : none, moved ? SHIFT : none, motion);
    for (size_t i = 0; i < POINTS; i++) {
        if (i < BODY) {
            body_point(stream, i, motion, shade, cloud->x + 3 * i, cloud->c + 3 * i);
            continue;
        }
        for (size_t c = 0; c < 3; c++) {
            cloud->x[3 * i + c] = (real)(c == 2 ? -0.2 : 0.5 * noise(stream, 3 * i + c));
            cloud->c[3 * i + c] = (real)(0.2 + 0.1 * (double)c);
        }
    }
}

static FlowPoints first_points(const Cloud *cloud, size_t count) { return (FlowPoints){count, cloud->x, cloud->c}; }

static Device *open_device(int threads) {
    Error err = {0};
    Device *device = NULL;
    assert_status_ok(device_open("cpu", threads, &device, &err), err);
    return device;
}

// Flow at the box's first points and its gradient.
typedef struct Found {
    real u[3 * QUERIES], g[9 * QUERIES];
} Found;

static FlowArgs flow_args(const Cloud *from, const Cloud *to, size_t movers, Found *found) {
    return (FlowArgs){.queries = first_points(from, QUERIES),
                      .from = first_points(from, POINTS),
                      .to = first_points(to, POINTS),
                      .from_moving = first_points(from, movers),
                      .to_moving = first_points(to, movers),
                      .colour_length = (real)COLOUR_LENGTH,
                      .extent = (real)EXTENT,
                      .u = found->u,
                      .g = found->g};
}

static void measure(Device *device, const Cloud *from, const Cloud *to, size_t movers, Found *found) {
    FlowArgs args = flow_args(from, to, movers, found);
    memset(found, 0, sizeof *found);
    flow_between(device, &args);
}

// Mean distance of the flow from how the box moved, and of its gradient from the box's turn less 1.
static void mean_errors(const Cloud *from, const Found *found, double *u_error, double *g_error) {
    static const real origin[3] = {0};
    real motion[RIGID_MOTION], place[3];
    motion_make(TURN, SHIFT, motion);
    *u_error = *g_error = 0;
    for (size_t q = 0; q < QUERIES; q++) {
        double u2 = 0, g2 = 0;
        rigid_place(motion, origin, from->x + 3 * q, place);
        for (size_t c = 0; c < 3; c++) u2 += pow((double)(from->x[3 * q + c] + found->u[3 * q + c] - place[c]), 2);
        for (size_t c = 0; c < 9; c++) g2 += pow((double)(found->g[9 * q + c] - motion[c]) + (c % 4 == 0), 2);
        *u_error += sqrt(u2) / QUERIES;
        *g_error += sqrt(g2) / QUERIES;
    }
}

static void a_body_that_moves_and_turns_is_followed(void **state) {
    (void)state;
    static Cloud from, to;
    static Found found;
    Device *device = open_device(2);
    double u, g, means[2];
    for (int shaded = 0; shaded < 2; shaded++) {
        cloud_make(&from, 1, false, 0);
        cloud_make(&to, 2, true, shaded * 0.1);
        measure(device, &from, &to, 0, &found); // nothing to register
        mean_errors(&from, &found, &means[shaded], &g);
        measure(device, &from, &to, BODY, &found);
        mean_errors(&from, &found, &u, &g);
        print_message("7 cm and 12 degrees%s: off by %.1f mm by means, %.2f mm and %.4f by registration\n",
                      shaded ? ", shaded anew" : "", 1e3 * means[shaded], 1e3 * u, g);
        // Points lie 13 mm apart, and planes of 10 of them cut the edges; a turn off by .03 moves the box's sides by 3
        // mm.
        assert_true(u < 0.003 && g < 0.03);
        assert_true(u < 0.2 * means[shaded]);
    }
    // The planted error: a body that stayed.
    measure(device, &from, &from, BODY, &found);
    mean_errors(&from, &found, &u, &g);
    assert_true(u > 0.06 && g > 0.2);
    device_close(device);
}

static void too_few_moving_points_register_nothing(void **state) {
    (void)state;
    static Cloud from, to;
    static Found plain, few, enough;
    Device *device = open_device(1);
    cloud_make(&from, 1, false, 0);
    cloud_make(&to, 2, true, 0.1);
    measure(device, &from, &to, 0, &plain);
    measure(device, &from, &to, 7, &few);
    measure(device, &from, &to, 8, &enough);
    assert_memory_equal(&plain, &few, sizeof plain); // g is 0
    assert_memory_not_equal(plain.u, enough.u, sizeof plain.u);
    for (size_t i = 0; i < 3 * QUERIES; i++) assert_true(isfinite(enough.u[i]));
    for (size_t i = 0; i < 9 * QUERIES; i++) assert_true(isfinite(enough.g[i]));
    device_close(device);
}

// Distances whose squares overflow: nothing fits, nobody is chosen, and all the same nothing but numbers comes out.
static void points_that_are_too_far_do_no_harm(void **state) {
    (void)state;
    static Cloud from, to;
    static Found found;
    Device *device = open_device(2);
    cloud_make(&from, 1, false, 0);
    cloud_make(&to, 2, true, 0);
    for (int power = 6; power <= 24; power += 6) {
        for (size_t i = 0; i < 3 * BODY; i++) to.x[i] = (real)(pow(10, power) * noise(3, i));
        measure(device, &from, &to, BODY, &found);
        for (size_t i = 0; i < 3 * QUERIES; i++) assert_true(isfinite(found.u[i]));
        for (size_t i = 0; i < 9 * QUERIES; i++) assert_true(isfinite(found.g[i]));
    }
    device_close(device);
}

static void threads_agree_and_nothing_is_no_flow(void **state) {
    (void)state;
    static Cloud from, to;
    static Found all, again, threads, one;
    Device *device = open_device(1), *three = open_device(3);
    cloud_make(&from, 1, false, 0);
    cloud_make(&to, 2, true, 0.1);
    measure(device, &from, &to, BODY, &all);
    measure(device, &from, &to, BODY, &again);
    measure(three, &from, &to, BODY, &threads);
    assert_memory_equal(&all, &again, sizeof all);
    assert_memory_equal(&all, &threads, sizeof all);
    // Means know nothing of other queries; one alone has nobody to learn from in elections, and follows the box all the
    // same.
    FlowArgs args = flow_args(&from, &to, 0, &one);
    measure(device, &from, &to, 0, &all);
    args.queries.count = 1;
    flow_between(device, &args);
    assert_memory_equal(all.u, one.u, 3 * sizeof *one.u);
    args = flow_args(&from, &to, BODY, &one);
    args.queries.count = 1;
    flow_between(device, &args);
    real motion[RIGID_MOTION], place[3];
    motion_make(TURN, SHIFT, motion);
    rigid_place(motion, (const real[3]){0}, from.x, place);
    for (size_t c = 0; c < 3; c++) assert_close(from.x[c] + one.u[c], place[c], 0.006, 0); // twice the mean above
    args.queries.count = 0;                                                                // writes nothing
    args.u = args.g = NULL;
    flow_between(device, &args);
    // Empty clouds: no flow.
    for (int empty = 0; empty < 2; empty++) {
        args = flow_args(&from, &to, BODY, &one);
        *(empty ? &args.to : &args.from) = (FlowPoints){0};
        one.u[1] = one.g[4] = 1;
        flow_between(device, &args);
        for (size_t i = 0; i < 3 * QUERIES; i++) assert_true(one.u[i] == 0);
        for (size_t i = 0; i < 9 * QUERIES; i++) assert_true(one.g[i] == 0);
    }
    Error err = {0};
    assert_status_ok(device_status(device, &err), err);
    device_close(three);
    device_close(device);
}

// ---- the loops

static void normals_of_a_plane_are_its_normal(void **state) {
    (void)state;
    enum { COUNT = 30, K = 6 };
    const double normal[3] = {2.0 / 3, -1.0 / 3, 2.0 / 3},
                 across[2][3] = {{1 / sqrt(5), 2 / sqrt(5), 0}, {4 / sqrt(45), -2 / sqrt(45), -5 / sqrt(45)}};
    real x[3 * COUNT], out[3 * COUNT];
    int32_t index[COUNT * K];
    for (size_t i = 0; i < COUNT; i++)
        for (size_t c = 0; c < 3; c++)
            x[3 * i + c] =
                (real)(noise(11, 2 * i) * across[0][c] + noise(11, 2 * i + 1) * across[1][c] + 3 * normal[c]);
    for (size_t i = 0; i < COUNT * K; i++) index[i] = (int32_t)((i / K + i % K * 7) % COUNT);
    Device *device = open_device(1);
    device->motion->flow_normals(device, &(FlowNormalsArgs){COUNT, K, index, x, out});
    for (size_t i = 0; i < COUNT; i++) {
        double along = 0;
        for (size_t c = 0; c < 3; c++) along += (double)out[3 * i + c] * normal[c];
        assert_close(fabs(along), 1, 1e-6, 0); // either way round
    }
    device_close(device);
}

// Pairs of points that are known: steps bring a motion to where they are, about a centre that is not the origin.
static void steps_find_a_known_motion(void **state) {
    (void)state;
    enum { PAIRS = 40 };
    const double turn[3] = {0.3, -0.2, 0.4}, shift[3] = {0.1, 0.2, -0.1};
    const real centre[3] = {1, -2, 3};
    real x[3 * PAIRS], target[3 * PAIRS], place[3 * PAIRS], normal[3 * PAIRS],
        distance2[PAIRS] = {0}, known[RIGID_MOTION], motion[RIGID_MOTION];
    int32_t match[PAIRS];
    motion_make(turn, shift, known);
    motion_make((const double[3]){0}, (const double[3]){0}, motion);
    for (size_t j = 0; j < PAIRS; j++) {
        double d[3] = {noise(12, 3 * j), noise(12, 3 * j + 1), noise(12, 3 * j + 2)},
               length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (size_t c = 0; c < 3; c++) {
            x[3 * j + c] = centre[c] + (real)noise(13, 3 * j + c);
            normal[3 * j + c] = (real)(d[c] / length);
        }
        rigid_place(known, centre, x + 3 * j, target + 3 * j);
        match[j] = (int32_t)j;
    }
    Device *device = open_device(1);
    for (int i = 0; i < 8; i++) {
        FlowPlaceArgs to = {1, PAIRS, NULL, 0, motion, centre, x, place};
        FlowStepArgs step = {{1, PAIRS, place, match, distance2, target, normal, 1, 1}, 0.02, 1e-12, centre, motion};
        device->motion->flow_place(device, &to);
        device->motion->flow_step(device, &step);
    }
    for (size_t c = 0; c < RIGID_MOTION; c++)
        assert_close(motion[c], known[c], 1e-5, 0); // places of size 4 in single precision
    // A turn of its own size comes back from its matrix, and inverse turns undo each other.
    rigid_compose((const double[6]){-turn[0], -turn[1], -turn[2], -shift[0], -shift[1], -shift[2]}, known);
    for (size_t c = 0; c < RIGID_MOTION; c++) assert_close(known[c], c < 9 && c % 4 == 0, 1e-6, 0);
    device_close(device);
}

static void votes_and_adoptions_are_the_naive_ones(void **state) {
    (void)state;
    enum { Q = 6, PAIRS = 5, TARGETS = 9, CANDIDATES = 3 };
    real place[3 * Q * PAIRS], target[3 * TARGETS], normal[3 * TARGETS], distance2[Q * PAIRS],
        best[Q] = {0}, centre[3 * Q], motion[RIGID_MOTION * Q], adopted[RIGID_MOTION * Q], naive[Q] = {0};
    int32_t match[Q * PAIRS], of[Q * CANDIDATES], chosen[Q], wanted[Q];
    Device *device = open_device(2);
    for (size_t i = 0; i < 3 * TARGETS; i++) target[i] = (real)noise(14, i), normal[i] = (real)noise(15, i);
    for (size_t i = 0; i < Q * CANDIDATES; i++) of[i] = (int32_t)((i / CANDIDATES + i % CANDIDATES) % Q);
    for (size_t i = 0; i < 3 * Q; i++) centre[i] = (real)noise(16, i);
    for (size_t q = 0; q < Q; q++)
        motion_make((const double[3]){noise(17, q), noise(18, q), noise(19, q)}, (const double[3]){noise(20, q), 0, 0},
                    motion + RIGID_MOTION * q);
    for (size_t e = 0; e < CANDIDATES; e++) {
        for (size_t i = 0; i < 3 * Q * PAIRS; i++) place[i] = (real)noise(21 + (uint32_t)e, i);
        for (size_t i = 0; i < Q * PAIRS; i++) {
            match[i] = (int32_t)((i * 5 + e) % TARGETS);
            distance2[i] = (real)(2 + noise(31 + (uint32_t)e, i));
        }
        FlowVoteArgs vote = {
            {Q, PAIRS, place, match, distance2, target, normal, 0.5, 2}, of + e, CANDIDATES, best, chosen};
        device->motion->flow_vote(device, &vote);
        for (size_t q = 0; q < Q; q++) {
            double fit = 0;
            for (size_t j = q * PAIRS; j < (q + 1) * PAIRS; j++) {
                const real *n = normal + 3 * match[j], *to = target + 3 * match[j];
                double plane = 0;
                for (size_t c = 0; c < 3; c++) plane += (double)n[c] * (double)(to[c] - place[3 * j + c]);
                fit += 1 / (1 + plane * plane / 0.25 + (double)distance2[j] / 4) / PAIRS;
            }
            if (!(fit > (double)naive[q])) continue;
            naive[q] = (real)fit;
            wanted[q] = of[q * CANDIDATES + e];
        }
    }
    for (size_t q = 0; q < Q; q++) assert_close(best[q], naive[q], 1e-6, 0); // roundings of single precision
    assert_memory_equal(chosen, wanted, sizeof wanted);
    // What a query adopts puts points where its owner put them.
    device->motion->flow_adopt(device, &(FlowAdoptArgs){Q, chosen, centre, motion, adopted});
    for (size_t q = 0; q < Q; q++) {
        real own[3], other[3];
        size_t from = (size_t)chosen[q];
        rigid_place(adopted + RIGID_MOTION * q, centre + 3 * q, target, own);
        rigid_place(motion + RIGID_MOTION * from, centre + 3 * from, target, other);
        for (size_t c = 0; c < 3; c++) assert_close(own[c], other[c], 1e-6, 0);
    }
    device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_that_moves_and_turns_is_followed),
        cmocka_unit_test(too_few_moving_points_register_nothing),
        cmocka_unit_test(points_that_are_too_far_do_no_harm),
        cmocka_unit_test(threads_agree_and_nothing_is_no_flow),
        cmocka_unit_test(normals_of_a_plane_are_its_normal),
        cmocka_unit_test(steps_find_a_known_motion),
        cmocka_unit_test(votes_and_adoptions_are_the_naive_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
