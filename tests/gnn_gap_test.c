// SPDX-License-Identifier: Apache-2.0
// Gaps of nodes (docs/model.md, gap_a) against a naive search: to what stands still, and to what moves otherwise.
#include "tests/gnn_scene.h"
#include "tests/naive_plane.h"

static const size_t COUNTS[] = {140, 133, 150};
enum { PLANE = 10, PLANE_LEAST = 3, LOOKED_AT = 32, LOOKED_AMONG = 512, JOINED = 8, FEWEST = 10 };

// A particle and, where it moves, how it goes: by the motion of a node. Those of one body have one number.
typedef struct Mover {
    const real *x, *c;
    double w[3], turn[3];
    size_t body, size;
} Mover;

// The plane that a mover may run into, how near to the target, and its own velocity relative to that.
typedef struct Meeting {
    bool there;
    double target[3], normal[3], w[3], reach;
} Meeting;

static double distance_between(const real *a, const real *b) {
    return naive_length((double[3]){(double)(a[0] - b[0]), (double)(a[1] - b[1]), (double)(a[2] - b[2])});
}

static void naive_carry(const double *v, const double *turn, const double *r, double *out) {
    for (size_t c = 0; c < 3; c++)
        out[c] = v[c] + turn[(c + 1) % 3] * r[(c + 2) % 3] - turn[(c + 2) % 3] * r[(c + 1) % 3];
}

// In (position, lc rgb); lc 0: in position.
static double look_between(const Mover *a, const Mover *b, double lc) {
    double look = lc > 0 ? lc * distance_between(a->c, b->c) : 0;
    return hypot(distance_between(a->x, b->x), look);
}

// The up to k nearest to `to`, without that itself; returns their number.
static size_t naive_nearest(const Mover *from, size_t count, const Mover *to, double lc, size_t k, const Mover **out) {
    size_t found = 0;
    for (const Mover *m = from; m < from + count; m++) {
        size_t place = found;
        if (m == to) continue;
        while (place > 0 && look_between(m, to, lc) < look_between(out[place - 1], to, lc)) place--;
        if (place == k) continue;
        if (found < k) found++;
        for (size_t i = found - 1; i > place; i--) out[i] = out[i - 1];
        out[place] = m;
    }
    return found;
}

static void list_places(const Mover **movers, size_t count, const real **places) {
    for (size_t i = 0; i < count; i++) places[i] = movers[i]->x;
}

// Of a particle's nodes the nearest that moves; the nearest of all where none does.
static size_t naive_node(const GnnPlan *plan, const Scene *s, size_t t, size_t particle) {
    const int32_t *index = plan->to_particle.index + particle * plan->to_particle.k;
    for (size_t e = 0; e < plan->to_particle.k; e++)
        if (s->m[t][plan->node[index[e]]] > 0) return (size_t)index[e];
    return (size_t)index[0];
}

static bool naive_is_node(const GnnPlan *plan, size_t particle) {
    for (size_t a = 0; a < plan->nodes; a++)
        if ((size_t)plan->node[a] == particle) return true;
    return false;
}

static size_t naive_moving_nodes(const GnnPlan *plan, const Scene *s, size_t t) {
    size_t count = 0;
    for (size_t a = 0; a < plan->nodes; a++) count += s->m[t][plan->node[a]] > 0;
    return count;
}

// So many of those that move are looked at, and of the others.
static size_t naive_most(const GnnPlan *plan, const Scene *s, size_t t) {
    size_t four = 4 * naive_moving_nodes(plan, s, t);
    return four > LOOKED_AMONG ? four : LOOKED_AMONG;
}

// Particles that move, or those that do not; adds to *passed those that pass over a still node for a moving one.
static size_t naive_movers(const GnnPlan *plan, const Scene *s, size_t t, bool moving, Mover *movers, size_t *passed) {
    size_t count = 0, most = naive_most(plan, s, t), others = moving ? most - naive_moving_nodes(plan, s, t) : most;
    for (size_t i = 0; i < s->count[t]; i++) {
        if (moving != (s->m[t][i] > 0)) continue;
        if (!moving || !naive_is_node(plan, i)) {
            if (others == 0) continue;
            others--;
        }
        Mover *m = &movers[count++];
        *m = (Mover){.x = s->x[t] + 3 * i, .c = s->c[t] + 3 * i};
        if (!moving) continue;
        size_t node = naive_node(plan, s, t, i);
        double v[3], r[3];
        *passed += node != (size_t)plan->to_particle.index[i * plan->to_particle.k];
        for (size_t c = 0; c < 3; c++) {
            v[c] = (double)plan->node_velocity[3 * node + c];
            m->turn[c] = (double)plan->node_spin[3 * node + c];
            r[c] = (double)(m->x[c] - s->x[t][3 * (size_t)plan->node[node] + c]);
        }
        naive_carry(v, m->turn, r, m->w);
    }
    return count;
}

