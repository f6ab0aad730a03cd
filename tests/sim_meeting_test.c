// SPDX-License-Identifier: Apache-2.0
// Bodies that meet, against laws of conservation, closed forms, and contact with planes; what changes no bits; and what
// is said about wrong bodies.
#include "sim/solver.h"
#include "tests/sim_meeting.h"
#include "tests/sim_run.h"

static const SimOptions exact = {.precision = SIM_F64, .threads = 1};

// ---- laws of conservation

// Two free blocks that fly at each other, askew or face to face, without gravity.
static void collision(SimScene *s, bool askew) {
    SimSceneBody bodies[] = {{.cells = {2, 2, 2}, .velocity = {1, 0, 0}, .mass = 0.05},
                             {.cells = {2, 2, 2}, .at = {0.22, 0.05, 0.03}, .velocity = {-0.5, 0.2, 0}, .mass = 0.08}};
    if (askew) memcpy(bodies[1].turn, (double[3]){0.4, 0.3, 0.7}, sizeof bodies[1].turn), bodies[1].at[0] += 0.04;
    meet(s, bodies, 2, 0);
}

// Change of momentum (0.5 kg m/s), and of angular momentum (0.17), in a collision that turned the blocks round.
static void lost_momenta(bool friction, double out[2]) {
    SimScene s;
    Run r;
    collision(&s, true);
    if (!friction) s.values.of[SIM_CONTACT_MU][0] = 0;
    run_scene(&s, exact, 2000, 2000, false, &r);
    double along = 0;
    for (size_t i = 0; i < 27; i++) along += r.frames.velocity[r.frames.row + 3 * i] / 27;
    assert_true(along < 0.5); // the first slowed down
    momenta_lost(&s, &r, 1, out);
    end_run(&r);
    sim_scene_free(&s);
}

// Friction acts at the particle and at the face, or at two edges, a depth apart (2 cm here), so it changes angular
// momentum, by little.
static void test_momenta(void **state) {
    (void)state;
    double lost[2];
    lost_momenta(false, lost);
    assert_true(lost[0] < 1e-12 && lost[1] < 1e-12);
    lost_momenta(true, lost);
    assert_true(lost[0] < 1e-12 && lost[1] < 3e-3 && lost[1] > 1e-6);
}

// Blocks of one size on each other, the upper ones `off` to the side, where corners lie on or beside the edges of the
// block below: how far the lowest place is below where they began after half a second.
static double sunk(bool rigid, double off) {
    SimSceneBody bodies[4] = {{.cells = {2, 2, 2}, .at = {0, -0.2, 0}, .fixed = true}};
    SimScene s;
    Run r;
    double low = 0;
    for (int k = 1; k < 4; k++)
        bodies[k] = (SimSceneBody){
            .cells = {2, 2, 2}, .at = {k % 2 ? off : 0, 0.2 * (k - 1), k % 2 ? -off : 0}, .rigid = rigid};
    meet(&s, bodies, 4, 0);
    gravity(&s);
    sim_scene_fill(&s, SIM_CONTACT_KE, 2e4);
    sim_scene_fill(&s, SIM_CONTACT_KD, 50);
    sim_scene_fill(&s, SIM_TET_MU, 1e6);
    sim_scene_fill(&s, SIM_TET_LAMBDA, 1e6);
    sim_scene_fill(&s, SIM_TET_KD, 100);
    run_scene(&s, exact, 5000, 5000, false, &r);
    for (size_t i = 27; i < s.model.particles; i++)
        low = fmin(low, r.frames.position[r.frames.row + 3 * i + 1] - r.frames.position[3 * i + 1]);
    end_run(&r);
    sim_scene_free(&s);
    return -low;
}

static void test_stack(void **state) {
    (void)state;
    static const double off[] = {0, 1e-5, 3e-3};
    for (int rigid = 0; rigid < 2; rigid++)
        for (int k = 0; k < 3; k++) {
            const double deep = sunk(rigid, off[k]);
            printf("a stack of %s blocks, %g m off: %.2g m deep\n", rigid ? "rigid" : "soft", off[k], deep);
            assert_true(deep < 0.03);
        }
}

