// SPDX-License-Identifier: Apache-2.0
// Edges of bodies that cross: planks, bars and turned boxes of one cell rest where statics says, prisms collide edge on
// edge by the laws of conservation, steps below the stable bound stay quiet, edges that should not touch do not, and
// trees find what a look at all edges finds.
#define VPD_DOUBLE // the element headers, for what SIM_F64 finds
#include "base/vector.h"
#include "sim/pack.h"
#include "sim/solver.h"
#include "sim/touching.h"
#include "tests/sim_boxes.h"
#include "tests/sim_meeting.h"
#include "tests/sim_run.h"

static const SimOptions exact = {.precision = SIM_F64, .threads = 1};

typedef struct Crossings {
    int count;
    double depth, deepest; // metres: the sum, and the largest
} Crossings;

// What edges touch at the positions of a scene; `particles`: of particles instead.
static Crossings crossings_at(const SimScene *s, const double *position, bool particles) {
    Crossings out = {0};
    double *gap = malloc(s->model.scenes * s->model.particles * sizeof *gap);
    Error err;
    Sim *sim;
    assert_non_null(gap);
    assert_status_ok(sim_open(&s->model, &exact, &sim, &err), err);
    assert_status_ok(sim_set(sim, &s->values, &err), err);
    assert_status_ok(sim_touching(sim, position, gap, &err), err);
    const SimTouching *t = &sim->packed.touching;
    for (size_t i = particles ? 0 : t->points; i < (particles ? t->points : t->rows); i++)
        for (size_t k = 0; k < (size_t)t->touches[i]; k++) {
            const double depth = -(double)t->touch[SIM_TOUCHES * i + k].gap;
            out.count++, out.depth += depth, out.deepest = fmax(out.deepest, depth);
        }
    sim_close(sim);
    free(gap);
    return out;
}

// ---- rest

enum { MOST_BODIES = 4 };

typedef struct Pile {
    SimSceneBody bodies[MOST_BODIES];
    size_t count;
    int crossings; // at rest
} Pile;

#define CUBE(...)                                                                                                      \
    { .cells = {1, 1, 1}, .cell = {0.2, 0.2, 0.2}, __VA_ARGS__ }
#define PLANK(...)                                                                                                     \
    { .cells = {1, 1, 1}, .cell = {1, 0.04, 0.1}, __VA_ARGS__ }

// The last body lies on those below by edges alone.
static const Pile piles[] = {
    {{CUBE(.at = {0, -0.1, 0}, .fixed = true), PLANK(.at = {0, 0.02, 0}, .rigid = true)}, 2, 4},
    {{PLANK(.at = {0, 0.02, 0}, .rigid = true), CUBE(.at = {0, -0.1, 0}, .fixed = true)}, 2, 4},
    {{CUBE(.at = {0, -0.1, 0}, .fixed = true), PLANK(.at = {0, 0.02, 0})}, 2, 4},
    {{CUBE(.at = {-0.3, -0.1, 0}, .fixed = true), CUBE(.at = {0.3, -0.1, 0.01}, .turn = {0, 0.2, 0}, .fixed = true),
      PLANK(.at = {0, 0.02, 0}, .rigid = true)},
     3,
     8},
    {{PLANK(.at = {0, 0.02, 0}, .rigid = true), CUBE(.at = {-0.35, -0.1, 0}, .fixed = true),
      CUBE(.at = {0, -0.1, 0}, .fixed = true), CUBE(.at = {0.35, -0.1, 0}, .fixed = true)},
     4,
     12},
    {{PLANK(.at = {0, -0.02, 0}, .fixed = true), PLANK(.at = {0, 0.02, 0}, .turn = {0, 1.1, 0}, .rigid = true)}, 2, 4},
    {{CUBE(.at = {0, -0.1, 0}, .fixed = true), CUBE(.at = {0, 0.1, 0}, .turn = {0, M_PI / 4, 0}, .rigid = true)}, 2, 8},
    {{CUBE(.at = {0, -0.1, 0}, .fixed = true), CUBE(.at = {0, 0.1, 0}, .turn = {0, M_PI / 4, 0})}, 2, 8},
};

