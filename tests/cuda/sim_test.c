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

static const SimCase *case_of(const char *name) {
    for (size_t i = 0; i < sim_case_count; i++)
        if (!strcmp(sim_cases[i].name, name)) return &sim_cases[i];
    fail_msg("no case %s", name);
    return NULL;
}

// Without controls.
static void count(Device *device, const char *name, size_t steps, size_t every, long *launches, long *waits) {
    SimCase c = *case_of(name);
    SimCaseRun r;
    c.steps = steps, c.every = every, c.control_every = 0, c.memory_mib = 0;
    const long before[2] = {cuda_on_cpu_launches(), cuda_on_cpu_waits()};
    run(&c, device, SIM_F32, &r);
    *launches = cuda_on_cpu_launches() - before[0];
    *waits = cuda_on_cpu_waits() - before[1];
    sim_case_run_free(&r);
}

// A step is a launch for the vertices, one for each kind of element, three where bodies meet and one where some are
// rigid; so is its adjoint.
static void steps_do_not_wait(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int launches;
    } expected[] = {{"springs", 2}, {"bodies that meet", 6}, {"rigid bodies that meet", 7}};
    Devices b = open_both();
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        long launches[2], waits[2];
        count(b.gpu, expected[i].name, 10, 2, &launches[0], &waits[0]);
        count(b.gpu, expected[i].name, 50, 2, &launches[1], &waits[1]);
        assert_int_equal(launches[1] - launches[0], 40 * 2 * expected[i].launches);
        assert_int_equal(waits[1], waits[0]); // all frames come at once
    }
    devices_close(&b);
}

// A fine cloth on one side of a cube: the same two faces are touched by more particles than a block looks through at
// once.
static Status fine_cloth(SimScene *s, Error *err) {
    static const SimSceneBody bodies[] = {{.cells = {1, 1, 1}, .at = {0, -0.056, 0}},
                                          {.cells = {69, 0, 69}, .cell = {0.0015, 0, 0.0015}}};
    return sim_scene_bodies(s, bodies, 2, 0.007, err);
}

// The velocity along y of a particle at the end.
static double agree(const SimCase *c, size_t particle) {
    Devices b = open_both();
    double velocity = NAN;
    for (SimPrecision p = SIM_F32; p <= SIM_F64; p++) {
        const char *where = "";
        SimCaseRun expected, found;
        run(c, b.cpu, p, &expected);
        cuda_on_cpu_seed(p);
        run(c, b.gpu, p, &found);
        const double error = sim_case_error(&expected, &found, &where);
        print_message("%s: worst %.2e of %.0e (%s)\n", c->name, error, c->allowed[p], where);
        assert_true(error <= c->allowed[p]);
        const size_t frames = sim_frames(&expected.run);
        velocity = expected.frames[3 * ((2 * frames - 1) * expected.scene.model.particles + particle) + 1];
        sim_case_run_free(&expected);
        sim_case_run_free(&found);
    }
    devices_close(&b);
    return velocity;
}

static void a_face_has_many_particles(void **state) {
    (void)state;
    const SimCase c = {"a fine cloth on a cube", fine_cloth, 3, 1, 0, 0, {1e-3, 1e-11}};
    assert_true(agree(&c, 2) < -0.5); // a corner that is pushed down
}

// Alone, without gravity, planes and elements; of so many particles that threads of its block have several.
static Status tumbling(SimScene *s, Error *err) {
    static const SimSceneBody body = {
        .cells = {7, 4, 9}, .at = {0.4, 0.2, -0.3}, .spin = {0.1, 9, 0.3}, .velocity = {1, 2, -0.5}, .rigid = true};
    return sim_scene_bodies(s, &body, 1, 0, err);
}

static void a_rigid_body_tumbles(void **state) {
    (void)state;
    const SimCase c = {"a rigid body", tumbling, 200, 50, 0, 0, {1e-3, 1e-11}};
    assert_true(fabs(agree(&c, 0) - 2) > 0.01); // it turns
}

// One spring explodes; frames before that are kept.
static Status exploding_net(SimScene *s, Error *err) {
    Status status = sim_scene_net(s, 4, err);
    if (status == STATUS_OK) s->values.of[SIM_SPRING_KE][5] = 1e18, s->values.of[SIM_VELOCITY][3 * 5] = 1;
    return status;
}

static Status exploding_cloth(SimScene *s, Error *err) {
    static const SimSceneBody bodies[] = {{.cells = {1, 1, 1}, .at = {0, -0.054, 0}}, {.cells = {2, 0, 2}}};
    Status status = sim_scene_bodies(s, bodies, 2, 0.006, err);
    if (status == STATUS_OK) s->values.of[SIM_SPRING_KE][5] = 1e18, s->values.of[SIM_VELOCITY][3 * 12] = 1;
    return status;
}

