// SPDX-License-Identifier: Apache-2.0
// The adjoint of a rollout against central differences in double, for every value of the table, in the air and on the
// ground; the same in float; and that a gradient which is twice too large is found.
#include "bench/sim_cases.h"
#include "tests/sim_check.h"

static void shake(SimCheck *c) {
    if (c->scene->model.tets) sim_check_shake(c, SIM_POSITION, 0, 0.005);
    sim_check_shake(c, SIM_VELOCITY, 0, 0.2);
    sim_check_shake(c, SIM_MASS, 0.1, 0);
    sim_check_shake(c, SIM_TET_MU, 0.1, 0);
    sim_check_shake(c, SIM_TET_ACT, 0, 0.02);
    sim_check_shake(c, SIM_FORCE, 0, 0.1);
    sim_check_shake(c, SIM_ACTIVATION, 0, 0.02);
    sim_check_shake(c, SIM_TORQUE, 0, 1e-4);
    sim_check_shake(c, SIM_THRUST, 0, 0.05);
}

static void check(SimScene *scene, SimPrecision precision, const char *name) {
    SimCheck c = {.scene = scene, .run = {.steps = 200, .every = 50, .control_every = 20}};
    sim_check_begin(&c);
    shake(&c);
    sim_check_gradient(&c, precision, 1e-3, name);
    sim_check_end(&c);
    sim_scene_free(scene);
}

static const size_t small_beam[3] = {3, 1, 2};

static void beam(SimScene *scene, bool ground) {
    Error err;
    assert_status_ok(sim_scene_beam(scene, small_beam, ground, &err), err);
}

static void test_beam(void **state) {
    (void)state;
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        SimScene scene;
        beam(&scene, false);
        check(&scene, (SimPrecision)p, "beam");
        beam(&scene, false);
        scene.model.damping = SIM_DAMPING_VELOCITY;
        check(&scene, (SimPrecision)p, "beam with the published damping");
    }
}

static void test_net(void **state) {
    (void)state;
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        SimScene scene;
        Error err;
        assert_status_ok(sim_scene_net(&scene, 5, &err), err);
        check(&scene, (SimPrecision)p, "net");
    }
}

// The beam slides, so friction is at its cone, and its faces press on the ground.
static void test_sliding_beam(void **state) {
    (void)state;
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        SimScene scene;
        beam(&scene, true);
        for (size_t i = 0; i < scene.model.particles; i++) scene.values.of[SIM_VELOCITY][3 * i] = 1;
        scene.contact[0].fade = 0.001;
        check(&scene, (SimPrecision)p, "sliding beam");
    }
}

// Hinges are flat at first, where acos has no derivative. In f32, spring.k_d hardly matters here and is mostly rounding
// (docs/simulator.md).
static void test_flat_cloth(void **state) {
    (void)state;
    SimScene scene;
    Error err;
    assert_status_ok(sim_scene_cloth(&scene, 5, &err), err);
    scene.contact[0].fade = 0.001;
    check(&scene, SIM_F64, "flat cloth");
}

// Edges pass their limits, some with damping as large as the spring's torque, and friction holds some and not others.
static void test_limited_cloth(void **state) {
    static const double stops[] = {-0.03, 0.04, 0.1, 5e-4, 1e-4, 5e-5};
    (void)state;
    SimScene scene;
    Error err;
    assert_status_ok(sim_scene_cloth(&scene, 3, &err), err);
    assert_status_ok(sim_scene_add_stops(&scene, stops, &err), err);
    scene.contact[0].fade = 0.001;
    check(&scene, SIM_F64, "cloth with limits");
}

// A case that others compare back ends with.
static void check_case(const char *name) {
    for (int p = SIM_F32; p <= SIM_F64; p++)
        for (size_t i = 0; i < sim_case_count; i++) {
            SimScene scene;
            Error err;
            if (strcmp(sim_cases[i].name, name) != 0) continue;
            assert_status_ok(sim_cases[i].make(&scene, &err), err);
            check(&scene, (SimPrecision)p, name);
        }
}

// Between free particles: some pass their limits, and friction holds some.
static void test_slides(void **state) {
    (void)state;
    check_case("slides");
}

static void test_sockets(void **state) {
    (void)state;
    check_case("sockets");
}

