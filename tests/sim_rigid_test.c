// SPDX-License-Identifier: Apache-2.0
// Rigid bodies: flight against Euler's equations, laws of conservation, contact by closed form, gradients against
// differences, and what must not change a bit.
#include "base/random.h"
#include "base/vector.h"
#include "sim/solver.h"
#include "tests/sim_check.h"
#include "tests/sim_meeting.h"
#include "tests/sim_run.h"

static const SimOptions exact = {.precision = SIM_F64, .threads = 1};

// A plate that tumbles about its middle axis, the unstable one.
static void tumbling(SimScene *s) {
    const SimSceneBody body = {.cells = {1, 1, 1},
                               .cell = {0.3, 0.2, 0.1},
                               .at = {0.4, 0.2, -0.3},
                               .spin = {0.1, 9, 0.3},
                               .velocity = {1, 2, -0.5},
                               .rigid = true};
    meet(s, &body, 1, 0);
}

// Second moments of the box, I^-1 of its turn Q, w = Q I^-1 Q' L.
static void rate(const double Q[9], const double inverse[3], const double L[3], double w[3]) {
    for (int i = 0; i < 3; i++) {
        w[i] = 0;
        for (int k = 0; k < 3; k++) {
            double along = 0;
            for (int j = 0; j < 3; j++) along += Q[3 * j + k] * L[j];
            w[i] += Q[3 * i + k] * inverse[k] * along;
        }
    }
}

static void slope(const double Q[9], const double inverse[3], const double L[3], double out[9]) {
    double w[3], column[3], turned[3];
    rate(Q, inverse, L, w);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) column[i] = Q[3 * i + k];
        vector_cross(w, column, turned);
        for (int i = 0; i < 3; i++) out[3 * i + k] = turned[i];
    }
}

