// SPDX-License-Identifier: Apache-2.0
// The preset `large` (2^17 particles, 16 rollout steps) trains in less than 80 GB, by the arenas' own count: it is
// taken at 1/128, 1/64 and 1/32 of the particles, abstract nodes and pixels, and prolonged.
#include "tests/test.h"

#include "bench/step_bench.h"
#include "device/room_video.h"

static double bytes_of(Device *device, size_t divisor, bool checkpoint) {
    StepShape shape = step_shapes[STEP_LARGE];
    RoomVideo room;
    Config config;
    StepBench bench;
    Error err = {0};
    assert_true(shape.checkpoint);
    shape.checkpoint = checkpoint;
    shape.N /= divisor;
    shape.M /= divisor;
    for (size_t d = divisor, turn = 0; d > 1; d /= 2, turn++) *(turn % 2 ? &shape.W : &shape.H) /= 2;
    assert_status_ok(step_bench_config(&shape, STEP_HIERARCHICAL, 1e6, &config, &err), err);
    assert_status_ok(room_video_make(&room, 2 + shape.rollout, shape.views, shape.H, shape.W, &err), err);
    assert_status_ok(step_bench(device, &config, &room.observation, MEASURE_STEP, 1, &bench, &err), err);
    assert_int_equal(bench.particles, shape.N);
    room_video_free(&room);
    return (double)(bench.tape_bytes + bench.scratch_bytes);
}

static void large_fits_80_gigabytes(void **state) {
    (void)state;
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu", 2, &device, &err), err);
    double few = bytes_of(device, 128, true), some = bytes_of(device, 64, true), most = bytes_of(device, 32, true);
    double kept = bytes_of(device, 128, false);
    printf("1/128, nothing run again: %.3f GB\n", kept * 1e-9);
    assert_true(kept > 2 * few); // what is kept must show in the count
    assert_true(some < 2.2 * few && most < 2.2 * some);
    // The peak lies now in one stage, now in another: the steeper of both lines is taken.
    double slope = fmax((most - some) / (1. / 32 - 1. / 64), (some - few) / (1. / 64 - 1. / 128));
    double whole = most + slope * (1 - 1. / 32);
    printf("large: %.1f GB beside parameters (%.3f, %.3f, %.3f GB at 1/128, 1/64, 1/32)\n", whole * 1e-9, few * 1e-9,
           some * 1e-9, most * 1e-9);
    assert_true(whole < 75e9); // 5 GB for the parameters, their moments, and what the driver takes
    device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_fits_80_gigabytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
