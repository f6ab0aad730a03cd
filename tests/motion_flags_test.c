// SPDX-License-Identifier: Apache-2.0
// Which points move (motion/flags.h): a block above a floor of which a part was uncovered, with errors of single
// pixels, against a naive search.
#include "base/random.h"
#include "motion/flags.h"
#include "tests/naive_plane.h"
#include "tests/test.h"

enum { FLOOR = 300, BLOCK = 100, POINTS = FLOOR + BLOCK, PLANE = 10, VOTERS = 16 };

typedef struct Points {
    size_t count;
    real position[3 * POINTS], colour[3 * POINTS], moving[POINTS];
} Points;

static double unit_random(uint32_t stream, size_t index) {
    return (double)random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST, .step = stream}, index);
}

static bool is_block(size_t i) { return i >= FLOOR; }

// Beside the block: floor that it left. Nothing of it was seen before.
static bool is_uncovered(const Points *p, size_t i) {
    double x = (double)p->position[3 * i] - 0.35, y = (double)p->position[3 * i + 1];
    return !is_block(i) && x * x + y * y < 0.2 * 0.2;
}

// A floor of 1.2 m, 2 mm rough, with a painted block of 0.3 m standing in the air; flags are those of the motion, but
// for what was uncovered, and the share `wrong` of all others.
static Points *make_points(double wrong) {
    Points *p = calloc(1, sizeof *p);
    p->count = POINTS;
    for (size_t i = 0; i < POINTS; i++) {
        bool block = is_block(i);
        for (size_t c = 0; c < 3; c++) {
            double x = unit_random(1, 3 * i + c);
            p->position[3 * i + c] = (real)(c < 2   ? (block ? 0.3 : 1.2) * (x - 0.5)
                                            : block ? 0.05 + 0.2 * x
                                                    : 0.004 * (x - 0.5));
            p->colour[3 * i + c] = (real)((block ? 0.5 : 0.3) + 0.1 * unit_random(2, 3 * i + c));
        }
        p->moving[i] = (real)(is_uncovered(p, i) || (unit_random(3, i) < wrong) != block);
    }
    return p;
}

static size_t count_moving(const Points *p) {
    size_t found = 0;
    for (size_t i = 0; i < p->count; i++) found += p->moving[i] > 0;
    return found;
}

// ---- the naive search

static double naive_distance(const Points *p, double lc, size_t a, size_t b) {
    double square = 0;
    for (size_t c = 0; c < 3; c++) {
        double x = (double)(p->position[3 * a + c] - p->position[3 * b + c]),
               look = lc * (double)(p->colour[3 * a + c] - p->colour[3 * b + c]);
        square += x * x + look * look;
    }
    return square;
}

// The up to k points nearest to i of all, or of those that stand; returns their number.
static size_t naive_nearest(const Points *p, double lc, size_t i, bool still_only, size_t k, size_t *out) {
    size_t found = 0;
    for (size_t j = 0; j < p->count; j++) {
        size_t place = found;
        if (still_only && p->moving[j] > 0) continue;
        while (place > 0 && naive_distance(p, lc, i, j) < naive_distance(p, lc, i, out[place - 1])) place--;
        if (place == k) continue;
        if (found < k) found++;
        for (size_t e = found - 1; e > place; e--) out[e] = out[e - 1];
        out[place] = j;
    }
    return found;
}

// Returns how many flags change.
static size_t naive_vote(const MotionOptions *c, Points *p, bool flagged_only) {
    Points *before = malloc(sizeof *before);
    size_t changes = 0;
    memcpy(before, p, sizeof *before);
    for (size_t i = 0; i < p->count; i++) {
        size_t near[64], votes = 0, k = naive_nearest(before, c->colour_length, i, false, c->vote, near);
        for (size_t e = 0; e < k; e++) votes += before->moving[near[e]] > 0;
        if (!flagged_only || before->moving[i] > 0) p->moving[i] = 2 * votes > k;
        changes += p->moving[i] != before->moving[i];
    }
    free(before);
    return changes;
}