static void make_pile(const Pile *pile, SimScene *s) {
    meet(s, pile->bodies, pile->count, 0);
    gravity(s);
    sim_scene_fill(s, SIM_CONTACT_KE, 2e4);
    sim_scene_fill(s, SIM_CONTACT_KD, 60);
    sim_scene_fill(s, SIM_TET_MU, 3e6);
    sim_scene_fill(s, SIM_TET_LAMBDA, 3e6);
    sim_scene_fill(s, SIM_TET_KD, 300);
    s->model.dt = fmin(5e-5, 0.9 * sim_stable_step(&s->model, &s->values));
}

static double free_weight(const SimScene *s) {
    double mass = 0;
    for (size_t i = 0; i < s->model.particles; i++) mass += s->model.fixed[i] ? 0 : s->values.of[SIM_MASS][i];
    return 9.81 * mass;
}

// The springs of the crossings bear the weight, and nothing else touches.
static void test_rest(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof piles / sizeof *piles; k++) {
        SimScene s;
        Run r;
        make_pile(&piles[k], &s);
        const size_t steps = (size_t)(2 / s.model.dt);
        run_scene(&s, exact, steps, steps, false, &r);
        const Crossings edges = crossings_at(&s, r.frames.position + r.frames.row, false);
        printf("pile %zu: %d crossings, %g m deep, weight over stiffness %g\n", k, edges.count,
               edges.depth / edges.count, free_weight(&s) / 2e4 / edges.count);
        assert_int_equal(edges.count, piles[k].crossings);
        assert_int_equal(crossings_at(&s, r.frames.position + r.frames.row, true).count, 0);
        assert_close(edges.depth, free_weight(&s) / 2e4, 0, 2e-3);
        for (size_t i = 0; i < 3 * s.model.particles; i++) // it stays in its place
            assert_close(r.frames.position[r.frames.row + i], s.values.of[SIM_POSITION][i], 0.01, 0);
        end_run(&r);
        sim_scene_free(&s);
    }
}

// A tower of boxes of one cell, each turned by 45 degrees on the one below.
static void test_tower(void **state) {
    (void)state;
    for (int rigid = 0; rigid < 2; rigid++) {
        Pile tower = {.count = 4};
        for (size_t k = 0; k < 4; k++)
            tower.bodies[k] =
                (SimSceneBody)CUBE(.at = {0, 0.2 * (double)k, 0}, .turn = {0, (double)(k % 2) * M_PI / 4, 0},
                                   .fixed = k == 0, .rigid = k > 0 && rigid);
        SimScene s;
        Run r;
        make_pile(&tower, &s);
        const size_t steps = (size_t)(1.5 / s.model.dt);
        run_scene(&s, exact, steps, steps, false, &r);
        for (size_t i = 0; i < 3 * s.model.particles; i++)
            assert_close(r.frames.position[r.frames.row + i], s.values.of[SIM_POSITION][i], 0.02, 0);
        assert_int_equal(crossings_at(&s, r.frames.position + r.frames.row, false).count, 24);
        end_run(&r);
        sim_scene_free(&s);
    }
}

// Boxes of one cell on each other, the middle one turned or moved to the side by little: how far they sink, at most.
static double sunk(bool rigid, double turn, double off) {
    Pile tower = {.count = 3};
    for (size_t k = 0; k < 3; k++)
        tower.bodies[k] =
            (SimSceneBody)CUBE(.at = {k == 1 ? off : 0, 0.2 * (double)k, k == 1 ? -off / 2 : 0},
                               .turn = {0, k == 1 ? turn : 0, 0}, .fixed = k == 0, .rigid = k > 0 && rigid);
    SimScene s;
    Run r;
    double low = 0;
    make_pile(&tower, &s);
    const size_t steps = (size_t)(1 / s.model.dt);
    run_scene(&s, exact, steps, steps, false, &r);
    for (size_t i = 8; i < 24; i++)
        low = fmax(low, r.frames.position[3 * i + 1] - r.frames.position[r.frames.row + 3 * i + 1]);
    end_run(&r);
    sim_scene_free(&s);
    return low;
}

