// SPDX-License-Identifier: Apache-2.0
// Gradients of rollouts in which bodies meet, against central differences: blocks askew, whose corners and edges touch,
// a sheet over a block, particles on both, cloth on itself, and whatever chance brings together; and one step by hand.
#include "sim/solver.h"
#include "tests/sim_check.h"
#include "tests/sim_meeting.h"

static void shake(SimCheck *c) {
    sim_check_shake(c, SIM_POSITION, 0, 0.001);
    sim_check_shake(c, SIM_VELOCITY, 0, 0.1);
    sim_check_shake(c, SIM_MASS, 0.1, 0);
    sim_check_shake(c, SIM_TET_MU, 0.1, 0);
    sim_check_shake(c, SIM_FORCE, 0, 0.1);
    sim_check_shake(c, SIM_ACTIVATION, 0, 0.02);
}

// Two blocks of different materials fly at each other; the second lies askew.
static void blocks(SimScene *s) {
    const SimSceneBody bodies[] = {{.cells = {1, 2, 1}, .velocity = {1, 0.3, 0}, .mass = 0.05},
                                   {.cells = {1, 1, 2},
                                    .at = {0.134, 0.03, 0.02},
                                    .turn = {0.4, 0.3, 0.7},
                                    .velocity = {-1, 0, 0.2},
                                    .mass = 0.05,
                                    .material = 1}};
    meet(s, bodies, 2, 0);
    s->values.of[SIM_CONTACT_KE][1] = 4000;
    s->values.of[SIM_CONTACT_MU][1] = 0.2;
    s->contact[0].margin = 0.02;
}

// A sheet and particles fall on a fixed block with sharp corners, and on a free one.
static void sheet(SimScene *s) {
    SimSceneBody bodies[] = {
        {.cells = {3, 0, 3},
         .cell = {0.07, 0, 0.07},
         .at = {0.01, 0.09, 0.015},
         .turn = {0.05, 0.1, -0.04},
         .velocity = {0.3, -1.5, 0},
         .mass = 0.01},
        {.cells = {1, 1, 1}, .turn = {0.3, 0, 0.1}, .mass = 0.05, .fixed = true},
        {.cells = {1, 1, 1}, .at = {0.112, 0, 0}, .turn = {0, 0, 0.1}, .mass = 0.03, .velocity = {-0.2, 0, 0}},
        {.cells = {3}, .cell = {0.03, 0, 0}, .at = {0, 0.11, 0.01}, .velocity = {0, -1.5, 0.3}, .mass = 0.01},
        {.cells = {1}, .cell = {0.005, 0, 0}, .velocity = {0.2, -0.1, 0.4}, .mass = 0.01}};
    sim_scene_turn(bodies[1].turn, (const double[3]){-0.056, 0.056, 0.057}, bodies[4].at); // beside a corner
    meet(s, bodies, 5, 0.02);
    gravity(s);
}

// A sheet that is folded over itself, 12 mm apart, and moves on to itself.
static void folded(SimScene *s) {
    const SimSceneBody bodies[] = {{.cells = {8, 0, 3}, .cell = {0.05, 0, 0.05}, .mass = 0.01}};
    meet(s, bodies, 1, 0.02);
    for (size_t i = 0; i < s->model.particles; i++) {
        double *x = s->values.of[SIM_POSITION] + 3 * i, *v = s->values.of[SIM_VELOCITY] + 3 * i;
        if (x[0] > 0.02) x[0] = 0.043 - x[0], x[1] = 0.012 + 0.01 * x[2], x[2] += 0.013, v[1] = -0.8, v[0] = 0.3;
    }
}

typedef struct Seen {
    int faces, edges, corners, behind, crossings;
} Seen;

// Adds what particles, and edges at their crossings, touch in the state before the last step.
static void look(const Sim *sim, Seen *seen) {
    const SimTouching *t = &sim->packed.touching;
    for (size_t i = 0; i < t->rows; i++)
        for (int k = 0; k < t->touches[i]; k++) {
            const SimTouch touch = t->touch[SIM_TOUCHES * i + (size_t)k];
            const int corners = i < t->points ? __builtin_popcount((unsigned)touch.on) : 0;
            seen->faces += corners == 3, seen->edges += corners == 2, seen->corners += corners == 1;
            seen->behind += corners && touch.side < 0, seen->crossings += !corners;
        }
}