static size_t naive_settle_on_planes(const MotionOptions *c, Points *p, double reach) {
    Points *before = malloc(sizeof *before);
    size_t changes = 0;
    memcpy(before, p, sizeof *before);
    for (size_t i = 0; i < p->count; i++) {
        size_t near[PLANE], k = naive_nearest(before, 0, i, true, PLANE, near);
        const real *places[PLANE];
        double mean[3], normal[3], d[3];
        if (!(before->moving[i] > 0) || k < 3) continue;
        for (size_t e = 0; e < k; e++) places[e] = before->position + 3 * near[e];
        naive_mean(places, k, mean);
        naive_normal(places, k, normal);
        for (size_t e = 0; e < 3; e++) d[e] = (double)before->position[3 * i + e] - mean[e];
        if (fabs(naive_dot(d, normal)) < c->moving_threshold && naive_length(d) < reach) p->moving[i] = 0, changes++;
    }
    free(before);
    return changes;
}

// Flags that each rule changes.
typedef struct Changes {
    size_t plane, vote, plane_again;
} Changes;

static Changes naive_settle(const MotionOptions *c, Points *p) {
    Changes changes = {.plane = naive_settle_on_planes(c, p, INFINITY)};
    changes.vote = naive_vote(c, p, false);
    changes.plane_again = naive_settle_on_planes(c, p, c->length_scale);
    return changes;
}

// ---- the filter

typedef struct Fixture {
    Device *device;
    Tape tape;
    MotionOptions options;
} Fixture;

static void setup(Fixture *f) {
    Error err = {0};
    *f = (Fixture){.options = {.moving_threshold = 0.005, .vote = VOTERS, .colour_length = 1, .length_scale = 0.1}};
    assert_status_ok(device_open("cpu", 2, &f->device, &err), err);
    tape_init(&f->tape, f->device);
}

static void teardown(Fixture *f) {
    Error err = {0};
    assert_status_ok(device_status(f->device, &err), err);
    assert_int_equal(f->tape.host.used, 0); // a cloud is large: nothing of it stays
    assert_int_equal(f->tape.memory.used, 0);
    assert_int_equal(f->device->scratch.used, 0);
    tape_free(&f->tape);
    device_close(f->device);
}

static void settle(Fixture *f, Points *p) {
    flags_settle(&f->tape, &f->options, p->count, p->position, p->colour, p->moving);
}

static void confirm(Fixture *f, Points *p) {
    PointCloud cloud = {.count = p->count, .position = p->position, .colour = p->colour, .moving = p->moving};
    flags_confirm(&f->tape, &f->options, &cloud);
}

static void assert_same_flags(const Points *a, const Points *b) {
    assert_memory_equal(a->moving, b->moving, a->count * sizeof *a->moving);
}

// Settles p, which must give what the naive search says.
static Changes settle_both_ways(Fixture *f, Points *p) {
    Points *naive = malloc(sizeof *naive);
    memcpy(naive, p, sizeof *naive);
    Changes changes = naive_settle(&f->options, naive);
    settle(f, p);
    assert_same_flags(p, naive);
    free(naive);
    return changes;
}

static void uncovered_floor_stands(void **state) {
    (void)state;
    Fixture f;
    Points *p = make_points(0), *voted = make_points(0);
    setup(&f);
    assert_true(count_moving(p) > BLOCK + 2 * VOTERS);
    Changes changes = settle_both_ways(&f, p);
    assert_true(changes.plane > 2 * VOTERS);
    for (size_t i = 0; i < p->count; i++) assert_true((p->moving[i] > 0) == is_block(i));
    // The planted difference: by a vote alone so much floor goes on moving.
    naive_vote(&f.options, voted, false);
    assert_true(count_moving(voted) > BLOCK + VOTERS);
    free(p);
    free(voted);
    teardown(&f);
}

// Depth hardly changes there.
static void the_flat_inside_of_a_body_moves(void **state) {
    (void)state;
    Fixture f;
    Points *p = make_points(0);
    size_t inside = 0;
    setup(&f);
    for (size_t i = FLOOR; i < POINTS; i++)
        if (p->position[3 * i] * p->position[3 * i] + p->position[3 * i + 1] * p->position[3 * i + 1] <
            (real)(0.05 * 0.05))
            p->moving[i] = 0, inside++;
    assert_true(inside >= 5);
    assert_true(settle_both_ways(&f, p).vote >= inside);
    for (size_t i = 0; i < p->count; i++) assert_true((p->moving[i] > 0) == is_block(i));
    free(p);
    teardown(&f);
}