// Corners that are beside the edges of the block below, by little, leave the weight to the crossings near them.
static void test_nearly_aligned(void **state) {
    (void)state;
    static const double little[] = {0, 1e-4, 1e-3, 0.01, 0.03, 0.06};
    for (int rigid = 0; rigid < 2; rigid++)
        for (size_t k = 0; k < sizeof little / sizeof *little; k++) {
            const double deep[2] = {sunk(rigid, little[k], 0), sunk(rigid, 0, little[k])};
            printf("%s, turned by %g or %g m off: %.2g and %.2g m deep\n", rigid ? "rigid" : "soft", little[k],
                   little[k], deep[0], deep[1]);
            assert_true(fmax(deep[0], deep[1]) < 0.01);
        }
}

// ---- collisions

// Two bars that stand on their edges fly at each other, the one across the other.
static void prisms(SimScene *s, bool rigid, double friction) {
    const SimSceneBody bodies[] = {{.cells = {1, 1, 1},
                                    .cell = {0.6, 0.1, 0.1},
                                    .turn = {M_PI / 4, 0, 0},
                                    .velocity = {0.1, 0.8, 0},
                                    .mass = 0.05,
                                    .rigid = rigid},
                                   {.cells = {1, 1, 1},
                                    .cell = {0.1, 0.1, 0.5},
                                    .at = {0.1, 0.15, -0.08},
                                    .turn = {0, 0, M_PI / 4},
                                    .velocity = {0, -0.6, 0.05},
                                    .mass = 0.08,
                                    .rigid = rigid}};
    meet(s, bodies, 2, 0);
    sim_scene_fill(s, SIM_CONTACT_KE, 3e3);
    sim_scene_fill(s, SIM_CONTACT_MU, friction);
    sim_scene_fill(s, SIM_TET_MU, 2e5);
    sim_scene_fill(s, SIM_TET_LAMBDA, 2e5);
    for (size_t i = 0; i < s->model.particles; i++) s->inertia[i] = 1; // those of rigid ones are point masses too
}

static void lost(bool rigid, double friction, double out[2]) {
    SimScene s;
    Run r;
    prisms(&s, rigid, friction);
    run_scene(&s, exact, 2000, 100, false, &r);
    double up = 0;
    int met = 0;
    for (size_t i = 0; i < 8; i++) up += r.frames.velocity[20 * r.frames.row + 3 * i + 1] / 8;
    for (size_t n = 0; n <= 20; n++) {
        const double *x = r.frames.position + n * r.frames.row;
        met += crossings_at(&s, x, false).count;
        assert_int_equal(crossings_at(&s, x, true).count, 0);
    }
    assert_true(met > 0 && up < 0); // it was turned round
    momenta_lost(&s, &r, 20, out);
    end_run(&r);
    sim_scene_free(&s);
}

static void test_momenta(void **state) {
    (void)state;
    for (int rigid = 0; rigid < 2; rigid++) {
        double by[2];
        lost(rigid, 0, by);
        printf("%s: momenta change by %g and %g", rigid ? "rigid" : "soft", by[0], by[1]);
        assert_true(by[0] < 1e-12 && by[1] < (rigid ? 1e-6 : 1e-12)); // a rigid body's steps keep it to dt^2
        lost(rigid, 0.5, by);
        printf("; with friction by %g and %g\n", by[0], by[1]);
        assert_true(by[0] < 1e-12 && by[1] < 2e-3);
    }
}