// The plane through the still particles nearest to one.
static Meeting naive_still(const Mover *still, size_t count, const Mover *one) {
    const Mover *near[PLANE];
    const real *places[PLANE];
    Meeting m = {.there = count > 0, .reach = INFINITY};
    size_t k = naive_nearest(still, count, one, 0, PLANE, near);
    if (!m.there) return m;
    list_places(near, k, places);
    naive_mean(places, k, m.target);
    naive_normal(places, k, m.normal);
    memcpy(m.w, one->w, sizeof m.w);
    return m;
}

// Does b go otherwise than it would have to with the motion of a?
static bool naive_differs(const Mover *a, const Mover *b, double least) {
    double r[3], own[3], off[3];
    for (size_t c = 0; c < 3; c++) r[c] = (double)(b->x[c] - a->x[c]);
    naive_carry(a->w, a->turn, r, own);
    for (size_t c = 0; c < 3; c++) off[c] = b->w[c] - own[c];
    return naive_length(off) >= least;
}

// Numbers spread among neighbours that go as one, until none changes.
static void naive_bodies(const GnnConfig *config, Mover *movers, size_t count) {
    static size_t near[SCENE_MAX][JOINED];
    size_t k[SCENE_MAX];
    for (size_t i = 0; i < count; i++) {
        const Mover *found[JOINED];
        k[i] = naive_nearest(movers, count, &movers[i], config->colour_length, JOINED, found);
        for (size_t e = 0; e < k[i]; e++) near[i][e] = (size_t)(found[e] - movers);
        movers[i].body = i;
    }
    for (bool changes = true; changes;) {
        changes = false;
        for (size_t i = 0; i < count; i++)
            for (size_t e = 0; e < k[i]; e++) {
                Mover *a = &movers[i], *b = &movers[near[i][e]];
                double least = 0.5 * config->displacement_scale;
                if (a->body == b->body || naive_differs(a, b, least) || naive_differs(b, a, least)) continue;
                a->body = b->body = a->body < b->body ? a->body : b->body;
                changes = true;
            }
    }
    for (size_t i = 0; i < count; i++) {
        movers[i].size = 0;
        for (size_t j = 0; j < count; j++) movers[i].size += movers[j].body == movers[i].body;
    }
}

// Of the 32 movers nearest to one the first of another body that is no crumb, with the plane of that body around it.
static Meeting naive_other(const GnnConfig *config, const Mover *movers, size_t count, const Mover *one) {
    const Mover *near[LOOKED_AT], *around[LOOKED_AT];
    const real *plane[PLANE];
    size_t k = naive_nearest(movers, count, one, 0, LOOKED_AT, near);
    for (size_t i = 0; i < k; i++) {
        const Mover *to = near[i];
        if (to->body == one->body || to->size < FEWEST) continue;
        Meeting m = {.there = true, .reach = 0.5 * config->length_scale};
        size_t others = naive_nearest(movers, count, to, 0, LOOKED_AT, around), there = 0;
        for (size_t j = 0; j < others && there < PLANE; j++)
            if (around[j]->body == to->body) plane[there++] = around[j]->x;
        if (there < PLANE_LEAST) continue;
        while (there < PLANE) plane[there++] = to->x;
        naive_normal(plane, PLANE, m.normal);
        for (size_t c = 0; c < 3; c++) m.target[c] = (double)to->x[c], m.w[c] = one->w[c] - to->w[c];
        return m;
    }
    return (Meeting){0};
}

static double within(double x, double limit) { return fmax(-limit, fmin(limit, x)); }

