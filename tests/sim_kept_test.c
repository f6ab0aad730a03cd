// SPDX-License-Identifier: Apache-2.0
// Round parts that lie on and in each other: what steps before know of near faces and edges changes no bit of what
// particles and edges touch, and each near body has a place of its own in what is kept.
#define VPD_DOUBLE // the element headers, for what SIM_F64 finds
#include "base/random.h"
#include "base/vector.h"
#include "bench/sim_scenes.h"
#include "sim/solver.h"
#include "sim/touching.h"
#include "tests/test.h"

static const double STEP = 0.01; // seconds

enum { MOST_BODIES = 14, MOST_PARTICLES = 4000, MOST_FACES = 8000 };

static double uniform(uint32_t stream, size_t i) { // in -1 .. 1
    return 2 * random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST, .step = stream}, i) - 1;
}

// ---- parts

typedef struct Parts {
    size_t particles, faces, bodies;
    double x[3 * MOST_PARTICLES]; // at rest, about the middle of each
    int32_t face[3 * MOST_FACES], body[MOST_PARTICLES], rigid[MOST_PARTICLES];
    uint8_t fixed[MOST_PARTICLES];
    double at[MOST_BODIES][3], turn[MOST_BODIES][3], sway[MOST_BODIES];
} Parts;

static void add_face(Parts *p, size_t a, size_t b, size_t c) {
    const int32_t face[3] = {(int32_t)a, (int32_t)b, (int32_t)c};
    assert_true(p->faces < MOST_FACES);
    memcpy(p->face + 3 * p->faces++, face, sizeof face);
}

// Four loops of a profile's corners, each joined to the next; the last to the first, unless inner loops have radius 0
// and become one corner each.
static void add_round(Parts *p, size_t corners, double outer, double inner, double height, double teeth) {
    const size_t first = p->particles;
    const bool hole = inner > 0;
    for (int loop = 0; loop < 4; loop++) {
        const bool in = loop >= 2;
        for (size_t i = 0; i < (in && !hole ? 1 : corners); i++) {
            const double angle = 2 * M_PI * (double)i / (double)corners,
                         radius = in ? inner : outer * (i / 2 % 2 ? 1 - teeth : 1);
            double *x = p->x + 3 * p->particles;
            x[0] = radius * cos(angle), x[1] = radius * sin(angle);
            x[2] = (loop == 1 || loop == 2 ? 0.5 : -0.5) * height;
            p->body[p->particles++] = (int32_t)p->bodies;
        }
    }
    for (size_t i = 0; i < corners; i++) {
        const size_t next = (i + 1) % corners, top = first + corners, mid = first + 2 * corners, low = mid + corners;
        add_face(p, first + i, first + next, top + next);
        add_face(p, first + i, top + next, top + i);
        if (!hole) {
            add_face(p, top + i, top + next, mid);
            add_face(p, first + next, first + i, mid + 1);
            continue;
        }
        add_face(p, top + i, top + next, mid + next);
        add_face(p, top + i, mid + next, mid + i);
        add_face(p, mid + i, mid + next, low + next);
        add_face(p, mid + i, low + next, low + i);
        add_face(p, low + i, low + next, first + next);
        add_face(p, low + i, first + next, first + i);
    }
    p->bodies++;
}

// A wide ring that rests, with a disc in its hole, and rings, discs, gears and thin coarse plates about it. Upright
// edges of gears touch both edges of a plate.
static void heap(Parts *p) {
    *p = (Parts){0};
    add_round(p, 48, 1.2, 0.62, 0.4, 0);
    for (size_t b = 1; b < MOST_BODIES; b++) {
        const double z = b == 1 ? 0 : 0.25 * (double)(b / 2) - 0.58;
        if (b == 1) add_round(p, 160, 0.6, 0, 0.24, 0);
        else if (b % 4 == 0) add_round(p, 10, 0.6, 0, 0.04, 0);
        else add_round(p, b % 2 ? 16 : 24, 0.55, b % 4 == 1 ? 0.3 : 0, 0.24, b % 2 ? 0.2 : 0);
        for (uint32_t c = 0; c < 3; c++) {
            p->at[b][c] = c == 2 ? z : b == 1 ? 0 : 0.5 * uniform(1 + c, b) + (c == 0 ? b % 2 ? 0.5 : -0.5 : 0);
            p->turn[b][c] = c == 2 ? 2 * uniform(4, b) : 0.1 * uniform(5 + c, b);
        }
        p->sway[b] = 1;
    }
}