// Without damping: kinetic and elastic energy of soft ones before and after.
static double energy_lost(double dt) {
    SimScene s;
    Run r;
    prisms(&s, false, 0);
    s.model.dt = dt;
    sim_scene_fill(&s, SIM_TET_KD, 0);
    sim_scene_fill(&s, SIM_CONTACT_KD, 0);
    const size_t steps = (size_t)lround(0.2 / dt);
    run_scene(&s, exact, steps, steps, false, &r);
    assert_int_equal(crossings_at(&s, r.frames.position + r.frames.row, false).count, 0);
    const double out = fabs(energy(&s, &r, 1) - energy(&s, &r, 0));
    end_run(&r);
    sim_scene_free(&s);
    return out;
}

static void test_energy(void **state) {
    (void)state;
    const double coarse = energy_lost(1e-5), fine = energy_lost(2.5e-6);
    printf("energy lost: %g, %g J\n", coarse, fine);
    assert_true(coarse < 1e-6 && fine < coarse / 3);
}

// ---- the stable step

// How far bodies at rest on edges, pushed by 1e-6 m/s, go within 4000 steps of `part` of the bound.
static double unrest(const Pile *pile, double part) {
    SimScene s;
    Run r;
    double off = 0;
    make_pile(pile, &s);
    const double k = 1e5, weight = free_weight(&s);
    sim_scene_fill(&s, SIM_CONTACT_KE, k);
    sim_scene_fill(&s, SIM_CONTACT_KD, 0);
    sim_scene_fill(&s, SIM_CONTACT_KF, 0);
    s.model.dt = part * sim_stable_step(&s.model, &s.values);
    for (size_t i = 0; i < s.model.particles; i++) {
        if (s.model.fixed[i]) continue;
        s.values.of[SIM_POSITION][3 * i + 1] -= weight / k / pile->crossings;
        s.values.of[SIM_VELOCITY][3 * i + 1] = 1e-6 * (1 + s.values.of[SIM_POSITION][3 * i]);
    }
    run_scene(&s, exact, 4000, 4000, false, &r);
    for (size_t i = 0; i < 3 * s.model.particles; i++)
        if (!s.model.fixed[i / 3])
            off = fmax(off, fabs(r.frames.position[r.frames.row + i] - s.values.of[SIM_POSITION][i]));
    end_run(&r);
    sim_scene_free(&s);
    return off;
}

static void test_stable_step(void **state) {
    (void)state;
    static const size_t rigid[] = {0, 1, 4, 5, 6};
    for (size_t k = 0; k < sizeof rigid / sizeof *rigid; k++) {
        const double below = unrest(&piles[rigid[k]], 0.97);
        printf("pile %zu: off its rest by %.2g m with steps below the bound\n", rigid[k], below);
        assert_true(below < 1e-6);
    }
}

// ---- edges that do not touch

static int crossing_count(SimSceneBody a, SimSceneBody b, double margin) {
    const SimSceneBody bodies[2] = {a, b};
    SimScene s;
    meet(&s, bodies, 2, margin);
    const Crossings edges = crossings_at(&s, s.values.of[SIM_POSITION], false);
    sim_scene_free(&s);
    return edges.count;
}