// Kinetic, elastic, and k_e depth^2 / 2 of each touch, one step before the end.
static double whole_energy(const SimScene *s, const Run *r) {
    const SimTouching *t = &r->sim->packed.touching;
    double sum = energy(s, r, 1);
    for (size_t i = 0; i < t->rows && (t->nears[0] || t->nears[1]); i++)
        for (int k = 0; k < t->touches[i]; k++) {
            const double depth = s->contact[0].margin - (double)t->touch[SIM_TOUCHES * i + (size_t)k].gap;
            sum += s->values.of[SIM_CONTACT_KE][0] * depth * depth / 2;
        }
    return sum;
}

static double energy_after(double time, double dt, bool askew) {
    SimScene s;
    Run r;
    collision(&s, askew);
    s.model.dt = dt;
    sim_scene_fill(&s, SIM_TET_KD, 0);
    sim_scene_fill(&s, SIM_CONTACT_KD, 0);
    sim_scene_fill(&s, SIM_CONTACT_MU, 0);
    s.contact[0].margin = askew ? 0.01 : 0;
    const size_t steps = (size_t)lround(time / dt);
    run_scene(&s, exact, steps, steps, false, &r);
    const double sum = whole_energy(&s, &r);
    end_run(&r);
    sim_scene_free(&s);
    return sum;
}

// Without damping and friction a collision keeps energy (1 J kinetic), but for an error of the order of the time
// step.
static void test_energy(void **state) {
    (void)state;
    for (int askew = 0; askew < 2; askew++) {
        double lost[2] = {0, 0};
        for (int fine = 0; fine < 2; fine++) {
            const double dt = fine ? 1.25e-5 : 5e-5, before = energy_after(dt, dt, askew);
            for (double time = 0.02; time < 0.15; time += 0.04)
                lost[fine] = fmax(lost[fine], fabs(energy_after(time, dt, askew) - before));
        }
        printf("energy lost: %g, %g J\n", lost[0], lost[1]);
        assert_true(lost[0] < 2e-3 && lost[1] < lost[0] / 3);
    }
}

// A particle of mass m hits the middle of a triangle of mass M without gravity: at depth d its force is k_e d, so both
// swing about their common centre for half a period of sqrt(k_e / mu), mu = m M / (m + M), and part with the speeds of
// an elastic collision.
static void test_two_bodies(void **state) {
    (void)state;
    const double m = 0.02, M = 0.09, k = 500, v = 2, margin = 0.05, dt = 1e-5, w = sqrt(k * (1 / m + 1 / M));
    const int32_t face[3] = {0, 1, 2}, body[4] = {0, 0, 0, 1};
    const SimMaterial contact = {.margin = margin};
    SimModel model = {.scenes = 1, .particles = 4, .materials = 1, .dt = dt};
    SimScene s;
    Run r;
    Error err;
    assert_status_ok(sim_scene_allocate(&s, &model, &err), err);
    s.model.faces = 1, s.model.face = face, s.model.body = body, s.model.contacts = &contact;
    const double at[12] = {-1, 0, -1, 1, 0, -1, 0, 0, 2, 0, margin, 0}; // as it begins to touch
    for (size_t i = 0; i < 12; i++) s.values.of[SIM_POSITION][i] = s.values.of[SIM_REST][i] = at[i];
    for (size_t i = 0; i < 4; i++) s.values.of[SIM_MASS][i] = i < 3 ? M / 3 : m;
    s.values.of[SIM_VELOCITY][3 * 3 + 1] = -v;
    s.values.of[SIM_CONTACT_KE][0] = k;
    const size_t middle = (size_t)lround(M_PI / 2 / w / dt);
    run_scene(&s, exact, 4 * middle, middle, false, &r);
    const double *half = r.frames.position + r.frames.row, *last = r.frames.velocity + 4 * r.frames.row;
    assert_close(margin - (half[10] - half[1]), v / w, 0, 1e-3); // deepest
    assert_close(last[10], -v * (m - M) / (m + M), 0, 1e-3);
    for (int i = 0; i < 3; i++) assert_close(last[3 * i + 1], -v * 2 * m / (m + M), 0, 1e-3);
    end_run(&r);
    sim_scene_free(&s);
}