// One flag in five is wrong: all three rules have something to do, and the last one looks nearby alone.
static void each_rule_is_as_it_is_written(void **state) {
    (void)state;
    Fixture f;
    setup(&f);
    Points *p = make_points(0.2), *far = make_points(0.2);
    Changes changes = settle_both_ways(&f, p);
    assert_true(changes.plane > 0 && changes.vote > 0 && changes.plane_again > 0);
    naive_settle_on_planes(&f.options, far, INFINITY);
    naive_vote(&f.options, far, false);
    assert_true(naive_settle_on_planes(&f.options, far, INFINITY) > changes.plane_again);
    teardown(&f);
    // The floor is as rough as the threshold.
    setup(&f);
    f.options.moving_threshold = 0.0015;
    free(p);
    p = make_points(0.2);
    assert_true(settle_both_ways(&f, p).plane < changes.plane);
    free(p);
    free(far);
    teardown(&f);
}

static void flags_of_a_cloud_are_confirmed_or_cleared(void **state) {
    (void)state;
    Fixture f;
    Points *p = make_points(0.15), *naive = make_points(0.15), *before = make_points(0.15);
    size_t kept = 0, cleared = 0;
    setup(&f);
    confirm(&f, p);
    naive_vote(&f.options, naive, true);
    assert_same_flags(p, naive);
    for (size_t i = 0; i < p->count; i++) {
        assert_true(p->moving[i] <= before->moving[i]); // none is set
        kept += p->moving[i] > 0;
        cleared += p->moving[i] < before->moving[i];
    }
    assert_true(kept > BLOCK / 2 && cleared > 10);
    free(p);
    free(naive);
    free(before);
    teardown(&f);
}

// Of all but the first `moving` points the flags are 0.
static void let_move(Points *p, size_t moving) {
    for (size_t i = 0; i < p->count; i++) p->moving[i] = i < moving;
}

static void thin_cases(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 9, 60, POINTS}, still[] = {0, 1, 2, 3, 5, 9};
    Fixture f;
    setup(&f);
    Points *p = make_points(0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        p->count = counts[i];
        let_move(p, p->count); // with nothing that stands there is no plane, and all agree
        settle_both_ways(&f, p);
        confirm(&f, p);
        assert_int_equal(count_moving(p), p->count);
        let_move(p, 0);
        settle_both_ways(&f, p);
        confirm(&f, p);
        assert_int_equal(count_moving(p), 0);
        // Fewer that stand than a plane has points; fewer than three have none.
        for (size_t j = 0; j < sizeof still / sizeof *still && still[j] <= p->count; j++) {
            let_move(p, p->count - still[j]);
            size_t planes = settle_both_ways(&f, p).plane;
            assert_true(still[j] >= 3 || planes == 0);
        }
    }
    free(p);
    teardown(&f);
}

static void without_voters_flags_stay(void **state) {
    (void)state;
    for (size_t vote = 0; vote < 2; vote++) {
        Fixture f;
        Points *p = make_points(0.15), *before = make_points(0.15);
        setup(&f);
        f.options.vote = vote;
        settle(&f, p);
        confirm(&f, p);
        assert_same_flags(p, before);
        free(p);
        free(before);
        teardown(&f);
    }
}

static void flags_become_bits_of_pixels(void **state) {
    (void)state;
    enum { COUNT = 5, BYTES = 3 };
    static int32_t pixel[COUNT] = {0, 7, 8, 19, 23};
    static const real moving[COUNT] = {1, 0, 1, 1, 0};
    real flags[COUNT], again[COUNT] = {0, 1, 0, 0, 1};
    uint8_t bits[BYTES] = {0};
    memcpy(flags, moving, sizeof flags);
    PointCloud cloud = {.count = COUNT, .moving = flags, .pixel = pixel};
    flags_pack(&cloud, bits);
    assert_true(bits[0] == 1 && bits[1] == 1 && bits[2] == 1 << 3);
    cloud.moving = again;
    flags_unpack(bits, &cloud);
    assert_memory_equal(again, moving, sizeof again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uncovered_floor_stands),
        cmocka_unit_test(the_flat_inside_of_a_body_moves),
        cmocka_unit_test(each_rule_is_as_it_is_written),
        cmocka_unit_test(flags_of_a_cloud_are_confirmed_or_cleared),
        cmocka_unit_test(thin_cases),
        cmocka_unit_test(without_voters_flags_stay),
        cmocka_unit_test(flags_become_bits_of_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