// ---- the simulator's own arrays

typedef struct World {
    Sim *sim;
    void *state;
} World;

static void open_world(const Parts *p, SimPrecision precision, const char *isa, World *w) {
    static double mass[MOST_PARTICLES], one[1] = {1}, none[3] = {0, 0, 0};
    for (size_t i = 0; i < p->particles; i++) mass[i] = 1;
    const SimMaterial material = {.margin = 0.01};
    size_t rigids = 0;
    for (size_t i = 0; i < p->particles; i++)
        rigids = (size_t)(p->rigid[i] + 1) > rigids ? (size_t)p->rigid[i] + 1 : rigids;
    const SimModel model = {.scenes = 1,
                            .particles = p->particles,
                            .materials = 1,
                            .contacts = &material,
                            .faces = p->faces,
                            .face = p->face,
                            .body = p->body,
                            .fixed = p->fixed,
                            .rigids = rigids,
                            .rigid = p->rigid,
                            .dt = STEP};
    SimValues values = {0};
    values.of[SIM_REST] = (double *)p->x, values.of[SIM_MASS] = mass, values.of[SIM_GRAVITY] = none;
    for (SimValue v = SIM_CONTACT_KE; v <= SIM_CONTACT_MU; v++) values.of[v] = one;
    Error err;
    assert_status_ok(sim_open(&model, &(SimOptions){.precision = precision, .threads = 1, .isa = isa}, &w->sim, &err),
                     err);
    assert_status_ok(sim_set(w->sim, &values, &err), err);
    w->state = calloc(sim_padded(&w->sim->topology) * SIM_RECORD, (size_t)w->sim->backend->real_bytes);
    assert_non_null(w->state);
}

static void close_world(World *w) {
    sim_close(w->sim);
    free(w->state);
}

// Particle i goes from one place to another in a step.
static void move(World *w, size_t i, const double from[3], const double to[3]) {
    const size_t at = SIM_RECORD * (size_t)w->sim->topology.vertex_of[i];
    for (size_t c = 0; c < 3; c++) {
        sim_put(w->sim, w->state, at + c, to[c]);
        sim_put(w->sim, w->state, at + SIM_QUAD + c, (to[c] - from[c]) / STEP);
    }
}

// Where particle i is at a time in seconds: bodies sway and turn, each in its own way.
static void place(const Parts *p, size_t i, double time, double x[3]) {
    const int32_t b = p->body[i];
    double turn[3];
    for (int c = 0; c < 3; c++) turn[c] = p->turn[b][c] + 0.2 * p->sway[b] * sin(time * (1 + b % 4) + c);
    sim_scene_turn(turn, p->x + 3 * i, x);
    for (int c = 0; c < 3; c++) x[c] += p->at[b][c] + 0.12 * p->sway[b] * sin(time * (2 + b % 3) + 2 * c);
}

static void find(World *w, bool jump) {
    const SimTouching *t = &w->sim->packed.touching;
    w->sim->backend->body_boxes(t, w->state, jump, 0, 1);
    w->sim->backend->body_trees(t, w->state, 0, 1);
    w->sim->backend->touches(t, w->state, NULL, 0, 1);
}

// Compares with a search that knows nothing of steps before; adds what touches.
typedef struct Found {
    size_t faces, edges, twice; // twice: of edges that touch several edges of one body
} Found;