// A fixed block that moves on at its velocity pushes a free one before it.
static void test_pushed(void **state) {
    (void)state;
    const SimSceneBody bodies[] = {{.cells = {1, 1, 1}, .cell = {0.2, 0.2, 0.2}, .mass = 1, .fixed = true},
                                   {.cells = {1, 1, 1}, .at = {0.16, 0.01, 0.02}, .mass = 0.05}};
    SimScene s;
    Run r;
    meet(&s, bodies, 2, 0);
    sim_scene_fill(&s, SIM_CONTACT_KD, 5);
    for (size_t i = 0; i < 8; i++) s.values.of[SIM_VELOCITY][3 * i] = 0.5;
    run_scene(&s, exact, 10000, 10000, false, &r);
    const double *x = r.frames.position + r.frames.row;
    assert_close(x[0], -0.1 + 0.5, 0, 1e-12);
    for (size_t i = 8; i < 16; i++) assert_true(x[3 * i] > 0.1 + 0.5 - 0.005);
    end_run(&r);
    sim_scene_free(&s);
}

// ---- rest

static double height_of(const SimScene *s, const double *x, int32_t body, const double at[3]) {
    double lowest = INFINITY; // of the faces above or below a point
    for (size_t f = 0; f < s->model.faces; f++) {
        const int32_t *face = s->model.face + 3 * f;
        double w[3], all = 0, y = 0;
        bool inside = s->model.body[face[0]] == body;
        for (int j = 0; j < 3; j++) {
            const double *a = x + 3 * face[(j + 1) % 3], *b = x + 3 * face[(j + 2) % 3];
            w[j] = (a[2] - at[2]) * (b[0] - at[0]) - (a[0] - at[0]) * (b[2] - at[2]);
            all += w[j];
        }
        for (int j = 0; j < 3; j++) inside = inside && w[j] / all >= 0, y += w[j] / all * x[3 * face[j] + 1];
        if (inside && fabs(all) > 1e-9) lowest = fmin(lowest, y);
    }
    return lowest;
}

// A block on a fixed one sinks until the springs of all touching particles hold its weight: those of its own corners,
// or, where it is larger, those of the other's.
static void test_rest(void **state) {
    (void)state;
    for (int larger = 0; larger < 2; larger++) {
        const double size[2] = {larger ? 0.2 : 0.4, larger ? 0.4 : 0.2};
        const SimSceneBody bodies[] = {{.cells = {1, 1, 1},
                                        .cell = {size[0], size[0], size[0]},
                                        .at = {0, -size[0] / 2, 0},
                                        .mass = 1,
                                        .fixed = true},
                                       {.cells = {1, 1, 1},
                                        .cell = {size[1], size[1], size[1]},
                                        .at = {0, size[1] / 2, 0},
                                        .mass = 0.5,
                                        .material = 1}};
        SimScene s;
        Run r;
        meet(&s, bodies, 2, 0);
        gravity(&s);
        s.values.of[SIM_CONTACT_KE][0] = 3000, s.values.of[SIM_CONTACT_KE][1] = 1000; // 2000 in the mean
        sim_scene_fill(&s, SIM_CONTACT_KD, 100);
        sim_scene_fill(&s, SIM_TET_KD, 200);
        run_scene(&s, exact, 20000, 20000, false, &r);
        const double *x = r.frames.position + r.frames.row;
        double sunk = 0;
        for (size_t i = 0; i < 8; i++) {
            const double *at = x + 3 * (i + (larger ? 0 : 8));
            if (fabs(at[1]) < 0.05) sunk += larger ? at[1] - height_of(&s, x, 1, at) : -at[1];
        }
        assert_close(sunk, 8 * 0.5 * 9.81 / 2000, 0, 1e-3);
        end_run(&r);
        sim_scene_free(&s);
    }
}

