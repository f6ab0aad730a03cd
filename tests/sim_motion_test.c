// SPDX-License-Identifier: Apache-2.0
// What the simulator computes, against closed forms and laws of conservation; and that threads, memory and instruction
// sets do not change what they must not.
#include "base/vector.h"
#include "tests/sim_run.h"

static const SimOptions exact = {.precision = SIM_F64, .threads = 1};

static void beam(SimScene *scene, bool ground) {
    static const size_t cells[3] = {4, 2, 2};
    Error err;
    assert_status_ok(sim_scene_beam(scene, cells, ground, &err), err);
}

static void particles(SimScene *scene, SimModel counts) {
    Error err;
    assert_status_ok(sim_scene_allocate(scene, &counts, &err), err);
    for (size_t i = 0; i < counts.scenes * counts.particles; i++) scene->values.of[SIM_MASS][i] = 0.5;
}

// Semi-implicit Euler falls x = v0 t + g dt^2 n (n + 1) / 2, exactly.
static void test_fall(void **state) {
    (void)state;
    enum { STEPS = 1000 };
    const double dt = 1e-3, g = -9.81, v0 = 3;
    SimScene scene;
    Run r;
    particles(&scene, (SimModel){.scenes = 2, .particles = 1, .dt = dt});
    scene.values.of[SIM_GRAVITY][4] = g; // of the second scene; the first has none
    scene.values.of[SIM_VELOCITY][1] = scene.values.of[SIM_VELOCITY][4] = v0;
    run_scene(&scene, exact, STEPS, STEPS, false, &r);
    const double *end = r.frames.position + r.frames.row;
    assert_close(end[1], v0 * dt * STEPS, 0, 1e-12);
    assert_close(end[4], v0 * dt * STEPS + g * dt * dt * STEPS * (STEPS + 1) / 2, 0, 1e-12);
    end_run(&r);
    sim_scene_free(&scene);
}

// A fixed particle goes where it is driven, and a spring pulls another one behind it; without a drive it keeps its
// velocity.
static void test_drive(void **state) {
    (void)state;
    enum { STEPS = 300, EACH = 100 };
    const double dt = 1e-3, drive[3][6] = {{1, 0, 0, 9, 9, 9}, {0, -2, 0, 9, 9, 9}, {0, 0, 0.5, 9, 9, 9}};
    double slope[3 * 6];
    SimScene scene;
    Run r;
    Error err;
    particles(&scene, (SimModel){.scenes = 1, .particles = 2, .springs = 1, .dt = dt});
    scene.spring[1] = 1, scene.fixed[0] = 1;
    scene.values.of[SIM_VELOCITY][0] = 3;
    scene.values.of[SIM_POSITION][3] = 0.1;
    scene.values.of[SIM_SPRING_LENGTH][0] = 0.1;
    scene.values.of[SIM_SPRING_KE][0] = 500;
    run_scene(&scene, exact, STEPS, EACH, true, &r);
    assert_close(r.frames.position[3 * r.frames.row], 3 * dt * STEPS, 0, 1e-12);
    r.run.control_every = EACH;
    const SimValues wanted = {.of = {[SIM_DRIVE] = slope}};
    assert_status_error(sim_adjoint(r.sim, &r.run, &(SimLoss){NULL, NULL}, &wanted, NULL, &err), STATUS_BAD_INPUT, err,
                        "the rollout had no drive");
    r.run.drive = *drive;
    assert_status_ok(sim_rollout(r.sim, &r.run, &err), err);
    for (size_t f = 1; f <= 3; f++)
        for (size_t c = 0; c < 3; c++) {
            double to = 0;
            for (size_t k = 0; k < f; k++) to += drive[k][c] * dt * EACH;
            assert_close(r.frames.position[f * r.frames.row + c], to, 0, 1e-12);
            assert_close(r.frames.velocity[f * r.frames.row + c], drive[f - 1][c], 0, 0);
        }
    double apart[3];
    vector_between(r.frames.position + 3 * r.frames.row, 0, 1, apart);
    assert_true(vector_dot(apart, apart) < 0.1); // a free particle is not driven
    end_run(&r);
    sim_scene_free(&scene);
}