// The half of a node's gap that the meetings of its body give. Returns whether there is one.
static bool naive_gap(const GnnConfig *config, const real *node, const Mover *movers, const Mover **body, size_t count,
                      const Meeting *meetings, double gap[12]) {
    double ell = config->length_scale, s = config->displacement_scale, least = INFINITY, middle[3];
    const real *places[SCENE_MAX];
    list_places(body, count, places);
    naive_mean(places, count, middle);
    gap[6] = 3, gap[7] = 3 * ell / s;
    for (size_t i = 0; i < count; i++) {
        const Meeting *m = &meetings[body[i] - movers];
        double d[3], up[3], n[3], along[3], after[3];
        for (size_t c = 0; c < 3; c++) d[c] = (double)body[i]->x[c] - m->target[c], up[c] = middle[c] - m->target[c];
        for (size_t c = 0; c < 3; c++) n[c] = naive_dot(m->normal, up) < 0 ? -m->normal[c] : m->normal[c];
        double across = naive_dot(d, n), left = across + naive_dot(m->w, n);
        for (size_t c = 0; c < 3; c++) after[c] = d[c] + m->w[c] - left * n[c];
        if (!m->there || naive_length(after) > m->reach || left >= least) continue;
        least = left;
        for (size_t c = 0; c < 3; c++) {
            gap[c] = (double)(body[i]->x[c] - node[c]) / ell;
            gap[3 + c] = n[c];
            gap[9 + c] = m->w[c] / s;
            along[c] = d[c] - across * n[c];
        }
        gap[6] = within(across, 3 * ell) / ell;
        gap[7] = within(left, 3 * ell) / s;
        gap[8] = within(naive_length(along), 3 * ell) / ell;
    }
    return isfinite(least);
}

// What there is to meet in a scene.
typedef struct Seen {
    size_t movers, still, passed, bodies, crumbs; // bodies of at least 10 movers, and smaller ones
    size_t beside;                                // movers that have another body near
    size_t nodes, meets_still, meets_other;       // nodes that move, and those that meet something
} Seen;

static size_t list_body(const Mover *movers, size_t count, const real *node, const Mover **body) {
    size_t own = 0, found = 0;
    while (movers[own].x != node) own++;
    for (size_t i = 0; i < count; i++)
        if (movers[i].body == movers[own].body) body[found++] = &movers[i];
    return found;
}

static Seen check_gaps(const GnnPlan *plan, const Scene *s, const GnnConfig *config) {
    static Mover movers[SCENE_MAX], still[SCENE_MAX];
    static Meeting meetings[2][SCENE_MAX];
    Seen seen = {0};
    size_t t = config->T - 1, width = gnn_gap_width(config), moving = 0;
    seen.movers = naive_movers(plan, s, t, true, movers, &seen.passed);
    seen.still = naive_movers(plan, s, t, false, still, &seen.passed);
    naive_bodies(config, movers, seen.movers);
    for (size_t i = 0; i < seen.movers; i++) {
        if (movers[i].body == i) ++*(movers[i].size < FEWEST ? &seen.crumbs : &seen.bodies);
        meetings[0][i] = naive_still(still, seen.still, &movers[i]);
        meetings[1][i] = naive_other(config, movers, seen.movers, &movers[i]);
        seen.beside += meetings[1][i].there;
    }
    for (size_t a = 0; a < plan->nodes; a++) {
        const Mover *body[SCENE_MAX];
        const real *at = s->x[t] + 3 * plan->node[a];
        const real *there = plan->gap + width * a;
        double gap[24] = {0};
        bool moves = s->m[t][plan->node[a]] > 0;
        moving += moves;
        if (moves) {
            size_t count = list_body(movers, seen.movers, at, body);
            seen.meets_still += naive_gap(config, at, movers, body, count, meetings[0], gap);
            seen.meets_other += naive_gap(config, at, movers, body, count, meetings[1], gap + 12);
        }
        for (size_t c = 0; c < width; c++)
            assert_close((double)there[c], gap[c], 1e-4, 1e-4); // roundings of places over ell
    }
    assert_true(moving > 0 && (moving < plan->nodes || seen.still == 0));
    seen.nodes = moving;
    return seen;
}

static GnnConfig full_config(void) {
    size_t full = 0;
    while (!scene_forms[full].full) full++;
    return scene_config(&scene_forms[full]);
}