static void test_apart(void **state) {
    (void)state;
    const SimSceneBody cube = CUBE(.at = {0, -0.1, 0}), small = {.cells = {1, 1, 1}, .at = {0.02, -0.1, 0.03}},
                       cloth = {.cells = {4, 0, 4}, .cell = {0.1, 0, 0.1}, .at = {0, -0.001, 0}},
                       loose = {.cells = {3}, .cell = {0.1, 0, 0}};
    assert_int_equal(crossing_count(cube, (SimSceneBody)CUBE(.at = {0, 0.099, 0}), 0.01), 0); // side over side
    assert_int_equal(crossing_count(cube, (SimSceneBody)CUBE(.at = {0.03, 0.099, 0}), 0.01), 0);
    assert_int_equal(crossing_count(cube, small, 0.01), 0); // far inside
    assert_int_equal(crossing_count(cube, cloth, 0.01), 0);
    assert_int_equal(crossing_count(cube, loose, 0.01), 0);
    for (int deep = 0; deep < 2; deep++) { // along each other, turned by 2 and by 6 degrees
        const double at = 0.02 - 0.001 * deep;
        assert_int_equal(crossing_count(cube, (SimSceneBody)PLANK(.at = {0, at, 0.15}, .turn = {0, 0.035, 0}), 0.001),
                         1);
        assert_int_equal(crossing_count(cube, (SimSceneBody)PLANK(.at = {0, at, 0.15}, .turn = {0, 0.105, 0}), 0.001),
                         2);
    }
    // A corner goes out over the face that it is 1 mm below, not 5 cm over an edge.
    const SimSceneBody corner = CUBE(.at = {0.15, 0.099, 0.14});
    assert_int_equal(crossing_count(cube, corner, 0), 2); // of the edges around the corner, upwards
    const SimSceneBody bodies[2] = {cube, corner};
    SimScene s;
    meet(&s, bodies, 2, 0);
    assert_close(crossings_at(&s, s.values.of[SIM_POSITION], false).deepest, 0.001, 1e-6, 0);
    sim_scene_free(&s);
    // As deep as half of the plank and deeper: far sides cross.
    assert_int_equal(crossing_count(cube, (SimSceneBody)PLANK(.at = {0, 0.005, 0}), 0), 4);
    assert_int_equal(crossing_count(cube, (SimSceneBody)PLANK(.at = {0, -0.005, 0}), 0), 0);
}

// ---- the search

// The edges that edge e touches, of all that there are; returns how many.
static int touched_by(const SimTouching *t, const double *records, size_t e, int32_t *out) {
    const int32_t self = t->edge_body[e];
    int count = 0;
    for (size_t f = 0; f < t->edges; f++) {
        const int32_t other = t->edge_body[f];
        const double *boxes = t->box, *box = boxes + SIM_RECORD * other;
        double around[SIM_RECORD], faces[SIM_RECORD];
        SimTouch touch;
        sim_edge_box(records, t->edge + 4 * e, 2, around);
        sim_edge_box(records, t->edge + 4 * e, 4, faces);
        if (self == other || !sim_looks_for_edges(t, self, other) || !sim_boxes_meet(around, box, t->reach)) continue;
        const double deepest = sim_deepest(t, sim_thinner(t, self, other), box, faces);
        if (sim_edges_touch(t, records, e, (int32_t)f, deepest, &touch)) out[count++] = (int32_t)f;
    }
    return count;
}

