// SPDX-License-Identifier: Apache-2.0
#include "tests/test.h"

#include "files/half.h"
#include "train/schedule.h"

static const TrainConfig config = {.steps = 101,
                                   .warmup = 10,
                                   .rate = 1e-3,
                                   .rate_end = 1e-4,
                                   .rollout = {3, {3, 6, 12}},
                                   .rollout_from = {3, {0, 0.5, 0.9}}};

static void rate_warms_up_then_follows_a_cosine(void **state) {
    (void)state;
    // Double arithmetic on values near 1e-3: 1e-15 is a few units in the last place.
    assert_close(schedule_rate(&config, 0), 1e-4, 1e-15, 0);
    assert_close(schedule_rate(&config, 4), 5e-4, 1e-15, 0);
    assert_close(schedule_rate(&config, 9), 1e-3, 1e-15, 0);
    assert_close(schedule_rate(&config, 10), 1e-3, 1e-15, 0);
    assert_close(schedule_rate(&config, 55), 5.5e-4, 1e-15, 0);
    // A third of the way: cos(pi/3) = 1/2, so a quarter of the fall is done.
    assert_close(schedule_rate(&config, 40), 1e-4 + 9e-4 * 0.75, 1e-15, 0);
    assert_close(schedule_rate(&config, 100), 1e-4, 1e-15, 0);
    assert_close(schedule_rate(&config, 1000), 1e-4, 1e-15, 0);
}

static void rate_of_odd_schedules(void **state) {
    (void)state;
    TrainConfig odd = config;
    odd.warmup = 0;
    assert_close(schedule_rate(&odd, 0), 1e-3, 1e-15, 0);
    odd.warmup = 1000; // longer than the run: it never gets to the top
    assert_close(schedule_rate(&odd, 99), 1e-4, 1e-15, 0);
    odd.steps = 0;
    odd.warmup = 0;
    assert_close(schedule_rate(&odd, 0), 1e-3, 1e-15, 0);
}

static void rollout_grows(void **state) {
    (void)state;
    TrainConfig even = config;
    even.steps = 100;
    const long steps[] = {0, 49, 50, 89, 90, 99}, lengths[] = {3, 3, 6, 6, 12, 12};
    for (int i = 0; i < 6; i++) assert_int_equal(schedule_rollout(&even, steps[i]), lengths[i]);
    assert_int_equal(schedule_longest_rollout(&even), 12);
}

static void each_phase_has_its_whole_schedule(void **state) {
    (void)state;
    TrainConfig two = config;
    two.motion_steps = 101;
    two.steps = 202;
    for (long step = 0; step < 101; step++) {
        assert_true(schedule_rate(&two, step) == schedule_rate(&config, step));
        assert_true(schedule_rate(&two, 101 + step) == schedule_rate(&config, step));
        assert_int_equal(schedule_rollout(&two, 101 + step), schedule_rollout(&config, step));
        assert_int_equal(schedule_phase_step(&two, 101 + step), step);
        assert_true(!schedule_has_images(&two, step) && schedule_has_images(&two, 101 + step));
    }
    two.motion_steps = 1000; // longer than the run: motion alone, to its end
    two.steps = 101;
    for (long step = 0; step < 101; step++) assert_true(schedule_rate(&two, step) == schedule_rate(&config, step));
    assert_false(schedule_has_images(&two, 100));
}

static void half_known_values(void **state) {
    (void)state;
    static const struct {
        float value;
        uint16_t bits;
    } known[] = {{0, 0},
                 {-0.0f, 0x8000},
                 {1, 0x3C00},
                 {-2, 0xC000},
                 {65504, 0x7BFF},
                 {65519.996f, 0x7BFF},
                 {65520, 0x7C00},
                 {INFINITY, 0x7C00},
                 {0x1p-14f, 0x0400},
                 {0x1p-24f, 0x0001},
                 {0x1p-25f, 0},
                 {0x1.8p-25f, 0x0001},
                 {0x1.ff8p-15f, 0x03FF},
                 {0x1.ffep-15f, 0x0400},
                 {1 + 0x1p-11f, 0x3C00},
                 {1 + 0x1.8p-10f, 0x3C02},
                 {0.1f, 0x2E66}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(half_from_float(known[i].value), known[i].bits);
    assert_true(isnan(half_to_float(half_from_float(NAN))));
}

static void half_keeps_every_half(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 65536; bits++) {
        float value = half_to_float((uint16_t)bits);
        if (isnan(value)) continue;
        assert_int_equal(half_from_float(value), bits);
    }
}

// The nearest of all halves, found by looking at the two neighbours of the answer.
static void half_rounds_to_the_nearest(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 200000; i++) {
        float value = ldexpf(1 + (float)(i * 2654435761u >> 9) * 0x1p-23f, (int)(i % 40) - 26);
        uint16_t bits = half_from_float(value);
        if (value >= 65520) continue;
        double error = fabs((double)half_to_float(bits) - value);
        assert_true(error <= fabs((double)half_to_float((uint16_t)(bits + 1)) - value));
        if (bits) assert_true(error <= fabs((double)half_to_float((uint16_t)(bits - 1)) - value));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_warms_up_then_follows_a_cosine),
        cmocka_unit_test(rate_of_odd_schedules),
        cmocka_unit_test(rollout_grows),
        cmocka_unit_test(each_phase_has_its_whole_schedule),
        cmocka_unit_test(half_known_values),
        cmocka_unit_test(half_keeps_every_half),
        cmocka_unit_test(half_rounds_to_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