static void compare(World *w, World *fresh, bool jump, Found *found) {
    const SimTouching *t = &w->sim->packed.touching, *u = &fresh->sim->packed.touching;
    find(w, jump);
    memcpy(fresh->state, w->state, sim_padded(&w->sim->topology) * SIM_RECORD * (size_t)w->sim->backend->real_bytes);
    find(fresh, true);
    assert_memory_equal(t->touches, u->touches, t->rows * sizeof *t->touches);
    for (size_t i = 0; i < t->rows; i++) {
        assert_memory_equal(t->touch + SIM_TOUCHES * i, u->touch + SIM_TOUCHES * i,
                            (size_t)t->touches[i] * sizeof *t->touch);
        *(i < t->points ? &found->faces : &found->edges) += (size_t)t->touches[i];
        const SimTouch *touch = t->touch + SIM_TOUCHES * i;
        for (int32_t k = 1; k < t->touches[i] && i >= t->points; k++)
            found->twice += t->edge_body[touch[k].face] == t->edge_body[touch[k - 1].face];
    }
}

// Compares with searches through the trees alone; of SIM_F64 without fused products, which round as they do here.
static void compare_trees(World *w, World *fresh) {
    const SimTouching *t = &w->sim->packed.touching, *u = &fresh->sim->packed.touching;
    for (size_t row = 0; row < t->rows; row++) {
        sim_find_touches(u, fresh->state, row, sim_look_anew, sim_touch_edges);
        assert_int_equal(t->touches[row], u->touches[row]);
        for (size_t k = SIM_TOUCHES * row; k < SIM_TOUCHES * row + (size_t)t->touches[row]; k++)
            assert_int_equal(t->touch[k].face, u->touch[k].face);
    }
}

// ---- tests

// Of four bodies at most in whose boxes a particle is, each has a place.
static void each_has_a_place(const World *w) {
    const SimTouching *t = &w->sim->packed.touching;
    for (size_t i = 0; i < t->points; i++) {
        size_t held = 0, kept = 0;
        for (int32_t k = 0; k < t->nears[t->point_body[i]]; k++) {
            const int32_t other = t->near[(size_t)t->point_body[i] * t->most + (size_t)k];
            const size_t at = SIM_RECORD * (size_t)other, from = SIM_RECORD * (size_t)t->point[i];
            bool in = true, has = false;
            for (size_t c = 0; c < 3; c++) {
                const double x = sim_get(w->sim, w->state, from + c);
                in = in && x >= sim_get(w->sim, t->box, at + c) - t->reach &&
                     x <= sim_get(w->sim, t->box, at + SIM_QUAD + c) + t->reach;
            }
            for (size_t j = 0; j < SIM_TOUCHES; j++)
                has = has || sim_is_of(&t->body[other], false, t->guess[SIM_TOUCHES * i + j]);
            held += in, kept += in && has;
        }
        if (held <= SIM_TOUCHES) assert_int_equal(kept, held);
    }
}

// Forwards and back, slowly and fast, with rests between.
static void test_heap(void **state) {
    static const char *const isas[] = {"base", "avx2", "avx512"};
    static Parts parts;
    (void)state;
    heap(&parts);
    for (size_t i = 0; i < parts.particles; i++) {
        parts.fixed[i] = parts.body[i] == 0;
        parts.rigid[i] = parts.body[i] - 1;
    }
    for (int k = 0; k < 6; k++) {
        World w, fresh;
        Found found = {0};
        double time = 0;
        if (!sim_backend_find(isas[k / 2], k % 2)) continue;
        open_world(&parts, k % 2 ? SIM_F64 : SIM_F32, isas[k / 2], &w);
        open_world(&parts, k % 2 ? SIM_F64 : SIM_F32, isas[k / 2], &fresh);
        for (int n = 0; n < 220; n++) {
            const double way = n < 40 ? 1e-4 : n < 80 ? 3e-3 : n < 90 ? 0 : n < 120 ? -2e-3 : 5e-2, was = time;
            time += way;
            for (size_t i = 0; i < parts.particles; i++) {
                double from[3], to[3];
                place(&parts, i, was, from);
                place(&parts, i, time, to);
                move(&w, i, from, to);
            }
            compare(&w, &fresh, n == 0, &found);
            if (k == 1) compare_trees(&w, &fresh);
            each_has_a_place(&w);
        }
        assert_true(found.faces > 10000 && found.edges > 1000 && found.twice > 50);
        close_world(&w);
        close_world(&fresh);
    }
}