// One free particle of 10 g, thrown along the ground, 4 cm above it.
static void thrown(SimScene *scene) {
    Error err;
    const SimModel counts = {.scenes = 1, .particles = 1, .planes = 1, .materials = 1, .dt = 1e-4};
    assert_status_ok(sim_scene_allocate(scene, &counts, &err), err);
    double **of = scene->values.of;
    of[SIM_MASS][0] = 0.01, of[SIM_GRAVITY][1] = -9.81, of[SIM_POSITION][1] = 0.04, of[SIM_VELOCITY][0] = 0.5;
    of[SIM_CONTACT_KE][0] = 500, of[SIM_CONTACT_KD][0] = 0.2, of[SIM_CONTACT_KF][0] = 1, of[SIM_CONTACT_MU][0] = 0.3;
    scene->plane[0] = (SimPlane){.normal = {0, 1, 0}};
    scene->contact[0] = (SimMaterial){.fade = 0.001};
}

// How often the heights of the frames pass from the air into the ground.
static int bounces(const SimCheck *c) {
    int count = 0;
    for (size_t f = 1; f < sim_frames(&c->run); f++) count += c->frames[3 * f + 1] < 0 && c->frames[3 * f - 2] >= 0;
    return count;
}

// Each touch enlarges what f32 has rounded: its gradient is that of a path nearby, 4e-3 off here.
static void test_three_bounces(void **state) {
    (void)state;
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        SimScene scene;
        thrown(&scene);
        SimCheck c = {.scene = &scene, .run = {.steps = 4800, .every = 4, .control_every = 400}};
        sim_check_begin(&c);
        sim_check_gradient(&c, (SimPrecision)p, 1e-2, "three bounces");
        assert_true(bounces(&c) >= 3);
        sim_check_end(&c);
        sim_scene_free(&scene);
    }
}

// After one step on the ground: v' = v + dt (k_e depth - k_d v) / m, so dv'/dk_e = dt depth / m, once and not twice.
static void test_first_step_of_contact(void **state) {
    (void)state;
    const double dt = 1e-4, depth = 0.003, mass = 0.01;
    SimScene scene;
    Error err;
    thrown(&scene);
    scene.values.of[SIM_POSITION][1] = -depth;
    SimCheck c = {.scene = &scene, .run = {.steps = 1, .every = 1}, .options = {.precision = SIM_F64, .threads = 1}};
    sim_check_begin(&c);
    Sim *sim = sim_check_open(&c);
    sim_check_loss(&c, sim, true);
    double loss[12] = {0}; // 2 frames of a particle's position, then of its velocity
    loss[6 + 3 + 1] = 1;
    assert_status_ok(sim_adjoint(sim, &c.run, &(SimLoss){loss, loss + 6}, &c.gradient, NULL, &err), err);
    assert_close(c.gradient.of[SIM_CONTACT_KE][0], dt * depth / mass, 0, 1e-12);
    // friction at its cone: dv_x/dmu = -dt f_n / m
    loss[6 + 3 + 1] = 0, loss[6 + 3] = 1;
    assert_status_ok(sim_adjoint(sim, &c.run, &(SimLoss){loss, loss + 6}, &c.gradient, NULL, &err), err);
    assert_close(c.gradient.of[SIM_CONTACT_MU][0], -dt * 500 * depth / mass, 0, 1e-12);
    sim_close(sim);
    sim_check_end(&c);
    sim_scene_free(&scene);
}

// The comparison itself: a gradient of k_e that is doubled, as some simulators have it, is found.
static void test_planted_fault(void **state) {
    (void)state;
    SimScene scene;
    beam(&scene, true);
    SimCheck c = {.scene = &scene, .run = {.steps = 40, .every = 40}, .options = {.precision = SIM_F64, .threads = 1}};
    sim_check_begin(&c);
    Sim *sim = sim_check_open(&c);
    sim_check_loss(&c, sim, true);
    assert_true(sim_check_error(&c, sim, SIM_CONTACT_KE, 0, 1e-5) < 1e-6);
    c.gradient.of[SIM_CONTACT_KE][0] *= 2;
    assert_true(sim_check_error(&c, sim, SIM_CONTACT_KE, 0, 1e-5) > 0.5);
    sim_close(sim);
    sim_check_end(&c);
    sim_scene_free(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_beam),
                                       cmocka_unit_test(test_net),
                                       cmocka_unit_test(test_sliding_beam),
                                       cmocka_unit_test(test_flat_cloth),
                                       cmocka_unit_test(test_limited_cloth),
                                       cmocka_unit_test(test_slides),
                                       cmocka_unit_test(test_sockets),
                                       cmocka_unit_test(test_three_bounces),
                                       cmocka_unit_test(test_first_step_of_contact),
                                       cmocka_unit_test(test_planted_fault)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