// In f32 a hand of 2 mm/s, 1.3 m from the origin, moves less in a step than two roundings, and yet arrives.
static void test_slow_drive(void **state) {
    (void)state;
    enum { EACH = 400, INTERVALS = 30 };
    double drive[INTERVALS][3] = {{0}};
    SimScene scene;
    Run r;
    Error err;
    particles(&scene, (SimModel){.scenes = 1, .particles = 1, .dt = 1.0 / 12000});
    scene.fixed[0] = 1;
    scene.values.of[SIM_POSITION][0] = 1.3;
    run_scene(&scene, (SimOptions){.precision = SIM_F32, .threads = 1}, EACH * INTERVALS, EACH, true, &r);
    for (int c = 0; c < INTERVALS; c++) drive[c][0] = 0.002;
    r.run.drive = *drive, r.run.control_every = EACH;
    assert_status_ok(sim_rollout(r.sim, &r.run, &err), err);
    assert_close(r.frames.position[INTERVALS * r.frames.row], 1.302, 1.2e-7, 0);
    end_run(&r);
    sim_scene_free(&scene);
}

// Two masses on a spring: semi-implicit Euler swings with cos(w dt) = 1 - (w0 dt)^2 / 2, w0^2 = 2 k / m. How far the
// simulation of stiffness `simulated` is from that of k, by the stretch.
static double off_swing(double simulated, double k) {
    enum { STEPS = 777 };
    const double dt = 1e-3, length = 0.3, stretch = 0.01;
    double off = 0;
    SimScene scene;
    Run r;
    particles(&scene, (SimModel){.scenes = 1, .particles = 2, .springs = 1, .dt = dt});
    scene.spring[1] = 1;
    scene.values.of[SIM_SPRING_LENGTH][0] = length;
    scene.values.of[SIM_SPRING_KE][0] = simulated;
    scene.values.of[SIM_POSITION][3] = length + stretch;
    run_scene(&scene, exact, STEPS, 1, false, &r);
    const double w0 = sqrt(2 * k / 0.5), w = acos(1 - w0 * w0 * dt * dt / 2);
    for (size_t n = 0; n <= STEPS; n += 97) {
        const double *x = r.frames.position + n * r.frames.row, t = (double)n;
        // x_0 = stretch, x_1 = stretch (1 - (w0 dt)^2)
        const double sine = (1 - w0 * w0 * dt * dt - cos(w)) / sin(w);
        const double apart = x[3] - x[0] - length - stretch * (cos(w * t) + sine * sin(w * t));
        off = isnan(apart) ? INFINITY : fmax(off, fabs(apart) / stretch);
    }
    end_run(&r);
    sim_scene_free(&scene);
    return off;
}

// Planted: a stiffness that is wrong by a millionth is noticed.
static void test_spring_period(void **state) {
    (void)state;
    assert_true(off_swing(200, 200) < 1e-11); // rounding of 777 steps
    assert_true(off_swing(200 * (1 + 1e-6), 200) > 1e-7);
}

// A free beam that spins and is stretched, without gravity.
static void spin(SimScene *scene) {
    beam(scene, false);
    memset(scene->fixed, 0, scene->model.particles);
    memset(scene->values.of[SIM_GRAVITY], 0, 3 * sizeof(double));
    for (size_t i = 0; i < scene->model.particles; i++) {
        double *x = scene->values.of[SIM_POSITION] + 3 * i, *v = scene->values.of[SIM_VELOCITY] + 3 * i;
        v[0] = -20 * x[1] + 1, v[1] = 20 * x[0];
        x[0] *= 1.05;
    }
}

static double loss_of_turning(SimDamping damping) {
    SimScene scene;
    Run r;
    double before[6], after[6];
    spin(&scene);
    scene.model.damping = damping;
    run_scene(&scene, exact, 2000, 2000, false, &r);
    momenta(&scene, &r, 0, before);
    momenta(&scene, &r, 1, after);
    for (size_t c = 0; c < 3; c++) assert_close(after[c], before[c], 1e-10, 1e-10);
    const double lost = 1 - after[5] / before[5];
    end_run(&r);
    sim_scene_free(&scene);
    return lost;
}