// Two thin walls at a right angle, which turn inside out at step 4, while a loose particle that was far from them is
// out of their box. It comes back when they rest again, and is behind their faces then.
static void test_rest_ends(void **state) {
    static const double corner[6][2] = {{0, 0}, {1, 0}, {1, 0.01}, {0.01, 0.01}, {0.01, 1}, {0, 1}};
    static const size_t across[6] = {3, 2, 1, 0, 5, 4}, fan[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 5}};
    static Parts p;
    World w, fresh;
    Found found = {0};
    (void)state;
    p = (Parts){.bodies = 2, .particles = 13};
    for (size_t i = 0; i < 12; i++)
        p.x[3 * i] = corner[i % 6][0], p.x[3 * i + 1] = corner[i % 6][1], p.x[3 * i + 2] = i < 6 ? 0 : 1;
    for (size_t k = 0; k < 4; k++) {
        add_face(&p, fan[k][0], fan[k][2], fan[k][1]);
        add_face(&p, 6 + fan[k][0], 6 + fan[k][1], 6 + fan[k][2]);
    }
    for (size_t i = 0; i < 6; i++) {
        add_face(&p, i, (i + 1) % 6, 6 + (i + 1) % 6);
        add_face(&p, i, 6 + (i + 1) % 6, 6 + i);
    }
    for (int c = 0; c < 3; c++) p.x[36 + c] = c == 1 ? 0.98 : 0.5;
    p.body[12] = 1;
    for (int i = 0; i < 13; i++) p.rigid[i] = -1;
    open_world(&p, SIM_F64, NULL, &w);
    open_world(&p, SIM_F64, NULL, &fresh);
    assert_true(w.sim->packed.touching.body[0].closed);
    for (int n = 0; n < 8; n++) {
        for (size_t i = 0; i < 13; i++) {
            double way[2][3]; // where it is before and after the step
            for (int k = 0; k < 2; k++) {
                const int step = n - 1 + k;
                const bool out = step >= 3 && step < 7, turned = i < 12 && step >= 4;
                memcpy(way[k], p.x + 3 * (turned ? i / 6 * 6 + across[i % 6] : i), sizeof way[k]);
                if (turned) way[k][2] = p.x[3 * i + 2];
                if (i == 12 && out) way[k][1] = 1.03;
            }
            move(&w, i, way[0], way[1]);
        }
        compare(&w, &fresh, n == 0, &found);
        assert_int_equal(found.faces, n == 7);
    }
    close_world(&w);
    close_world(&fresh);
}

// Whether a particle touches one face alone, whose corners are all so high.
static bool touches_level(const World *w, size_t particle, double height) {
    const SimTouching *t = &w->sim->packed.touching;
    size_t row = 0;
    while (t->point[row] != w->sim->topology.vertex_of[particle]) row++;
    const SimTouch *touch = t->touch + SIM_TOUCHES * row;
    if (t->touches[row] != 1) return false;
    for (int j = 0; j < 3; j++)
        if (sim_get(w->sim, w->state, SIM_RECORD * (size_t)t->face[3 * touch->face + j] + 2) != height) return false;
    return true;
}