// Three blocks of several cells anywhere: the trees find what a look at all edges finds.
static void test_search(void **state) {
    (void)state;
    int all = 0;
    for (uint32_t n = 0; n < 1000; n++) {
        SimSceneBody bodies[3] = {0};
        for (uint32_t k = 0; k < 3; k++)
            for (uint32_t c = 0; c < 3; c++) {
                bodies[k].cells[c] = 1 + (size_t)(2.5 * (uniform(n, 12 * k + c) + 1));
                bodies[k].at[c] = 0.2 * uniform(n, 12 * k + 3 + c);
                bodies[k].turn[c] = (n % 3 ? 1.5 : 0.1) * uniform(n, 12 * k + 6 + c);
                bodies[k].cell[c] = 0.05 + 0.04 * uniform(n, 12 * k + 9 + c);
            }
        SimScene s;
        meet(&s, bodies, 3, n % 2 ? 0.01 : 0);
        Error err;
        Sim *sim;
        assert_status_ok(sim_open(&s.model, &exact, &sim, &err), err);
        assert_status_ok(sim_set(sim, &s.values, &err), err);
        double *gap = malloc(s.model.particles * sizeof *gap),
               *records = aligned_alloc(64, sim_padded(&sim->topology) * SIM_RECORD * sizeof *records);
        assert_true(gap && records);
        assert_status_ok(sim_touching(sim, s.values.of[SIM_POSITION], gap, &err), err);
        sim_pack_records(sim, s.values.of[SIM_POSITION], NULL, records);
        const SimTouching *t = &sim->packed.touching;
        int32_t *found = malloc((t->edges + 1) * sizeof *found);
        assert_non_null(found);
        for (size_t e = 0; e < t->edges; e++) {
            const int count = touched_by(t, records, e, found), touches = t->touches[t->points + e];
            assert_int_equal(touches, count < SIM_TOUCHES ? count : SIM_TOUCHES);
            for (int k = 0; k < touches; k++) {
                bool in = false;
                for (int i = 0; i < count; i++)
                    in |= found[i] == t->touch[SIM_TOUCHES * (t->points + e) + (size_t)k].face;
                assert_true(in);
            }
            all += count;
        }
        free(found);
        free(records);
        free(gap);
        sim_close(sim);
        sim_scene_free(&s);
    }
    printf("%d crossings\n", all);
    assert_true(all > 200);
}

// ---- how deep edges are

static size_t box_particles(const size_t cells[3]) { return (cells[0] + 1) * (cells[1] + 1) * (cells[2] + 1); }

static Box box_of(const double *x, const size_t cells[3]) {
    const size_t end[3] = {cells[0], (cells[0] + 1) * cells[1], (cells[0] + 1) * (cells[1] + 1) * cells[2]};
    Box box = {0};
    for (size_t c = 0; c < 3; c++) {
        box.middle[c] = x[c];
        for (size_t k = 0; k < 3; k++) {
            box.half[k][c] = (x[3 * end[k] + c] - x[c]) / 2;
            box.middle[c] += box.half[k][c];
        }
    }
    return box;
}

// Two beams that cross each other by half of their thickness: told at both ends of the two edges of each that are
// inside the other, and nowhere else.
static void test_both_ends(void **state) {
    const SimSceneBody bodies[] = {{.cells = {1, 1, 1}, .cell = {1, 0.1, 0.1}, .at = {0, 0, 0}},
                                   {.cells = {1, 1, 1}, .cell = {0.1, 0.1, 1}, .at = {0, 0.05, 0}}};
    double gap[16];
    int told = 0;
    SimScene s;
    Sim *sim;
    Error err;
    (void)state;
    meet(&s, bodies, 2, 0);
    assert_status_ok(sim_open(&s.model, &exact, &sim, &err), err);
    assert_status_ok(sim_set(sim, &s.values, &err), err);
    assert_int_equal(s.model.particles, 16);
    assert_status_ok(sim_touching(sim, s.values.of[SIM_POSITION], gap, &err), err);
    for (size_t i = 0; i < 16; i++) {
        const double y = s.values.of[SIM_POSITION][3 * i + 1];
        told += gap[i] < 0;
        assert_int_equal(gap[i] < 0, i < 8 ? y > 0 : y < 0.05); // the upper edges of one, the lower ones of the other
    }
    assert_int_equal(told, 8);
    sim_close(sim);
    sim_scene_free(&s);
}