// ---- friction

// How far a block comes from the start and from the middle of a rollout, on a fixed one of 20 degrees, over its corners
// and edges.
static void slide(double mu, size_t steps, double way[2]) {
    const double tilt = 20 * M_PI / 180, depth = 0.8 * 9.81 * cos(tilt) / 2000 / 4, up = 0.1 + 0.05 - depth;
    const double above[3] = {-0.4, up, 0.01}, turn[3] = {0, 0, -tilt};
    SimSceneBody bodies[] = {{.cells = {6, 1, 2}, .cell = {0.2, 0.2, 0.2}, .turn = {0, 0, -tilt}, .fixed = true},
                             {.cells = {1, 1, 1}, .turn = {0, 0, -tilt}, .mass = 0.1}};
    sim_scene_turn(turn, above, bodies[1].at);
    SimScene s;
    Run r;
    meet(&s, bodies, 2, 0);
    gravity(&s);
    sim_scene_fill(&s, SIM_CONTACT_MU, mu);
    sim_scene_fill(&s, SIM_CONTACT_KF, 400);
    sim_scene_fill(&s, SIM_TET_KD, 100);
    run_scene(&s, exact, steps, steps / 2, false, &r);
    const double *end = r.frames.position + 2 * r.frames.row;
    way[0] = way[1] = 0;
    for (size_t i = s.model.particles - 8; i < s.model.particles; i++) {
        for (size_t k = 0; k < 2; k++) {
            const double *from = r.frames.position + k * r.frames.row;
            way[k] += (cos(tilt) * (end[3 * i] - from[3 * i]) - sin(tilt) * (end[3 * i + 1] - from[3 * i + 1])) / 8;
        }
    }
    end_run(&r);
    sim_scene_free(&s);
}

// Below the angle of friction it creeps at m g sin / (k_f of four corners); above, it slides.
static void test_friction(void **state) {
    (void)state;
    const double tilt = 20 * M_PI / 180;
    double stuck[2], sliding[2];
    slide(0.5, 20000, stuck);
    slide(0.2, 4000, sliding);
    printf("creeps %g and %g m, slides %g and %g\n", stuck[0], stuck[1], sliding[0], sliding[1]);
    assert_close(stuck[1], 0.8 * 9.81 * sin(tilt) / (4 * 400), 0, 0.05);
    assert_close(2 * sliding[1] - sliding[0], 0.04 * 9.81 * (sin(tilt) - 0.2 * cos(tilt)), 0, 0.01);
}

// ---- planes are the witness

// A block that tumbles and slides over a large fixed one moves as it does over a plane at the same place.
static void test_as_a_plane(void **state) {
    (void)state;
    Run r[2];
    SimScene s[2];
    const double turn[3] = {0.05, 0.3, -0.1};
    SimPlane ground = {.material = 1};
    sim_scene_turn(turn, (const double[3]){0, 1, 0}, ground.normal);
    for (int plane = 0; plane < 2; plane++) {
        const SimSceneBody bodies[] = {{.cells = {2, 1, 1},
                                        .at = {0.3, 0.2, 0.2},
                                        .turn = {0.3, 0.2, 0.5},
                                        .velocity = {0.7, -1, 0.3},
                                        .mass = 0.1},
                                       {.cells = {1, 1, 1},
                                        .cell = {4, 4, 4},
                                        .at = {-2 * ground.normal[0], -2 * ground.normal[1], -2 * ground.normal[2]},
                                        .turn = {turn[0], turn[1], turn[2]},
                                        .mass = 1,
                                        .fixed = true,
                                        .material = 1}};
        meet(&s[plane], bodies, 2, 0);
        gravity(&s[plane]);
        s[plane].values.of[SIM_CONTACT_KE][1] = 5000;
        s[plane].values.of[SIM_CONTACT_MU][1] = 0.1;
        s[plane].contact[1].margin = 0.01;
        if (plane) s[plane].model.faces = 0, s[plane].model.planes = 1, s[plane].model.plane = &ground;
        run_scene(&s[plane], exact, 8000, 100, false, &r[plane]);
    }
    double most = 0, moved = 0;
    for (size_t i = 0; i < 81 * r[0].frames.row; i++) {
        most = fmax(most, fabs(r[0].frames.position[i] - r[1].frames.position[i]));
        moved = fmax(moved, fabs(r[0].frames.position[i] - r[0].frames.position[i % r[0].frames.row]));
    }
    printf("%g m from what a plane does, after %g m\n", most, moved);
    assert_true(most < 1e-9 && moved > 0.2);
    for (int k = 0; k < 2; k++) end_run(&r[k]), sim_scene_free(&s[k]);
}