static void check(void (*make)(SimScene *), double single, Seen *seen, const char *name) {
    SimScene scene;
    make(&scene);
    SimCheck c = {.scene = &scene, .run = {.steps = 200, .every = 50, .control_every = 20}};
    sim_check_begin(&c);
    shake(&c);
    sim_check_gradient(&c, SIM_F64, 0, name);
    sim_check_gradient(&c, SIM_F32, single, name);
    c.run.control_every = 0;
    for (size_t steps = 10; steps <= 200; steps += 10) {
        c.run.steps = c.run.every = steps;
        Sim *sim = sim_check_open(&c);
        sim_check_loss(&c, sim, false);
        look(sim, seen);
        sim_close(sim);
    }
    printf("%s: touches of faces %d, edges %d, corners %d; from behind %d; crossings %d\n", name, seen->faces,
           seen->edges, seen->corners, seen->behind, seen->crossings);
    sim_check_end(&c);
    sim_scene_free(&scene);
}

static void test_blocks(void **state) {
    (void)state;
    Seen seen = {0};
    check(blocks, 2e-3, &seen, "blocks");
    assert_true(seen.faces >= 20 && seen.crossings > 5);
}

static void test_planks(void **state) {
    (void)state;
    Seen seen = {0};
    check(planks, 2e-2, &seen, "planks");
    assert_true(seen.crossings > 40 && seen.faces + seen.edges + seen.corners < 10);
}

// Rounding takes f32 along a path nearby, as after bounces from the ground.
static void test_sheet(void **state) {
    (void)state;
    Seen seen = {0};
    check(sheet, 2e-2, &seen, "sheet");
    assert_true(seen.faces > 20 && seen.edges > 20 && seen.corners > 3 && seen.behind > 10);
}

static double draw(uint32_t scene, uint32_t *i) { // in 0 .. 1
    return (double)random_uniform((RandomKey){.seed = 78, .purpose = RANDOM_TEST, .step = scene}, (*i)++);
}

// Two to five bodies of any kind, anywhere, one in another too.
static void any_bodies(SimScene *s, uint32_t scene) {
    uint32_t i = 0;
    SimSceneBody bodies[5] = {0};
    const size_t count = 2 + (size_t)(4 * draw(scene, &i));
    for (size_t b = 0; b < count; b++) {
        SimSceneBody *body = &bodies[b];
        for (int c = 0; c < 3; c++) {
            body->cells[c] = 1 + (size_t)(2 * draw(scene, &i));
            body->cell[c] = 0.05 + 0.1 * draw(scene, &i);
            body->at[c] = 0.25 * (draw(scene, &i) - 0.5);
            body->turn[c] = 3 * draw(scene, &i);
            body->velocity[c] = 2 * (draw(scene, &i) - 0.5);
        }
        const double shape = 3 * draw(scene, &i); // a solid, a sheet, or particles, but for the first
        if (shape > 1) body->cells[1] = 0;
        if (shape > 2 && b > 0) body->cells[2] = 0;
        body->mass = 0.02 + 0.1 * draw(scene, &i);
        body->fixed = draw(scene, &i) < 0.2;
        body->material = b == 0 || draw(scene, &i) < 0.5;
    }
    meet(s, bodies, count, 0);
    for (int m = 0; m < 2; m++) {
        s->contact[m].margin = 0.03 * draw(scene, &i);
        s->contact[m].fade = 0.001 + 0.01 * draw(scene, &i);
    }
}

// The error is held against the usual size of a slope, since here parts of opposite sign may cancel.
static void test_any_bodies(void **state) {
    (void)state;
    static const SimValue values[] = {SIM_POSITION,   SIM_VELOCITY,   SIM_MASS,      SIM_CONTACT_KE,
                                      SIM_CONTACT_KD, SIM_CONTACT_KF, SIM_CONTACT_MU};
    int met = 0;
    for (uint32_t scene = 0; scene < 20; scene++) {
        SimScene s;
        any_bodies(&s, scene);
        SimCheck c = {.scene = &s, .run = {.steps = 60, .every = 20}, .options = {.precision = SIM_F64, .threads = 1}};
        sim_check_begin(&c);
        Sim *sim = sim_check_open(&c);
        sim_check_loss(&c, sim, true);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            const SimValue v = values[k];
            double derivative, size = 0;
            for (size_t i = 0; i < sim_check_count(&c, v); i++) {
                const double part = c.gradient.of[v][i] * sim_check_uniform(100 + v, i);
                size += part * part;
            }
            const double error = sim_check_best(&c, sim, v, 0, &derivative);
            if (!(error <= 1e-6 * sqrt(size) + 1e-11))
                fail_msg("scene %u: %s: %g from differences, of %g", scene, sim_value_info[v].name, error, sqrt(size));
            met += v == SIM_CONTACT_KE && size > 0;
        }
        sim_close(sim);
        sim_check_end(&c);
        sim_scene_free(&s);
    }
    printf("%d of 20 scenes have contact\n", met);
    assert_true(met > 10);
}

