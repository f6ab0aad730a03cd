// SPDX-License-Identifier: Apache-2.0
// Scene flow without correspondences: it finds how a coloured body moved over a floor that stands, better with closest
// points when its shading changed; and its two loops against naive ones.
#include "gnn/flow.h"

#include "base/random.h"
#include "gnn/backend.h"
#include "gnn/plan_ops.h"
#include "tests/test.h"

enum { BODY = 600, FLOOR = 900, POINTS = BODY + FLOOR, QUERIES = 40 };
static const double COLOUR_LENGTH = 0.5, SHIFT[3] = {0.06, -0.03, 0.02};

static double noise(uint32_t stream, size_t index) {
    return 2 * (double)random_uniform((RandomKey){.seed = 4, .purpose = RANDOM_TEST, .step = stream}, index) - 1;
}

// A ball of radius .12 m, then a floor below it that stands still.
typedef struct Cloud {
    real x[3 * POINTS], c[3 * POINTS];
} Cloud;

// Points are drawn anew for each cloud: there are no correspondences. `shade` darkens the side of the ball that faces
// +x.
static void cloud_make(Cloud *cloud, uint32_t stream, double moved, double shade) {
    for (size_t i = 0; i < POINTS; i++) {
        double d[3] = {noise(stream, 3 * i), noise(stream, 3 * i + 1), noise(stream, 3 * i + 2)};
        double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (size_t c = 0; c < 3; c++) {
            bool body = i < BODY;
            double floor = c == 2 ? -0.2 : 0.5 * d[c], ball = 0.12 * d[c] / length + moved * SHIFT[c];
            double paint = 0.5 + 0.25 * sin(9 * d[c] / length + (double)c), ground = 0.2 + 0.1 * (double)c;
            cloud->x[3 * i + c] = (real)(body ? ball : floor);
            cloud->c[3 * i + c] = (real)(body ? paint + shade * d[0] / length : ground);
        }
    }
}

static GnnPoints first_points(const Cloud *cloud, size_t count) { return (GnnPoints){count, cloud->x, cloud->c}; }

static Device *open_device(int threads) {
    Error err = {0};
    Device *device = NULL;
    assert_status_ok(device_open("cpu", threads, &device, &err), err);
    return device;
}

// Mean distance of the flow at the ball's first points from how it moved.
static double mean_error(Device *device, const Cloud *from, const Cloud *to, size_t movers, long refine, real *u) {
    FlowArgs args = {.queries = first_points(from, QUERIES),
                     .from = first_points(from, POINTS),
                     .to = first_points(to, POINTS),
                     .from_moving = first_points(from, movers),
                     .to_moving = first_points(to, movers),
                     .colour_length = (real)COLOUR_LENGTH,
                     .refine = refine,
                     .u = u};
    double sum = 0;
    flow_between(device, &args);
    for (size_t q = 0; q < QUERIES; q++) {
        double square = 0;
        for (size_t c = 0; c < 3; c++) square += pow((double)u[3 * q + c] - SHIFT[c], 2);
        sum += sqrt(square);
    }
    return sum / QUERIES;
}

static void a_body_that_moves_is_followed(void **state) {
    (void)state;
    static Cloud from, same, shaded;
    real u[3 * QUERIES];
    Device *device = open_device(2);
    cloud_make(&from, 1, 0, 0);
    cloud_make(&same, 2, 1, 0);
    cloud_make(&shaded, 2, 1, 0.15);
    double plain[2] = {mean_error(device, &from, &same, BODY, 0, u), mean_error(device, &from, &shaded, BODY, 0, u)};
    double refined[2] = {mean_error(device, &from, &same, BODY, 4, u), mean_error(device, &from, &shaded, BODY, 4, u)};
    print_message("error of 7 cm: %.1f mm, refined %.1f mm; shaded anew: %.1f mm, refined %.1f mm\n", 1e3 * plain[0],
                  1e3 * refined[0], 1e3 * plain[1], 1e3 * refined[1]);
    assert_true(plain[0] < 0.04 && refined[0] < 0.005); // points lie 2 cm apart
    assert_true(refined[1] < 0.7 * plain[1]);
    // The planted error: a body that stayed.
    assert_true(mean_error(device, &from, &from, BODY, 4, u) > 0.06);
    device_close(device);
}

static void too_few_moving_points_refine_nothing(void **state) {
    (void)state;
    static Cloud from, to;
    real plain[3 * QUERIES], few[3 * QUERIES], enough[3 * QUERIES];
    Device *device = open_device(1);
    cloud_make(&from, 1, 0, 0);
    cloud_make(&to, 2, 1, 0.15);
    mean_error(device, &from, &to, 0, 0, plain);
    mean_error(device, &from, &to, 7, 4, few);
    mean_error(device, &from, &to, 8, 4, enough);
    assert_memory_equal(plain, few, sizeof plain);
    assert_memory_not_equal(plain, enough, sizeof plain);
    for (size_t i = 0; i < 3 * QUERIES; i++) assert_true(isfinite(enough[i]));
    device_close(device);
}