// ---- sheets

// Particles thrown at a fixed sheet from both sides come back to theirs, when it has a margin.
static void test_sheet(void **state) {
    (void)state;
    for (int margin = 0; margin < 2; margin++) {
        const SimSceneBody bodies[] = {
            {.cells = {4, 0, 4}, .mass = 1, .fixed = true},
            {.cells = {2}, .cell = {0.07, 0, 0}, .at = {0, 0.05, 0.02}, .velocity = {0, -1, 0}, .mass = 0.05},
            {.cells = {2}, .cell = {0.07, 0, 0}, .at = {0.02, -0.05, 0}, .velocity = {0, 1, 0}, .mass = 0.05}};
        SimScene s;
        Run r;
        meet(&s, bodies, 3, margin ? 0.01 : 0);
        run_scene(&s, exact, 1500, 1500, false, &r);
        const double *y = r.frames.position + r.frames.row + 1;
        for (int i = 0; i < 6; i++) assert_true((y[3 * (25 + i)] > 0) == (margin == (i < 3)));
        end_run(&r);
        sim_scene_free(&s);
    }
}

// ---- bits

// Three scenes of blocks, a sheet and particles that meet, each with other velocities.
static void crowd(SimScene *one, SimScene *out, bool apart) {
    const double far = apart ? 9 : 0;
    const SimSceneBody bodies[] = {
        {.cells = {2, 2, 2}, .velocity = {0.8, 0, 0}, .mass = 0.05},
        {.cells = {3, 1, 2},
         .at = {0.26 + far, 0.02, 0.03},
         .turn = {0.1, 0.2, 0.1},
         .velocity = {-0.8, 0, 0},
         .mass = 0.05,
         .material = 1},
        {.cells = {6, 0, 5}, .at = {0.2, 0.11 + 2 * far, 0}, .velocity = {0, -1, 0}, .mass = 0.01},
        {.cells = {4}, .cell = {0.05, 0, 0}, .at = {0, 0.12 + 4 * far, 0.02}, .velocity = {0, -2, 0}, .mass = 0.02},
        {.cells = {1, 1, 1}, .cell = {1, 1, 1}, .at = {0, -0.599 - far, 0}, .fixed = true}};
    Error err;
    meet(one, bodies, 5, 0);
    gravity(one);
    one->contact[1].margin = 0.004;
    assert_status_ok(sim_scene_repeat(one, 3, out, &err), err);
    const size_t row = 3 * one->model.particles;
    for (size_t i = 0; i < 3 * row; i++) out->values.of[SIM_VELOCITY][i] *= 1 + 0.1 * (double)(i / row);
}

static void same_bits(SimScene *one, SimScene *scenes, double mib) {
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        const SimOptions plain = {.precision = (SimPrecision)p, .threads = 1};
        SimOptions threads = plain, little = plain;
        threads.threads = 2;
        assert_same_bits(scenes, plain, threads);
        threads.threads = 3;
        assert_same_bits(scenes, plain, threads);
        little.memory_mib = p == SIM_F32 ? mib : 2 * mib;
        assert_same_bits(scenes, plain, little);
    }
    sim_scene_free(scenes);
    sim_scene_free(one);
}

