// SPDX-License-Identifier: Apache-2.0
// What the simulator computes, against closed forms and laws of conservation; and that threads, memory and instruction
// sets do not change what they must not.
#include "bench/sim_scenes.h"
#include "tests/test.h"

typedef struct Run {
    Sim *sim;
    SimRun run;
    SimArrays frames;
} Run;

// Steps a scene from its values; frames are kept after every step of `every`.
static void run_scene(const SimScene *s, SimOptions options, size_t steps, size_t every, bool gradient, Run *r) {
    const size_t row = 3 * s->model.scenes * s->model.particles;
    Error err;
    *r = (Run){.run = {.steps = steps,
                       .every = every,
                       .position = s->values.of[SIM_POSITION],
                       .velocity = s->values.of[SIM_VELOCITY],
                       .gradient = gradient,
                       .keep = sim_keep_arrays}};
    r->frames = (SimArrays){.row = row,
                            .position = malloc(sim_frames(&r->run) * row * sizeof(double)),
                            .velocity = malloc(sim_frames(&r->run) * row * sizeof(double))};
    assert_true(r->frames.position && r->frames.velocity);
    r->run.context = &r->frames;
    assert_status_ok(sim_open(&s->model, &options, &r->sim, &err), err);
    assert_status_ok(sim_set(r->sim, &s->values, &err), err);
    assert_status_ok(sim_rollout(r->sim, &r->run, &err), err);
}

static void end_run(Run *r) {
    sim_close(r->sim);
    free(r->frames.position);
    free(r->frames.velocity);
}

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

// Momentum, and angular momentum about the origin, of one frame.
static void momenta(const SimScene *s, const Run *r, size_t frame, double out[6]) {
    memset(out, 0, 6 * sizeof *out);
    for (size_t i = 0; i < s->model.particles; i++) {
        const double *x = r->frames.position + frame * r->frames.row + 3 * i,
                     *v = r->frames.velocity + frame * r->frames.row + 3 * i, m = s->values.of[SIM_MASS][i];
        for (size_t c = 0; c < 3; c++) {
            const size_t a = (c + 1) % 3, b = (c + 2) % 3;
            out[c] += m * v[c];
            out[3 + c] += m * (x[a] * v[b] - x[b] * v[a]);
        }
    }
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

// Kinetic energy and energy of the tets (stable neo-Hookean), from the definition.
static double energy(const SimScene *s, const Run *r, size_t frame) {
    const double *x = r->frames.position + frame * r->frames.row, *v = r->frames.velocity + frame * r->frames.row,
                 *rest = s->values.of[SIM_REST];
    double sum = 0;
    for (size_t i = 0; i < 3 * s->model.particles; i++) sum += s->values.of[SIM_MASS][i / 3] * v[i] * v[i] / 2;
    for (size_t t = 0; t < s->model.tets; t++) {
        const int32_t *tet = s->tet + 4 * t;
        double D[2][3][3], inverse[3][3], F[3][3] = {{0}}, det[2], square = 0;
        for (int k = 0; k < 2; k++) {
            const double *p = k ? x : rest;
            for (size_t j = 0; j < 3; j++)
                for (size_t c = 0; c < 3; c++) D[k][c][j] = p[3 * tet[j + 1] + (int)c] - p[3 * tet[0] + (int)c];
            double(*d)[3] = D[k];
            det[k] = d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) -
                     d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
                     d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
        }
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3; j++) {
                const size_t a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
                inverse[i][j] = (D[0][a][c] * D[0][b][d] - D[0][a][d] * D[0][b][c]) / det[0];
            }
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3; j++) {
                for (size_t k = 0; k < 3; k++) F[i][j] += D[1][i][k] * inverse[k][j];
                square += F[i][j] * F[i][j];
            }
        const double mu = s->values.of[SIM_TET_MU][t], lambda = s->values.of[SIM_TET_LAMBDA][t],
                     off = det[1] / det[0] - 1 - 3 * mu / (4 * lambda);
        sum += det[0] / 6 * (mu / 2 * (square - 3) + lambda / 2 * off * off - mu / 2 * log(square + 1));
    }
    return sum;
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

static void run_with(const SimScene *scene, SimOptions options, Run *r, SimValues *gradient) {
    enum { STEPS = 150 };
    Error err;
    run_scene(scene, options, STEPS, 50, true, r);
    const size_t all = sim_frames(&r->run) * r->frames.row;
    double *ones = malloc(all * sizeof *ones);
    assert_non_null(ones);
    for (size_t i = 0; i < all; i++) ones[i] = 1 + (double)(i % 7);
    for (SimValue v = 0; v < SIM_VALUES; v++)
        gradient->of[v] = calloc(sim_value_count(&scene->model, 0, v) + 1, sizeof(double));
    assert_status_ok(sim_adjoint(r->sim, &r->run, &(SimLoss){ones, ones}, gradient, NULL, &err), err);
    free(ones);
}

static void assert_same_bits(const SimScene *scene, SimOptions one, SimOptions other) {
    Run r[2];
    SimValues g[2];
    run_with(scene, one, &r[0], &g[0]);
    run_with(scene, other, &r[1], &g[1]);
    const size_t all = sim_frames(&r[0].run) * r[0].frames.row;
    assert_memory_equal(r[0].frames.position, r[1].frames.position, all * sizeof(double));
    assert_memory_equal(r[0].frames.velocity, r[1].frames.velocity, all * sizeof(double));
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        const size_t count = sim_value_count(&scene->model, 0, v);
        if (count && memcmp(g[0].of[v], g[1].of[v], count * sizeof(double)) != 0)
            fail_msg("%s: bits of the gradient differ with %d threads, %g MiB", sim_value_info[v].name, other.threads,
                     other.memory_mib);
        free(g[0].of[v]);
        free(g[1].of[v]);
    }
    end_run(&r[0]);
    end_run(&r[1]);
}

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fall),
                                       cmocka_unit_test(test_spring_period),
                                       cmocka_unit_test(test_momenta),
                                       cmocka_unit_test(test_energy),
                                       cmocka_unit_test(test_rest),
                                       cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_instruction_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
