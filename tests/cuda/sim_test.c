// SPDX-License-Identifier: Apache-2.0
// The simulator's kernels on the CPU's stand-in, with device memory out of the host's reach: every case of the table
// against the CPU, in several orders of threads; waits and launches; states that are not finite; a lack of memory.
#include "tests/cuda/devices.h"

#include "bench/sim_cases.h"
#include "device/sim_options.h"
#include "sim/device_backend.h"

static Devices open_both(void) {
    Devices b = devices_open("cpu:base", 1);
    cuda_on_cpu_guard(true);
    return b;
}

static void run(const SimCase *c, Device *device, SimPrecision precision, SimCaseRun *out) {
    const SimOptions options = sim_options_of(device, precision);
    Error err;
    if (sim_case_run(c, &options, out, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", c->name, err.text, cuda_on_cpu_report());
}

static void cases_agree(void **state) {
    (void)state;
    Devices b = open_both();
    for (size_t i = 0; i < sim_case_count; i++)
        for (SimPrecision p = SIM_F32; p <= SIM_F64; p++) {
            const SimCase *c = &sim_cases[i];
            const char *where = "";
            SimCaseRun expected, found, other;
            run(c, b.cpu, p, &expected);
            cuda_on_cpu_seed(0);
            run(c, b.gpu, p, &found);
            cuda_on_cpu_seed(i + 1);
            run(c, b.gpu, p, &other);
            const double error = sim_case_error(&expected, &found, &where);
            print_message("%s, %s: worst %.2e of %.0e (%s)\n", c->name, p == SIM_F64 ? "f64" : "f32", error,
                          c->allowed[p], where);
            if (!(error <= c->allowed[p])) fail_msg("%s: %s is off by %g", c->name, where, error);
            if (sim_case_error(&found, &other, &where) != 0 || found.growth != other.growth)
                fail_msg("%s: %s differs with the order of threads", c->name, where);
            assert_close(found.growth, expected.growth, 0, c->allowed[p]);
            sim_case_run_free(&expected);
            sim_case_run_free(&found);
            sim_case_run_free(&other);
        }
    devices_close(&b);
}

// A net of springs without controls: a step is two launches, and its adjoint two.
static SimCase net_of(size_t steps, size_t every) {
    SimCase c = sim_cases[0];
    c.steps = steps, c.every = every, c.control_every = 0;
    return c;
}

static void count(Device *device, size_t steps, size_t every, long *launches, long *waits) {
    const SimCase c = net_of(steps, every);
    SimCaseRun r;
    const long before[2] = {cuda_on_cpu_launches(), cuda_on_cpu_waits()};
    run(&c, device, SIM_F32, &r);
    *launches = cuda_on_cpu_launches() - before[0];
    *waits = cuda_on_cpu_waits() - before[1];
    sim_case_run_free(&r);
}

static void steps_do_not_wait(void **state) {
    (void)state;
    Devices b = open_both();
    long launches[2], waits[2];
    count(b.gpu, 10, 2, &launches[0], &waits[0]);
    count(b.gpu, 50, 2, &launches[1], &waits[1]);
    assert_int_equal(launches[1] - launches[0], 40 * 4);
    assert_int_equal(waits[1], waits[0]); // all frames come at once
    devices_close(&b);
}

// A net with one spring that explodes; frames before that are kept.
static Status exploding(SimScene *s, Error *err) {
    Status status = sim_scene_net(s, 4, err);
    if (status == STATUS_OK) s->values.of[SIM_SPRING_KE][5] = 1e18, s->values.of[SIM_VELOCITY][3 * 5] = 1;
    return status;
}

static void explode(Device *device, bool gradient, Error *err, size_t *frames) {
    const SimOptions options = sim_options_of(device, SIM_F32);
    double position[201 * 48] = {0};
    SimArrays arrays = {.row = 48, .position = position};
    SimScene scene;
    Sim *sim;
    assert_status_ok(exploding(&scene, err), *err);
    SimRun r = {.steps = 200, .every = 1, .position = scene.values.of[SIM_POSITION], .gradient = gradient};
    r.velocity = scene.values.of[SIM_VELOCITY], r.keep = sim_keep_arrays, r.context = &arrays;
    assert_status_ok(sim_open(&scene.model, &options, &sim, err), *err);
    assert_status_ok(sim_set(sim, &scene.values, err), *err);
    assert_int_equal(sim_rollout(sim, &r, err), STATUS_FAILED);
    for (*frames = 0; position[48 * *frames + 3] != 0;) ++*frames; // particle 1 is not at 0
    sim_close(sim);
    sim_scene_free(&scene);
}

static void what_is_not_finite_is_named(void **state) {
    (void)state;
    Devices b = open_both();
    Error cpu, gpu;
    size_t kept[2];
    for (int gradient = 0; gradient < 2; gradient++) {
        explode(b.cpu, gradient, &cpu, &kept[0]);
        explode(b.gpu, gradient, &gpu, &kept[1]);
        assert_string_equal(gpu.text, cpu.text);
        assert_non_null(strstr(gpu.text, "spring"));
        assert_int_equal(kept[0], kept[1]);
        assert_true(kept[0] > 1);
    }
    devices_close(&b);
}

static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    Devices b = open_both();
    const SimOptions options = sim_options_of(b.gpu, SIM_F32);
    for (size_t room = 1 << 10; room < 1 << 20; room *= 4) {
        SimCaseRun r;
        Error err;
        cuda_on_cpu_limit(room);
        Status status = sim_case_run(&sim_cases[sim_case_count - 1], &options, &r, &err);
        if (status != STATUS_OK) assert_non_null(strstr(err.text, "out of memory: "));
        assert_true(status != STATUS_OK || room > 1 << 16);
        sim_case_run_free(&r);
    }
    cuda_on_cpu_limit(SIZE_MAX);
    devices_close(&b);
}

static void a_lost_gpu_is_an_error(void **state) {
    (void)state;
    for (long after = 1; after < 240; after += 37) {
        Devices b = open_both();
        const SimOptions options = sim_options_of(b.gpu, SIM_F64);
        SimCaseRun r;
        Error err;
        cuda_on_cpu_lose(after);
        assert_status_error(sim_case_run(&sim_cases[6], &options, &r, &err), STATUS_FAILED, err, "CUDA: ");
        cuda_on_cpu_lose(-1);
        sim_case_run_free(&r);
        devices_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases_agree), cmocka_unit_test(steps_do_not_wait),
                                       cmocka_unit_test(what_is_not_finite_is_named),
                                       cmocka_unit_test(a_lack_of_memory_is_an_error),
                                       cmocka_unit_test(a_lost_gpu_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