static void test_bits(void **state) {
    (void)state;
    SimScene one, scenes;
    Error err;
    crowd(&one, &scenes, false);
    same_bits(&one, &scenes, 0.6);
    planks(&one);
    assert_status_ok(sim_scene_repeat(&one, 3, &scenes, &err), err);
    same_bits(&one, &scenes, 0.2);
}

// More bodies than a particle remembers: nine blocks in a heap, under a sheet that touches itself.
static void test_heap(void **state) {
    (void)state;
    SimSceneBody bodies[10];
    for (size_t i = 0; i < 9; i++) {
        const double at[3] = {0.104 * (double)(i % 3), 0.103 * (double)(i / 3) + 0.05, 0.03 * (double)(i % 2)};
        bodies[i] = (SimSceneBody){.cells = {1, 1, 1},
                                   .at = {at[0], at[1], at[2]},
                                   .turn = {0, 0.2 * (double)i, 0},
                                   .velocity = {1 - at[0] * 10, -1, 0},
                                   .mass = 0.03,
                                   .material = i % 2};
    }
    bodies[9] = (SimSceneBody){
        .cells = {8, 0, 8}, .cell = {0.05, 0, 0.05}, .at = {0.1, 0.34, 0}, .velocity = {0, -2, 0}, .mass = 0.01};
    SimScene s;
    meet(&s, bodies, 10, 0);
    gravity(&s);
    s.contact[0].margin = 0.01;
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        const SimOptions plain = {.precision = (SimPrecision)p, .threads = 1};
        SimOptions threads = plain, little = plain;
        threads.threads = 2;
        little.memory_mib = p == SIM_F32 ? 0.4 : 0.8;
        assert_same_bits(&s, plain, threads);
        assert_same_bits(&s, plain, little);
    }
    sim_scene_free(&s);
}

// A scene of a batch moves as it does alone.
static void test_batch(void **state) {
    (void)state;
    SimScene one, scenes;
    Run r[2];
    crowd(&one, &scenes, false);
    const size_t row = 3 * one.model.particles;
    memcpy(one.values.of[SIM_VELOCITY], scenes.values.of[SIM_VELOCITY] + 2 * row, row * sizeof(double));
    run_scene(&one, exact, 300, 300, false, &r[0]);
    run_scene(&scenes, exact, 300, 300, false, &r[1]);
    for (size_t i = 0; i < row; i++)
        assert_close(r[1].frames.position[r[1].frames.row + 2 * row + i], r[0].frames.position[row + i], 1e-12, 0);
    for (int k = 0; k < 2; k++) end_run(&r[k]);
    sim_scene_free(&scenes);
    sim_scene_free(&one);
}

// Bodies that stay apart have the bits of bodies that cannot meet; those that come together do not.
static void test_apart(void **state) {
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        SimScene one, scenes;
        Run r[2];
        SimValues g[2];
        crowd(&one, &scenes, apart);
        run_with(&scenes, exact, &r[0], &g[0]);
        scenes.model.faces = 0;
        run_with(&scenes, exact, &r[1], &g[1]);
        const size_t all = sim_frames(&r[0].run) * r[0].frames.row * sizeof(double);
        assert_int_equal(!memcmp(r[0].frames.position, r[1].frames.position, all), apart);
        for (SimValue v = 0; v < SIM_VALUES; v++) {
            const size_t count = sim_value_count(&scenes.model, 0, v);
            if (apart) assert_memory_equal(g[0].of[v], g[1].of[v], count * sizeof(double));
            if (v == SIM_CONTACT_KE)
                for (size_t i = 0; i < count; i++) assert_true((g[0].of[v][i] != 0) == !apart);
            free(g[0].of[v]), free(g[1].of[v]);
        }
        for (int k = 0; k < 2; k++) end_run(&r[k]);
        sim_scene_free(&scenes);
        sim_scene_free(&one);
    }
}

// ---- wrong bodies