// The turn after `time` of a box of mass m and edges a, by the fourth-order method of Runge and Kutta.
static void euler(const double a[3], double m, const double spin[3], double time, double Q[9]) {
    enum { STEPS = 20000 };
    const double h = time / STEPS;
    double inverse[3], L[3], k[4][9], at[9];
    for (int c = 0; c < 3; c++) {
        const double b = a[(c + 1) % 3], d = a[(c + 2) % 3];
        inverse[c] = 12 / (m * (b * b + d * d));
        L[c] = spin[c] / inverse[c];
    }
    for (int i = 0; i < 9; i++) Q[i] = i % 4 == 0;
    for (int n = 0; n < STEPS; n++) {
        for (int s = 0; s < 4; s++) {
            const double part = s == 0 ? 0 : s == 3 ? h : h / 2;
            for (int i = 0; i < 9; i++) at[i] = Q[i] + part * (s ? k[s - 1][i] : 0);
            slope(at, inverse, L, k[s]);
        }
        for (int i = 0; i < 9; i++) Q[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}

// How far corners are from where Euler's equations take them after 0.6 s, as a share of the body's size.
static double off_flight(double dt) {
    SimScene s;
    Run r;
    double Q[9], off = 0;
    const double a[3] = {0.3, 0.2, 0.1}, spin[3] = {0.1, 9, 0.3}, time = 0.6;
    const size_t steps = (size_t)lround(time / dt);
    tumbling(&s);
    s.model.dt = dt;
    run_scene(&s, exact, steps, steps, false, &r);
    euler(a, 6, spin, time, Q);
    for (size_t i = 0; i < 8; i++)
        for (size_t c = 0; c < 3; c++) {
            const double middle[3] = {0.4, 0.2, -0.3}, velocity[3] = {1, 2, -0.5};
            double to = middle[c] + time * velocity[c];
            for (size_t k = 0; k < 3; k++) to += Q[3 * c + k] * (s.values.of[SIM_POSITION][3 * i + k] - middle[k]);
            off = fmax(off, fabs(r.frames.position[r.frames.row + 3 * i + c] - to) / 0.3);
        }
    end_run(&r);
    sim_scene_free(&s);
    return off;
}

static void test_flight(void **state) {
    (void)state;
    const double one = off_flight(1e-3), half = off_flight(5e-4);
    printf("after .6 s and a flip: %.3g of its size from Euler's equations with steps of 1 ms, %.3g with .5 ms\n", one,
           half);
    assert_true(one < 2e-3 && half < one / 3.5); // of second order
}

// Nothing turns it, so its angular momentum stays; it keeps its shape.
static void test_conservation(void **state) {
    (void)state;
    SimScene s;
    Run r;
    double first[6], last[6];
    tumbling(&s);
    s.model.dt = 1e-3;
    for (size_t i = 0; i < 8; i++) s.inertia[i] = 1; // momenta() sums point masses
    run_scene(&s, exact, 5000, 5000, false, &r);
    momenta(&s, &r, 0, first);
    momenta(&s, &r, 1, last);
    for (int c = 0; c < 6; c++) assert_close(last[c], first[c], 3e-10, 0); // rounding of 5,000 steps
    for (int j = 1; j < 8; j++) {
        double before[3], after[3];
        vector_between(r.frames.position, 0, j, before);
        vector_between(r.frames.position + r.frames.row, 0, j, after);
        assert_close(vector_dot(after, after), vector_dot(before, before), 1e-12, 0);
    }
    end_run(&r);
    sim_scene_free(&s);
}

static void on_ground(SimScene *s, double mu) {
    static SimPlane ground = {.normal = {0, 1, 0}};
    s->model.plane = s->plane = &ground, s->model.planes = 1;
    s->values.of[SIM_CONTACT_MU][0] = mu;
    gravity(s);
}

// Lies m g / (8/2 k_e) deep on four corners, and slides v^2 / (2 mu g) far.
static void test_ground(void **state) {
    (void)state;
    const SimSceneBody body = {.cells = {1, 1, 1}, .cell = {0.4, 0.1, 0.4}, .rigid = true};
    SimScene s;
    Run r;
    meet(&s, &body, 1, 0);
    on_ground(&s, 0.3);
    const double depth = 16 * 9.81 / (4 * 2e5), v = 1.2;
    sim_scene_fill(&s, SIM_CONTACT_KE, 2e5);
    sim_scene_fill(&s, SIM_CONTACT_KD, 500);
    sim_scene_fill(&s, SIM_CONTACT_KF, 2e4);
    s.contact[0].fade = 0;
    for (size_t i = 0; i < 8; i++) {
        s.values.of[SIM_POSITION][3 * i + 1] += 0.05 - depth;
        s.values.of[SIM_VELOCITY][3 * i] = v;
    }
    run_scene(&s, exact, 10000, 10000, false, &r);
    const double *end = r.frames.position + r.frames.row;
    for (size_t i = 0; i < 8; i++) assert_close(end[3 * i + 1], (i / 2 % 2 ? 0.1 : 0) - depth, 0, 1e-6);
    assert_close(end[0] + 0.2, v * v / (2 * 0.3 * 9.81), 0.01, 0);
    end_run(&r);
    sim_scene_free(&s);
}

// How far a block that lies at rest on four corners, pushed by 1e-9 m, is from rest after 3000 steps of `dt`.
static double unrest(double dt) {
    const SimSceneBody body = {.cells = {1, 1, 1}, .cell = {0.4, 0.1, 0.2}, .rigid = true};
    SimScene s;
    Run r;
    double off = 0;
    meet(&s, &body, 1, 0);
    on_ground(&s, 0);
    sim_scene_fill(&s, SIM_CONTACT_KE, 1e5);
    sim_scene_fill(&s, SIM_CONTACT_KD, 0);
    sim_scene_fill(&s, SIM_CONTACT_KF, 0);
    // Its corners count three times: at the ground, at another body, and as corners of faces that others touch.
    s.model.dt = dt * sqrt(3) * sim_stable_step(&s.model, &s.values);
    for (size_t i = 0; i < 8; i++) {
        s.values.of[SIM_POSITION][3 * i + 1] += 0.05 - 8 * 9.81 / (4 * 1e5);
        s.values.of[SIM_VELOCITY][3 * i + 1] = 1e-6 * s.values.of[SIM_POSITION][3 * i];
    }
    run_scene(&s, exact, 3000, 3000, false, &r);
    for (size_t i = 0; i < 3 * 8; i++)
        off = fmax(off, fabs(r.frames.position[r.frames.row + i] - s.values.of[SIM_POSITION][i]));
    end_run(&r);
    sim_scene_free(&s);
    return off;
}

static void test_stable_step(void **state) {
    (void)state;
    const double below = unrest(0.97), above = unrest(1.03);
    printf("off its rest by %.2g m with steps below the bound, %.2g m above it\n", below, above);
    assert_true(below < 1e-7 && above > 1e-5);
}

// Two meet askew, in the air and on the ground, and a soft one.
static void meeting(SimScene *s) {
    const SimSceneBody bodies[] = {
        {.cells = {1, 2, 1}, .velocity = {1, 0.3, 0}, .spin = {1, 2, 0.5}, .rigid = true},
        {.cells = {1, 1, 2},
         .at = {0.134, 0.03, 0.02},
         .turn = {0.4, 0.3, 0.7},
         .velocity = {-1, 0, 0.2},
         .spin = {0, -2, 1},
         .material = 1,
         .rigid = true},
        {.cells = {1, 1, 1}, .at = {-0.02, 0.17, 0.01}, .turn = {0.1, 0.3, 0.2}, .velocity = {0, -1, 0}, .mass = 0.05}};
    meet(s, bodies, 3, 0);
    s->values.of[SIM_CONTACT_MU][1] = 0.2;
    on_ground(s, 0.5);
    for (size_t i = 0; i < s->model.particles; i++) s->values.of[SIM_POSITION][3 * i + 1] += 0.1005;
}

static void check(void (*make)(SimScene *), double single, const char *name) {
    SimScene scene;
    make(&scene);
    SimCheck c = {.scene = &scene, .run = {.steps = 200, .every = 50, .control_every = 20}};
    sim_check_begin(&c);
    sim_check_shake(&c, SIM_POSITION, 0, 0.002);
    sim_check_shake(&c, SIM_VELOCITY, 0, 0.1);
    sim_check_shake(&c, SIM_MASS, 0.1, 0);
    sim_check_shake(&c, SIM_FORCE, 0, 0.5);
    sim_check_gradient(&c, SIM_F64, 0, name);
    sim_check_gradient(&c, SIM_F32, single, name);
    sim_check_end(&c);
    sim_scene_free(&scene);
}

static void test_gradient(void **state) {
    (void)state;
    check(tumbling, 1e-3, "tumbling");
    check(meeting, 5e-2, "meeting"); // rounding takes f32 along a path nearby
}

static void test_same_bits(void **state) {
    (void)state;
    SimScene scene, scenes;
    Error err;
    meeting(&scene);
    assert_status_ok(sim_scene_repeat(&scene, 3, &scenes, &err), err);
    SimOptions one = {.precision = SIM_F32, .threads = 1};
    for (int threads = 2; threads < 6; threads++)
        assert_same_bits(&scenes, one, (SimOptions){.precision = SIM_F32, .threads = threads});
    assert_same_bits(&scenes, one, (SimOptions){.precision = SIM_F32, .threads = 3, .memory_mib = 0.2});
    sim_scene_free(&scenes);
    sim_scene_free(&scene);
}

static void refused(SimScene *s, const char *says) {
    Sim *sim;
    Error err;
    assert_int_equal(sim_open(&s->model, &exact, &sim, &err), STATUS_BAD_INPUT);
    if (!strstr(err.text, says)) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void test_bad_input(void **state) {
    (void)state;
    SimScene s;
    meeting(&s);
    s.rigid[3] = 7;
    refused(&s, "particle 3: there is no rigid body 7");
    s.rigid[3] = -1;
    refused(&s, "rigid in part");
    s.rigid[3] = 0, s.fixed[3] = 1;
    refused(&s, "particle 3 of rigid body 0 is fixed");
    s.fixed[3] = 0, s.inertia[4] = NAN;
    refused(&s, "particle 4: its share");
    s.inertia[4] = 1, s.tet[0] = 3;
    refused(&s, "tet 0: particle 3 belongs to rigid body 0");
    const int32_t spring[2] = {3, 4}, joined[2] = {0, 9};
    s.model.tets = 0;
    s.model.spring = spring, s.model.springs = 1;
    refused(&s, "spring 0: particles 3 and 4 belong to one rigid body, 0");
    s.model.springs = 0;
    s.model.joined = joined, s.model.joints = 1;
    refused(&s, "joint 0: body 9 is not one of 0 to");
    s.model.faces = 0;
    for (int i = 2; i < 12; i++) s.rigid[i] = -1;
    refused(&s, "rigid body 0 has 2 particles");
    sim_scene_free(&s);
}

// ---- how far it moves

static double uniform(uint32_t draw, uint32_t i) { // in -1 .. 1
    return 2 * (double)random_uniform((RandomKey){.seed = 6, .purpose = RANDOM_TEST, .step = draw}, i) - 1;
}

typedef struct Motion {
    const SimTouching *touching;
    double *before, moved; // (particles,3) of the last frame, and metres that were counted up to it
    size_t particles;
    double went, counted, most; // metres of the last two steps; the largest ratio
} Motion;

// A frame is handed out before the motion to it is counted.
static Status keep_motion(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    Motion *m = context;
    double went = 0;
    (void)velocity, (void)err;
    for (size_t i = 0; i < m->particles && frame > 0; i++) {
        double way[3];
        for (size_t c = 0; c < 3; c++) way[c] = position[3 * i + c] - m->before[3 * i + c];
        went = fmax(went, sqrt(vector_dot(way, way)));
    }
    if (frame > 1) m->most = fmax(m->most, m->went / (m->touching->moved[0] - m->moved));
    m->went = went, m->moved = m->touching->moved[0];
    memcpy(m->before, position, 3 * m->particles * sizeof *position);
    return STATUS_OK;
}

// Bars, plates and blocks that turn by up to `angle` in a step, with forces on their particles: the farthest way of a
// particle in a step, of what the solver counts.
static double way_of_counted(uint32_t draw, double angle) {
    enum { STEPS = 12, MOST = 27 };
    SimSceneBody body = {.rigid = true};
    double before[3 * MOST], force[3 * MOST], spin = 0;
    for (uint32_t c = 0; c < 3; c++) {
        body.cells[c] = 1 + (size_t)(uniform(draw, c) + 1);
        body.cell[c] = uniform(draw, 10 + c) > 0 ? 0.02 : 0.2;
        body.spin[c] = uniform(draw, 20 + c);
        spin += body.spin[c] * body.spin[c];
    }
    SimScene s;
    meet(&s, &body, 1, 0);
    sim_scene_free(&s);
    for (uint32_t c = 0; c < 3; c++) {
        body.spin[c] *= angle / sqrt(spin) / s.model.dt;
        body.velocity[c] = 0.3 * angle / s.model.dt * uniform(draw, 30 + c);
    }
    meet(&s, &body, 1, 0);
    Motion m = {.before = before, .particles = s.model.particles};
    const double push = s.values.of[SIM_MASS][0] * angle * 0.2 / (s.model.dt * s.model.dt) * uniform(draw, 40);
    for (uint32_t i = 0; i < 3 * m.particles; i++) force[i] = push * uniform(draw, 50 + i);
    const SimRun run = {.steps = STEPS,
                        .every = 1,
                        .position = s.values.of[SIM_POSITION],
                        .velocity = s.values.of[SIM_VELOCITY],
                        .force = force,
                        .control_every = STEPS,
                        .keep = keep_motion,
                        .context = &m};
    Sim *sim;
    Error err;
    assert_status_ok(sim_open(&s.model, &exact, &sim, &err), err);
    assert_status_ok(sim_set(sim, &s.values, &err), err);
    m.touching = &sim->packed.touching;
    assert_status_ok(sim_rollout(sim, &run, &err), err);
    sim_close(sim);
    sim_scene_free(&s);
    return m.most;
}

// What is known of an earlier step is not looked at before particles may have moved so far: never less is counted.
static void test_way(void **state) {
    static const double angles[] = {0.01, 0.03, 0.1, 0.3, 0.6};
    (void)state;
    for (size_t k = 0; k < sizeof angles / sizeof *angles; k++) {
        double most = 0;
        for (uint32_t draw = 0; draw < 500; draw++) most = fmax(most, way_of_counted(draw, angles[k]));
        printf("turns of %g: the farthest way is %.4f of what is counted\n", angles[k], most);
        assert_true(most > 0.7 && most <= 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flight),      cmocka_unit_test(test_conservation), cmocka_unit_test(test_ground),
        cmocka_unit_test(test_gradient),    cmocka_unit_test(test_same_bits),    cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_stable_step), cmocka_unit_test(test_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