static Seen seen_with(const GnnConfig *config, Scene *scene) {
    SceneModel model;
    Tape tape;
    model_open(&model, config, 2, true);
    tape_init(&tape, model.device);
    GnnSets sets = scene_sets(&tape, scene);
    GnnPlanInput input = scene_plan_input(scene, &sets, 0);
    GnnPlan plan;
    gnn_plan_make(&tape, config, &input, &plan);
    Seen seen = check_gaps(&plan, scene, config);
    tape_free(&tape);
    model_close(&model);
    free(scene);
    return seen;
}

static void let_all_move(Scene *scene, size_t t) {
    for (size_t i = 0; i < scene->count[t]; i++) scene->m[t][i] = 1;
}

// The halves of the block fly into each other while they turn, and its far edge goes up.
static Scene *scene_of_halves(const GnnConfig *config) {
    Scene *scene = scene_make(config->T, COUNTS);
    for (size_t i = 0; i < SCENE_SEEN; i++) {
        bool left = scene->seen_x[3 * i]<0, edge = scene->seen_x[3 * i + 1]>(real) 0.06;
        scene->seen_u[3 * i] = (real)(left ? 0.03 : -0.03);
        if (edge) scene->seen_u[3 * i + 2] = (real)0.06;
    }
    return scene;
}

static void gaps_are_where_the_body_meets_planes_soonest(void **state) {
    (void)state;
    GnnConfig config = full_config();
    assert_int_equal(gnn_gap_width(&config), 24);
    Seen seen = seen_with(&config, scene_of_halves(&config));
    assert_true(seen.bodies == 2 && seen.meets_still == seen.nodes && seen.meets_other == seen.nodes);
    config.length_scale = 0.02; // what is beyond 3 ell is cut, and some of what is beside will not be before
    seen = seen_with(&config, scene_of_halves(&config));
    assert_true(seen.beside == seen.movers && seen.meets_other < seen.nodes);
}

// With many nodes each part of the block has its own turn: one body, and crumbs, which are met by nothing.
static void crumbs_are_nothing_to_meet(void **state) {
    (void)state;
    GnnConfig config = full_config();
    config.M = 40;
    Seen seen = seen_with(&config, scene_of_halves(&config));
    assert_true(seen.bodies == 1 && seen.crumbs > 2 && seen.beside < seen.movers);
    assert_true(seen.meets_other > 0 && seen.meets_other < seen.nodes);
}

// The sheet is drawn together under the block, which stands in it, and flags hardly count for distances.
static void particles_move_with_a_node_that_moves(void **state) {
    (void)state;
    GnnConfig config = full_config();
    Scene *scene = scene_make(config.T, COUNTS);
    config.moving_length = 0.001;
    config.colour_length = 0.01;
    for (size_t t = 0; t < config.T; t++)
        for (size_t i = 0; i < scene->count[t]; i++) {
            real *x = scene->x[t] + 3 * i;
            if (scene->m[t][i] > 0) x[2] -= (real)0.09;
            else x[0] *= (real)0.3, x[1] *= (real)0.3;
        }
    Seen seen = seen_with(&config, scene);
    assert_true(seen.passed > 0 && seen.passed < seen.movers);
}

static void nothing_else_moves(void **state) {
    (void)state;
    GnnConfig config = full_config();
    Scene *scene = scene_make(config.T, COUNTS);
    for (size_t i = 0; i < 3 * SCENE_SEEN; i++) scene->seen_u[i] = (real)-0.02;
    memset(scene->seen_g, 0, sizeof scene->seen_g);
    config.moving_length = 10; // every particle of the block is near a node of it
    Seen seen = seen_with(&config, scene);
    assert_true(seen.meets_still == seen.nodes && seen.bodies == 1 && seen.crumbs == 0 && seen.meets_other == 0);
}

// Two halves of the world, each of one colour, that go towards each other without turning: each particle goes by a node
// of its half.
static Scene *scene_of_two(const GnnConfig *config) {
    Scene *scene = scene_make(config->T, COUNTS);
    for (size_t t = 0; t < config->T; t++)
        for (size_t i = 0; i < 3 * scene->count[t]; i++) scene->c[t][i] = scene->x[t][i - i % 3] < 0;
    memset(scene->seen_g, 0, sizeof scene->seen_g);
    for (size_t i = 0; i < 3 * SCENE_SEEN; i++) {
        bool left = scene->seen_x[i - i % 3] < 0;
        scene->seen_c[i] = left;
        scene->seen_u[i] = (real)(i % 3 ? 0 : left ? 0.03 : -0.03);
    }
    return scene;
}