static void refuse(const SimModel *model, const char *words) {
    Sim *sim;
    Error err;
    assert_status_error(sim_open(model, &exact, &sim, &err), STATUS_BAD_INPUT, err, words);
}

static void test_wrong(void **state) {
    (void)state;
    const int32_t face[6] = {0, 1, 2, 3, 4, 5}, body[6] = {0, 0, 0, 1, 1, 1}, material[6] = {0};
    int32_t bad_face[6], bad_body[6], bad_material[6];
    const SimMaterial contact = {0};
    const SimModel good = {.scenes = 1,
                           .particles = 6,
                           .materials = 1,
                           .contacts = &contact,
                           .dt = 1e-3,
                           .faces = 2,
                           .face = face,
                           .body = body,
                           .material = material};
    Sim *sim;
    Error err;
    assert_status_ok(sim_open(&good, &exact, &sim, &err), err);
    sim_close(sim);
    SimModel m = good;
    m.face = memcpy(bad_face, face, sizeof face);
    bad_face[4] = 6;
    refuse(&m, "face 1: particle 6 is not one of 0 to 5");
    bad_face[4] = -1;
    refuse(&m, "face 1: particle -1 is not one of 0 to 5");
    bad_face[4] = 3;
    refuse(&m, "face 1: particle 3 occurs twice");
    bad_face[4] = 2;
    refuse(&m, "face 1: particles 3 and 2 belong to different bodies");
    m = good;
    m.body = memcpy(bad_body, body, sizeof body);
    bad_body[5] = -1;
    refuse(&m, "particle 5: body -1 is not one of 0 to 5");
    bad_body[5] = 6;
    refuse(&m, "particle 5: body 6 is not one of 0 to 5");
    m.body = NULL;
    refuse(&m, "particle 0: body -1 is not one of 0 to 5");
    m = good;
    m.material = memcpy(bad_material, material, sizeof material);
    bad_material[2] = 1;
    refuse(&m, "particle 2");
    m.material = NULL;
    assert_status_ok(sim_open(&m, &exact, &sim, &err), err);
    sim_close(sim);
    m.materials = 0;
    refuse(&m, "particle 0");
    m = good;
    m.scenes = (size_t)1 << 40;
    refuse(&m, "more than");
    m.scenes = 1, m.faces = (size_t)1 << 40;
    refuse(&m, "faces: more than");
}

// States that are not finite end a rollout with a sentence, wherever they put particles and faces before.
static void test_explosion(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++) {
        SimScene one, scenes;
        Error err;
        Sim *sim;
        crowd(&one, &scenes, false);
        sim_scene_fill(&scenes, SIM_CONTACT_KE, k & 4 ? 1e8 : 1e5);
        scenes.model.dt = 2e-3;
        const SimOptions options = {.precision = k & 1 ? SIM_F64 : SIM_F32, .threads = k & 2 ? 2 : 1};
        const SimRun run = {.steps = 3000,
                            .every = 3000,
                            .position = scenes.values.of[SIM_POSITION],
                            .velocity = scenes.values.of[SIM_VELOCITY],
                            .gradient = true};
        assert_status_ok(sim_open(&scenes.model, &options, &sim, &err), err);
        assert_status_ok(sim_set(sim, &scenes.values, &err), err);
        assert_status_error(sim_rollout(sim, &run, &err), STATUS_FAILED, err, "the state of particle");
        sim_close(sim);
        sim_scene_free(&scenes);
        sim_scene_free(&one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_momenta), cmocka_unit_test(test_stack),      cmocka_unit_test(test_energy),
        cmocka_unit_test(test_rest),    cmocka_unit_test(test_friction),   cmocka_unit_test(test_as_a_plane),
        cmocka_unit_test(test_sheet),   cmocka_unit_test(test_two_bodies), cmocka_unit_test(test_pushed),
        cmocka_unit_test(test_heap),    cmocka_unit_test(test_bits),       cmocka_unit_test(test_batch),
        cmocka_unit_test(test_apart),   cmocka_unit_test(test_wrong),      cmocka_unit_test(test_explosion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