// A block whose top has a line of points beside one of its edges, from which thin faces go to two corners, and a corner
// of another block in it that goes along that line. Its nearest face is a side of the first block, which is turned like
// its own surface, so it touches the top: always the face above it, though few of the faces there are kept.
static void test_against(void **state) {
    enum { LINE = 161 };
    static const int32_t sides[10][3] = {{0, 2, 1}, {0, 3, 2}, {0, 1, 5}, {0, 5, 4}, {1, 2, 6},
                                         {1, 6, 5}, {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};
    static const double corner[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    static Parts p;
    World w, fresh;
    Found found = {0};
    size_t tops = 0;
    (void)state;
    p = (Parts){.bodies = 2, .particles = 16 + LINE};
    for (size_t i = 0; i < 16; i++) {
        const size_t at = i + (i < 8 ? 0 : LINE);
        p.x[3 * at] = corner[i % 4][0], p.x[3 * at + 1] = corner[i % 4][1], p.x[3 * at + 2] = i % 8 < 4 ? 0 : 1;
        p.body[at] = i >= 8;
    }
    for (size_t i = 8; i < 8 + LINE; i++)
        p.x[3 * i] = 0.95, p.x[3 * i + 1] = 0.1 + 0.005 * (double)(i - 8), p.x[3 * i + 2] = 1;
    for (size_t i = 8; i + 1 < 8 + LINE; i++) add_face(&p, i, 6, i + 1), add_face(&p, i, i + 1, 7);
    add_face(&p, 4, 5, 8), add_face(&p, 5, 6, 8), add_face(&p, 4, 8, 7), add_face(&p, 6, 7, 7 + LINE);
    for (size_t f = 0; f < 10; f++) add_face(&p, (size_t)sides[f][0], (size_t)sides[f][1], (size_t)sides[f][2]);
    const size_t first = 8 + LINE;
    for (size_t f = 0; f < 10; f++)
        add_face(&p, first + (size_t)sides[f][0], first + (size_t)sides[f][1], first + (size_t)sides[f][2]);
    add_face(&p, first + 4, first + 5, first + 6), add_face(&p, first + 4, first + 6, first + 7);
    for (size_t i = 0; i < p.particles; i++) p.rigid[i] = -1;
    open_world(&p, SIM_F64, NULL, &w);
    open_world(&p, SIM_F64, NULL, &fresh);
    assert_true(w.sim->packed.touching.body[0].closed && w.sim->packed.touching.body[1].closed);
    for (int n = 0; n < 60; n++) {
        for (size_t i = 0; i < p.particles; i++) {
            const double *x = p.x + 3 * i, step = 0.002, gone = n < 30 ? n : 60 - n;
            const double to[3] = {x[0] - 0.03, x[1] - 0.3 + step * gone, x[2] + 0.95},
                         from[3] = {to[0], to[1] - (n < 30 ? step : -step), to[2]};
            move(&w, i, p.body[i] ? from : x, p.body[i] ? to : x);
        }
        compare(&w, &fresh, n == 0, &found);
        tops += touches_level(&w, first + 2, 1);
    }
    assert_int_equal(tops, 60);
    close_world(&w);
    close_world(&fresh);
}

// Where the bound says that a body's surface is turned against a normal, its own normal says so too, whatever its
// shape.
static void test_surely_against(void **state) {
    static Parts parts;
    World w;
    size_t sure = 0, against = 0;
    (void)state;
    heap(&parts);
    for (size_t i = 0; i < parts.particles; i++) parts.rigid[i] = -1;
    open_world(&parts, SIM_F64, NULL, &w);
    const SimTouching *t = &w.sim->packed.touching;
    for (uint32_t draw = 0; draw < 30; draw++) {
        for (size_t i = 0; i < parts.particles; i++) {
            double x[3];
            for (size_t c = 0; c < 3; c++) x[c] = parts.x[3 * i + c] + 0.01 * draw * uniform(20 + draw, 3 * i + c);
            move(&w, i, x, x);
        }
        for (size_t i = 0; i < t->points; i++) {
            double normal[3], own[3];
            sim_own_normal(t, w.state, t->point[i], own);
            for (size_t c = 0; c < 3; c++) normal[c] = uniform(60 + draw, 3 * i + c) - (i % 2 ? own[c] : 0);
            const double length = sqrt(vector_dot(normal, normal));
            for (size_t c = 0; c < 3; c++) normal[c] /= length;
            const bool is_sure = sim_surely_against(t, w.state, t->point[i], normal);
            if (is_sure) assert_true(vector_dot(normal, own) < 0);
            sure += is_sure, against += vector_dot(normal, own) < 0;
        }
    }
    print_message("%zu of %zu are told so\n", sure, against);
    assert_true(4 * sure > against);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_heap), cmocka_unit_test(test_against),
                                       cmocka_unit_test(test_rest_ends), cmocka_unit_test(test_surely_against)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
