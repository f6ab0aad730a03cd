// SPDX-License-Identifier: Apache-2.0
// Training steps of whole models: captured and launched again they come to the same bits, and the host waits for the
// device at their end alone.
#include "tests/test.h"

#include "bench/selftest.h"
#include "bench/selftest_model.h"
#include "bench/step_bench.h"
#include "device/room_video.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

static void see(void *context, const SelfTestResult *r) {
    (void)context;
    if (r->failed) print_error("%s %s: worst %.2e of %.0e: %s\n", r->part, r->name, r->worst, r->allowed, r->where);
}

static DeviceReplay check_graph(const char *graph, Precision precision) {
    SelfTest test = {.steps = 5, .model = graph, .report = see, .precision = precision};
    Error err = {0};
    assert_status_ok(cuda_on_cpu_open(&test.device, &err), err);
    cuda_on_cpu_guard(true);
    Status status = selftest_replays(&test, &err);
    cuda_on_cpu_guard(false);
    assert_status_ok(status, err);
    assert_int_equal(test.failed, 0);
    DeviceReplay replay = test.device->replay;
    device_close(test.device);
    return replay;
}

// Every part of the steps without lists that the host makes is captured once and then launched.
static void graphs_without_lists_of_the_host(void **state) {
    (void)state;
    static const Precision precisions[] = {PRECISION_F32, PRECISION_BF16};
    for (size_t i = 0; i < 2; i++) {
        DeviceReplay r = check_graph("hierarchical", precisions[i]);
        assert_true(r.captured > 5);
        assert_int_equal(r.launched, 3 * r.captured);
        assert_int_equal(r.otherwise, 0);
    }
}

static void bodies(void **state) {
    (void)state;
    assert_true(check_graph("bodies", PRECISION_F32).launched > 10);
}

static void a_step_waits_at_its_end(void **state) {
    (void)state;
    enum { T = 2, ROLLOUT = 2, VIEWS = 2, SIDE = 16, STEPS = 3 };
    static const StepShape shape = {"test", 64, 12, VIEWS, SIDE, SIDE, ROLLOUT, 24, 0.15, false};
    static const char *const narrow[] = {"model.C=16", "gnn.L=1", "encoder.widths=[8, 16]", "renderer.widths=[8, 8]"};
    Device *device = NULL;
    RoomVideo room;
    Config config;
    SelfTestModel model;
    Error err = {0};
    assert_status_ok(room_video_make(&room, T + ROLLOUT, VIEWS, SIDE, SIDE, &err), err);
    assert_status_ok(step_bench_config(&shape, STEP_HIERARCHICAL, 1024, &config, &err), err);
    assert_status_ok(config_set(&config, 4, narrow, &err), err);
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    assert_status_ok(selftest_open_model(&model, device, &config, &room.observation, &err), err);
    for (int step = 0; step < STEPS; step++) {
        double loss;
        long before = cuda_on_cpu_waits();
        assert_status_ok(selftest_gradient(&model, &room.observation, step, &loss, &err), err);
        assert_int_equal(cuda_on_cpu_waits() - before, 1); // for the loss
        assert_status_ok(selftest_update(&model, step, &err), err);
        assert_int_equal(cuda_on_cpu_waits() - before, 2); // for the gradient's norm
    }
    selftest_close_model(&model);
    device_close(device);
    room_video_free(&room);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_without_lists_of_the_host), cmocka_unit_test(bodies),
                                       cmocka_unit_test(a_step_waits_at_its_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