// Particles fall exactly on corners and edges of a flat surface: its normal does not turn there.
static void test_in_line(void **state) {
    (void)state;
    const SimSceneBody bodies[] = {
        {.cells = {2, 1, 2}, .mass = 0.05, .fixed = true},
        {.cells = {2}, .cell = {0.05, 0, 0}, .at = {0, 0.05143, 0}, .velocity = {0, -1, 0}, .mass = 0.02},
        {.cells = {1}, .at = {0, 0.05143, 0.05}, .velocity = {0, -1, 0}, .mass = 0.02}};
    SimScene s;
    meet(&s, bodies, 3, 0);
    SimCheck c = {.scene = &s, .run = {.steps = 60, .every = 20}, .options = {.precision = SIM_F64, .threads = 1}};
    sim_check_begin(&c);
    Sim *sim = sim_check_open(&c);
    sim_check_loss(&c, sim, true);
    for (SimValue v = SIM_GRAVITY; v < SIM_VALUES; v++) { // that its corners move would be a kink
        double derivative;
        if (sim_check_count(&c, v) == 0) continue;
        const double error = sim_check_best(&c, sim, v, 0, &derivative);
        if (!(error <= 1e-6 * fabs(derivative))) fail_msg("%s: %g, %g off", sim_value_info[v].name, derivative, error);
        assert_true(derivative != 0 || v != SIM_CONTACT_KE);
    }
    sim_close(sim);
    sim_check_end(&c);
    sim_scene_free(&s);
}

static void test_folded(void **state) {
    (void)state;
    Seen seen = {0};
    check(folded, 2e-2, &seen, "folded");
    assert_true(seen.faces > 20);
}

// After one step on a block: v' = v + dt k_e depth / m, and the corners of the face under it share the opposite.
static void test_first_step(void **state) {
    (void)state;
    const double depth = 0.002, dt = 1e-4;
    const SimSceneBody bodies[] = {{.cells = {1, 1, 1}, .mass = 0.04},
                                   {.at = {0.01, 0.05 - depth, 0}, .mass = 0.01, .material = 1}};
    SimScene s;
    Error err;
    meet(&s, bodies, 2, 0);
    SimCheck c = {.scene = &s, .run = {.steps = 1, .every = 1}, .options = {.precision = SIM_F64, .threads = 1}};
    sim_check_begin(&c);
    Sim *sim = sim_check_open(&c);
    sim_check_loss(&c, sim, true);
    double loss[2 * 9 * 3] = {0}, shared = 0;
    loss[27 + 8 * 3 + 1] = 1;
    assert_status_ok(sim_adjoint(sim, &c.run, &(SimLoss){NULL, loss}, &c.gradient, NULL, &err), err);
    for (int m = 0; m < 2; m++)
        assert_close(c.gradient.of[SIM_CONTACT_KE][m], dt * depth / 0.01 / 2, 0, 1e-12); // means
    assert_close(c.gradient.of[SIM_POSITION][8 * 3 + 1], -dt * 2000 / 0.01, 0, 1e-12);
    for (int i = 0; i < 8; i++) shared += c.gradient.of[SIM_POSITION][3 * i + 1];
    assert_close(shared, dt * 2000 / 0.01, 0, 1e-12);
    sim_close(sim);
    sim_check_end(&c);
    sim_scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks),     cmocka_unit_test(test_planks),
                                       cmocka_unit_test(test_sheet),      cmocka_unit_test(test_folded),
                                       cmocka_unit_test(test_any_bodies), cmocka_unit_test(test_in_line),
                                       cmocka_unit_test(test_first_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