// Between two stiff planes.
static Status exploding_block(SimScene *s, Error *err) {
    static const SimSceneBody body = {.cells = {1, 1, 1}, .at = {0.3, 0.055, 0}, .velocity = {0, -1, 0}, .rigid = true};
    static SimPlane planes[] = {{.normal = {0, 1, 0}}, {.normal = {0, -1, 0}, .offset = -0.11}};
    Status status = sim_scene_bodies(s, &body, 1, 0.001, err);
    s->model.plane = planes, s->model.planes = 2;
    if (status == STATUS_OK) s->values.of[SIM_CONTACT_KE][0] = 1e12;
    return status;
}

static void explode(Device *device, Status make(SimScene *, Error *), bool gradient, Error *err, size_t *frames) {
    const SimOptions options = sim_options_of(device, SIM_F32);
    SimScene scene;
    Sim *sim;
    assert_status_ok(make(&scene, err), *err);
    const size_t row = 3 * scene.model.particles;
    SimArrays arrays = {.row = row, .position = calloc(201 * row, sizeof(double))};
    assert_non_null(arrays.position);
    SimRun r = {.steps = 200, .every = 1, .position = scene.values.of[SIM_POSITION], .gradient = gradient};
    r.velocity = scene.values.of[SIM_VELOCITY], r.keep = sim_keep_arrays, r.context = &arrays;
    assert_status_ok(sim_open(&scene.model, &options, &sim, err), *err);
    assert_status_ok(sim_set(sim, &scene.values, err), *err);
    assert_int_equal(sim_rollout(sim, &r, err), STATUS_FAILED);
    for (*frames = 0; arrays.position[row * *frames + 3] != 0;) ++*frames; // particle 1 is not at 0
    sim_close(sim);
    sim_scene_free(&scene);
    free(arrays.position);
}

static void what_is_not_finite_is_named(void **state) {
    (void)state;
    static Status (*const makes[])(SimScene *, Error *) = {exploding_net, exploding_cloth, exploding_block};
    Devices b = open_both();
    Error cpu, gpu;
    size_t kept[2];
    for (int i = 0; i < 6; i++) {
        explode(b.cpu, makes[i / 2], i % 2, &cpu, &kept[0]);
        explode(b.gpu, makes[i / 2], i % 2, &gpu, &kept[1]);
        assert_string_equal(gpu.text, cpu.text);
        assert_non_null(strstr(gpu.text, i < 4 ? "spring" : "particle 0 is not finite"));
        assert_int_equal(kept[0], kept[1]);
        assert_true(kept[0] > 1);
    }
    devices_close(&b);
}

static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    Devices b = open_both();
    const SimOptions options = sim_options_of(b.gpu, SIM_F32);
    static const char *const names[] = {"five scenes", "bodies that meet", "rigid bodies that meet"};
    for (size_t i = 0; i < 3 * 12; i++) {
        const size_t room = (size_t)1024 << i / 3;
        SimCaseRun r;
        Error err;
        cuda_on_cpu_limit(room);
        Status status = sim_case_run(case_of(names[i % 3]), &options, &r, &err);
        if (status != STATUS_OK) assert_non_null(strstr(err.text, "out of memory: "));
        assert_true(status != STATUS_OK || room > 1 << 16);
        sim_case_run_free(&r);
    }
    cuda_on_cpu_limit(SIZE_MAX);
    devices_close(&b);
}

static void a_lost_gpu_is_an_error(void **state) {
    (void)state;
    static const char *const names[] = {"beam with controls", "bodies that meet", "rigid bodies that meet"};
    for (long after = 1; after < 240; after += 37) {
        Devices b = open_both();
        const SimOptions options = sim_options_of(b.gpu, SIM_F64);
        SimCaseRun r;
        Error err;
        cuda_on_cpu_lose(after);
        assert_status_error(sim_case_run(case_of(names[after % 3]), &options, &r, &err), STATUS_FAILED, err, "CUDA: ");
        cuda_on_cpu_lose(-1);
        sim_case_run_free(&r);
        devices_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases_agree),
                                       cmocka_unit_test(steps_do_not_wait),
                                       cmocka_unit_test(a_face_has_many_particles),
                                       cmocka_unit_test(a_rigid_body_tumbles),
                                       cmocka_unit_test(what_is_not_finite_is_named),
                                       cmocka_unit_test(a_lack_of_memory_is_an_error),
                                       cmocka_unit_test(a_lost_gpu_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
