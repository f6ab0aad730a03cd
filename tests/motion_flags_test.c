// SPDX-License-Identifier: Apache-2.0
// Which points move (motion/flags.h): a block above a floor of which a part was uncovered, with errors of single
// pixels, against a naive search.
#include "base/random.h"
#include "motion/flags.h"
#include "tests/test.h"

enum { FLOOR = 300, BLOCK = 100, POINTS = FLOOR + BLOCK };
static const double COLOUR_LENGTH = 1;

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

static double naive_distance(const Points *p, size_t a, size_t b) {
    double square = 0;
    for (size_t c = 0; c < 3; c++) {
        double x = (double)(p->position[3 * a + c] - p->position[3 * b + c]),
               look = COLOUR_LENGTH * (double)(p->colour[3 * a + c] - p->colour[3 * b + c]);
        square += x * x + look * look;
    }
    return square;
}

// The points nearest to i, FLAG_VOTERS if there are so many; returns their number.
static size_t naive_nearest(const Points *p, size_t i, size_t *out) {
    size_t found = 0;
    for (size_t j = 0; j < p->count; j++) {
        size_t place = found;
        while (place > 0 && naive_distance(p, i, j) < naive_distance(p, i, out[place - 1])) place--;
        if (place == FLAG_VOTERS) continue;
        if (found < FLAG_VOTERS) found++;
        for (size_t e = found - 1; e > place; e--) out[e] = out[e - 1];
        out[place] = j;
    }
    return found;
}

// Flags that most of the nearest points do not have are cleared.
static void naive_vote(Points *p) {
    Points *before = malloc(sizeof *before);
    memcpy(before, p, sizeof *before);
    for (size_t i = 0; i < p->count; i++) {
        size_t near[FLAG_VOTERS], votes = 0, k = naive_nearest(before, i, near);
        for (size_t e = 0; e < k; e++) votes += before->moving[near[e]] > 0;
        if (before->moving[i] > 0) p->moving[i] = 2 * votes > k;
    }
    free(before);
}

// ---- the filter

typedef struct Fixture {
    Device *device;
    Tape tape;
} Fixture;

static void setup(Fixture *f) {
    Error err = {0};
    *f = (Fixture){0};
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

static void confirm(Fixture *f, Points *p) {
    PointCloud cloud = {.count = p->count, .position = p->position, .colour = p->colour, .moving = p->moving};
    flags_confirm(&f->tape, COLOUR_LENGTH, &cloud);
}

static void assert_same_flags(const Points *a, const Points *b) {
    assert_memory_equal(a->moving, b->moving, a->count * sizeof *a->moving);
}

static void flags_of_a_cloud_are_confirmed_or_cleared(void **state) {
    (void)state;
    Fixture f;
    Points *p = make_points(0.15), *naive = make_points(0.15), *before = make_points(0.15);
    size_t kept = 0, cleared = 0;
    setup(&f);
    confirm(&f, p);
    naive_vote(naive);
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
    static const size_t counts[] = {0, 1, 2, 9, 60, POINTS};
    Fixture f;
    setup(&f);
    Points *p = make_points(0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        p->count = counts[i];
        let_move(p, p->count);
        confirm(&f, p);
        assert_int_equal(count_moving(p), p->count);
        let_move(p, 0);
        confirm(&f, p);
        assert_int_equal(count_moving(p), 0);
    }
    free(p);
    teardown(&f);
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
        cmocka_unit_test(flags_of_a_cloud_are_confirmed_or_cleared),
        cmocka_unit_test(thin_cases),
        cmocka_unit_test(flags_become_bits_of_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