static void ten_are_a_body_to_meet(void **state) {
    (void)state;
    GnnConfig config = full_config();
    for (size_t few = 9; few <= 10; few++) {
        size_t t = config.T - 1, left = 0;
        Scene *scene = scene_of_two(&config);
        for (size_t i = 0; i < scene->count[t]; i++)
            if (scene->m[t][i] > 0 && scene->x[t][3 * i] < 0 && ++left > few) scene->m[t][i] = 0;
        Seen seen = seen_with(&config, scene);
        assert_true(seen.bodies == 1 + (few == 10) && seen.crumbs == (few == 9));
        assert_true(seen.beside == (few == 10 ? seen.movers : few)); // what the other one has beside it is too small
    }
}

// Everything moves: most of it has too many of its own around it.
static void others_are_looked_for_nearby(void **state) {
    (void)state;
    GnnConfig config = full_config();
    Scene *scene = scene_of_two(&config);
    let_all_move(scene, config.T - 1);
    Seen seen = seen_with(&config, scene);
    assert_true(seen.bodies == 2 && seen.crumbs == 0 && seen.meets_other > 0);
    assert_true(seen.beside > 10 && seen.beside < seen.movers - 10);
}

// One mover has no neighbour, two have one.
static void few_move(void **state) {
    (void)state;
    GnnConfig config = full_config();
    for (size_t few = 1; few <= 11; few += few < 3 ? 1 : 8) {
        Scene *scene = scene_of_halves(&config);
        for (size_t i = 0, there = 0; i < scene->count[config.T - 1]; i++)
            if (scene->m[config.T - 1][i] > 0 && ++there > few) scene->m[config.T - 1][i] = 0;
        assert_int_equal(seen_with(&config, scene).movers, few);
    }
}

// Positions that training lost are reported by what comes after; a plan of them must not end the program.
static void lost_positions_do_no_harm(void **state) {
    (void)state;
    GnnConfig config = full_config();
    Scene *scene = scene_of_halves(&config);
    SceneModel model;
    Tape tape;
    for (size_t i = 0; i < 3 * scene->count[config.T - 1]; i++) scene->x[config.T - 1][i] = (real)NAN;
    model_open(&model, &config, 2, true);
    tape_init(&tape, model.device);
    GnnSets sets = scene_sets(&tape, scene);
    GnnPlanInput input = scene_plan_input(scene, &sets, 0);
    GnnPlan plan;
    gnn_plan_make(&tape, &config, &input, &plan);
    assert_true(plan.nodes > 0 && plan.gap);
    tape_free(&tape);
    model_close(&model);
    free(scene);
}

// No plane that stands.
static void nothing_stands(void **state) {
    (void)state;
    GnnConfig config = full_config();
    Scene *scene = scene_make(config.T, COUNTS);
    let_all_move(scene, config.T - 1);
    Seen seen = seen_with(&config, scene);
    assert_true(seen.meets_still == 0 && seen.meets_other > 0 && seen.bodies > 2);
}

// More particles than are looked at: 512 of a kind, or four for each moving node.
static void many_particles_are_thinned_out(void **state) {
    (void)state;
    static const size_t many[] = {1700, 1900, 1900};
    GnnConfig config = full_config();
    Seen seen = seen_with(&config, scene_make(config.T, many));
    assert_true(seen.movers == 512 && seen.still == 512 && seen.meets_still > 0);
    config.M = 280;
    seen = seen_with(&config, scene_make(config.T, many));
    assert_true(seen.nodes == 140 && seen.movers == 560 && seen.still == 560);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_where_the_body_meets_planes_soonest),
        cmocka_unit_test(particles_move_with_a_node_that_moves),
        cmocka_unit_test(crumbs_are_nothing_to_meet),
        cmocka_unit_test(nothing_else_moves),
        cmocka_unit_test(few_move),
        cmocka_unit_test(ten_are_a_body_to_meet),
        cmocka_unit_test(others_are_looked_for_nearby),
        cmocka_unit_test(lost_positions_do_no_harm),
        cmocka_unit_test(nothing_stands),
        cmocka_unit_test(many_particles_are_thinned_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