static void threads_and_numbers_of_queries_agree(void **state) {
    (void)state;
    static Cloud from, to;
    real all[3 * QUERIES], again[3 * QUERIES], one[3], field[3];
    Device *device = open_device(1), *threads = open_device(3);
    cloud_make(&from, 1, 0, 0);
    cloud_make(&to, 2, 1, 0.15);
    mean_error(device, &from, &to, BODY, 4, all);
    mean_error(threads, &from, &to, BODY, 4, again);
    assert_memory_equal(all, again, sizeof all);
    FlowArgs args = {.queries = first_points(&from, 1),
                     .from = first_points(&from, POINTS),
                     .to = first_points(&to, POINTS),
                     .from_moving = first_points(&from, BODY),
                     .to_moving = first_points(&to, BODY),
                     .colour_length = (real)COLOUR_LENGTH,
                     .refine = 4,
                     .u = one};
    flow_between(device, &args);
    assert_memory_equal(all, one, sizeof one);
    args.queries.count = 0; // writes nothing
    args.u = NULL;
    flow_between(device, &args);
    // Empty clouds: no flow.
    args = (FlowArgs){.queries = first_points(&from, 1), .from = first_points(&from, POINTS), .refine = 4, .u = one};
    flow_between(device, &args);
    assert_true(one[0] == 0 && one[1] == 0 && one[2] == 0);
    args.to = args.from;
    args.from.count = 0;
    one[1] = 1;
    flow_between(device, &args);
    assert_true(one[0] == 0 && one[1] == 0 && one[2] == 0);
    // A field at its own point is the mean over the 4 nearest; one of no points is 0.
    GnnPoints queries = first_points(&from, 1), four = first_points(&from, 4), none = {0};
    flow_at(device, &four, all, &queries, (real)COLOUR_LENGTH, 4, field);
    for (size_t c = 0; c < 3; c++) {
        double mean = 0;
        for (size_t i = 0; i < 4; i++) mean += (double)all[3 * i + c] / 4;
        assert_close(field[c], mean, 1e-6, 0); // four roundings of a few centimetres
    }
    flow_at(device, &none, all, &queries, (real)COLOUR_LENGTH, 4, field);
    assert_true(field[0] == 0 && field[1] == 0 && field[2] == 0);
    Error err = {0};
    assert_status_ok(device_status(device, &err), err);
    device_close(threads);
    device_close(device);
}

// ---- the loops

static void the_trimmed_mean_is_the_naive_one(void **state) {
    (void)state;
    enum { Q = 20, PAIRS = PLAN_MAX_PAIRS, KEPT = 44, TARGETS = 30 };
    static real start[3 * Q * PAIRS], target[3 * TARGETS], distance2[Q * PAIRS], out[3 * Q];
    static int32_t match[Q * PAIRS];
    for (size_t i = 0; i < 3 * Q * PAIRS; i++) start[i] = (real)noise(5, i);
    for (size_t i = 0; i < 3 * TARGETS; i++) target[i] = (real)noise(6, i);
    for (size_t i = 0; i < Q * PAIRS; i++) {
        distance2[i] = (real)(i * 7919 % 13); // 13 values: most pairs are tied
        match[i] = (int32_t)(i * 31 % TARGETS);
    }
    Device *device = open_device(2);
    device->gnn->plan_trimmed_mean(device,
                                   &(PlanTrimmedMeanArgs){Q, PAIRS, KEPT, start, target, match, distance2, out});
    for (size_t q = 0; q < Q; q++) {
        double sum[3] = {0};
        size_t kept = 0;
        for (size_t j = 0; j < PAIRS; j++) {
            size_t before = 0, own = q * PAIRS + j;
            for (size_t i = 0; i < PAIRS; i++) {
                size_t other = q * PAIRS + i;
                before += distance2[other] < distance2[own] || (distance2[other] == distance2[own] && i < j);
            }
            if (before >= KEPT) continue;
            kept++;
            for (size_t c = 0; c < 3; c++) sum[c] += (double)(target[3 * match[own] + (int)c] - start[3 * own + c]);
        }
        assert_int_equal(kept, KEPT);
        // Sums of 44 numbers of order 1 in single precision.
        for (size_t c = 0; c < 3; c++) assert_close(out[3 * q + c], sum[c] / KEPT, 1e-5, 0);
    }
    device_close(device);
}

static void contacts_are_the_first_that_move_otherwise(void **state) {
    (void)state;
    enum { NODES = 9, LOOKED = 6, K = 3 };
    int32_t near[NODES * LOOKED], out[NODES * K];
    real v[3 * NODES] = {0};
    for (size_t a = 0; a < NODES; a++) v[3 * a + a % 3] = (real)(a / 3); // three at rest, three at 1, three at 2
    for (size_t a = 0; a < NODES; a++)
        for (size_t j = 0; j < LOOKED; j++) near[a * LOOKED + j] = (int32_t)((a + 1 + j) % NODES);
    near[2] = -1; // nothing behind the end of a list
    Device *device = open_device(1);
    device->gnn->plan_contact(device, &(PlanContactArgs){NODES, LOOKED, K, near, v, 1, out});
    for (size_t a = 0; a < NODES; a++) {
        size_t found = 0;
        for (size_t j = 0; j < LOOKED && near[a * LOOKED + j] >= 0 && found < K; j++) {
            const real *other = v + 3 * near[a * LOOKED + j], *own = v + 3 * a;
            double square = 0;
            for (size_t c = 0; c < 3; c++) square += pow((double)other[c] - (double)own[c], 2);
            if (square >= 1) assert_int_equal(out[a * K + found++], near[a * LOOKED + j]); // exactly 1 counts
        }
        for (; found < K; found++) assert_int_equal(out[a * K + found], -1);
    }
    assert_int_equal(out[0], -1); // its first two are at rest as it is
    assert_int_equal(out[1 * K], 3);
    device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_that_moves_is_followed),
        cmocka_unit_test(too_few_moving_points_refine_nothing),
        cmocka_unit_test(threads_and_numbers_of_queries_agree),
        cmocka_unit_test(the_trimmed_mean_is_the_naive_one),
        cmocka_unit_test(contacts_are_the_first_that_move_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