// Equal blocks that lie on one plane, whose corners and edges are all on each other's surfaces, and those at the very
// same place: told where they overlap, and not where they are side by side.
static void test_aligned(void **state) {
    static const double at[][3] = {{0, 0, 0},   {0.1, 0, 0}, {0, 0.1, 0},   {0.1, 0, 0.06}, {0.03, 0, 0.02},
                                   {0.2, 0, 0}, {0, 0.2, 0}, {0.2, 0, 0.2}, {0.2, 0, 0.1}};
    (void)state;
    for (size_t k = 0; k < sizeof at / sizeof *at; k++)
        for (int turned = 0; turned < 2; turned++) {
            SimSceneBody bodies[] = {CUBE(.at = {0}), CUBE(.at = {at[k][0], at[k][1], at[k][2]})};
            bodies[1].turn[1] = turned * 1e-3;
            double gap[16], least = INFINITY;
            SimScene s;
            Sim *sim;
            Error err;
            meet(&s, bodies, 2, 0);
            const double *x = s.values.of[SIM_POSITION];
            const Box first = box_of(x, bodies[0].cells), second = box_of(x + 24, bodies[1].cells);
            const double deep = overlap(&first, &second);
            assert_status_ok(sim_open(&s.model, &exact, &sim, &err), err);
            assert_status_ok(sim_set(sim, &s.values, &err), err);
            assert_status_ok(sim_touching(sim, x, gap, &err), err);
            for (size_t i = 0; i < 16; i++) least = fmin(least, gap[i]);
            if (k < 5) assert_true(least < -0.25 * deep && least >= -deep - 1e-8);
            else assert_true(least > -2e-4);
            sim_close(sim);
            sim_scene_free(&s);
        }
}

// Beams, plates and boxes anywhere: one is told to be inside the other where they overlap, however deep, and only
// there. Some that overlap deeply touch nowhere.
static void test_inside(void **state) {
    enum { MOST_PARTICLES = 64 };
    int inside = 0, untouched = 0;
    (void)state;
    for (uint32_t n = 0; n < 5000; n++) {
        SimSceneBody bodies[2] = {0};
        for (uint32_t k = 0; k < 2; k++)
            for (uint32_t c = 0; c < 3; c++) {
                bodies[k].cells[c] = 1 + (size_t)(1.5 * (uniform(n, 200 + 12 * k + c) + 1));
                bodies[k].at[c] = 0.1 * uniform(n, 100 + 12 * k + c);
                bodies[k].turn[c] = 3 * uniform(n, 100 + 12 * k + 3 + c);
                bodies[k].cell[c] = (uniform(n, 100 + 12 * k + 6 + c) > 0 ? 0.05 : 0.4) / (double)bodies[k].cells[c];
            }
        SimScene s;
        meet(&s, bodies, 2, 0);
        const double *x = s.values.of[SIM_POSITION];
        const Box first = box_of(x, bodies[0].cells),
                  second = box_of(x + 3 * box_particles(bodies[0].cells), bodies[1].cells);
        const double deep = overlap(&first, &second);
        double gap[2 * MOST_PARTICLES], least = INFINITY;
        Error err;
        Sim *sim;
        assert_status_ok(sim_open(&s.model, &exact, &sim, &err), err);
        assert_status_ok(sim_set(sim, &s.values, &err), err);
        assert_status_ok(sim_touching(sim, x, gap, &err), err);
        for (size_t i = 0; i < s.model.particles; i++) least = fmin(least, gap[i]);
        bool touches = false;
        for (size_t i = 0; i < sim->packed.touching.rows; i++) touches |= sim->packed.touching.touches[i] > 0;
        const bool found = least < 0;
        assert_int_equal(found, deep > 0);
        if (deep > 0 && !touches) assert_true(least >= -deep - 1e-12);
        inside += deep > 0.01;
        untouched += deep > 0.01 && !touches;
        sim_close(sim);
        sim_scene_free(&s);
    }
    printf("%d of 5000 pairs overlap by a centimetre, %d without a touch\n", inside, untouched);
    assert_true(inside > 500 && untouched > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest),      cmocka_unit_test(test_tower),  cmocka_unit_test(test_nearly_aligned),
        cmocka_unit_test(test_momenta),   cmocka_unit_test(test_energy), cmocka_unit_test(test_stable_step),
        cmocka_unit_test(test_apart),     cmocka_unit_test(test_search), cmocka_unit_test(test_inside),
        cmocka_unit_test(test_both_ends), cmocka_unit_test(test_aligned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