// Both forms of damping keep momentum; only that of strain keeps angular momentum.
static void test_momenta(void **state) {
    (void)state;
    assert_true(fabs(loss_of_turning(SIM_DAMPING_STRAIN)) < 1e-10);
    assert_true(loss_of_turning(SIM_DAMPING_VELOCITY) > 1e-4);
}

// Without damping, energy swings by an amount that shrinks with the time step, and does not drift.
static void test_energy(void **state) {
    (void)state;
    double swing[2];
    for (int half = 0; half < 2; half++) {
        SimScene scene;
        Run r;
        double least = INFINITY, most = -INFINITY;
        spin(&scene);
        memset(scene.values.of[SIM_TET_KD], 0, scene.model.tets * sizeof(double));
        scene.model.dt = half ? 1e-4 : 2e-4;
        const size_t steps = half ? 4000 : 2000;
        run_scene(&scene, exact, steps, steps / 200, false, &r);
        for (size_t f = 0; f <= 200; f++) {
            const double e = energy(&scene, &r, f);
            least = fmin(least, e), most = fmax(most, e);
        }
        swing[half] = (most - least) / fabs(most);
        end_run(&r);
        sim_scene_free(&scene);
    }
    assert_true(swing[0] < 0.02);
    assert_true(swing[1] < 0.6 * swing[0]);
}

// A rest pose is at rest: no element pushes, even where hinges are flat.
static void test_rest(void **state) {
    (void)state;
    SimScene scene;
    Run r;
    Error err;
    assert_status_ok(sim_scene_cloth(&scene, 6, &err), err);
    memset(scene.values.of[SIM_GRAVITY], 0, 3 * sizeof(double));
    run_scene(&scene, exact, 100, 100, false, &r);
    for (size_t i = 0; i < r.frames.row; i++)
        assert_close(r.frames.position[r.frames.row + i], scene.values.of[SIM_POSITION][i], 1e-12, 0);
    end_run(&r);
    sim_scene_free(&scene);
}

// ---- what changes no bits

static void test_bits(void **state) {
    (void)state;
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        const SimOptions one = {.precision = (SimPrecision)p, .threads = 1};
        SimOptions threads = one, little = one;
        threads.threads = 3;
        little.memory_mib = p == SIM_F32 ? 0.12 : 0.25;
        SimScene scene;
        Error err;
        static const size_t cells[3] = {20, 4, 4};
        assert_status_ok(sim_scene_beam(&scene, cells, true, &err), err);
        assert_same_bits(&scene, one, threads);
        sim_scene_free(&scene);
        assert_status_ok(sim_scene_cloth(&scene, 9, &err), err);
        assert_same_bits(&scene, one, threads);
        assert_same_bits(&scene, one, little);
        sim_scene_free(&scene);
    }
}

// Instruction sets may fuse products differently, and no more.
static void test_instruction_sets(void **state) {
    (void)state;
    SimScene scene;
    Run r[2];
    SimOptions base = exact;
    base.isa = "base";
    beam(&scene, true);
    run_scene(&scene, exact, 200, 200, false, &r[0]);
    run_scene(&scene, base, 200, 200, false, &r[1]);
    for (size_t i = 0; i < 2 * r[0].frames.row; i++)
        assert_close(r[0].frames.position[i], r[1].frames.position[i], 1e-11, 0);
    end_run(&r[0]);
    end_run(&r[1]);
    sim_scene_free(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fall),          cmocka_unit_test(test_drive),   cmocka_unit_test(test_slow_drive),
        cmocka_unit_test(test_spring_period), cmocka_unit_test(test_momenta), cmocka_unit_test(test_energy),
        cmocka_unit_test(test_rest),          cmocka_unit_test(test_bits),    cmocka_unit_test(test_instruction_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
