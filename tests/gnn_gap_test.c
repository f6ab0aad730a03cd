// SPDX-License-Identifier: Apache-2.0
// Gaps of nodes (docs/model.md, gap_a) against a naive search: to what stands still, and to what moves otherwise.
#include "tests/gnn_scene.h"

static const size_t COUNTS[] = {140, 133, 150};
enum { BODY = 128, PLANE = 10, LOOKED_AT = 32 };

// A particle and, where it moves, how it goes: by the motion of a node.
typedef struct Mover {
    const real *x;
    double w[3], turn[3];
} Mover;

// The plane that a mover may run into, and its own velocity relative to that.
typedef struct Meeting {
    bool there;
    double target[3], normal[3], w[3];
} Meeting;

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double length_of(const double *v) { return sqrt(dot(v, v)); }

static double distance_between(const real *a, const real *b) {
    return length_of((double[3]){(double)(a[0] - b[0]), (double)(a[1] - b[1]), (double)(a[2] - b[2])});
}

static void naive_carry(const double *v, const double *turn, const double *r, double *out) {
    for (size_t c = 0; c < 3; c++)
        out[c] = v[c] + turn[(c + 1) % 3] * r[(c + 2) % 3] - turn[(c + 2) % 3] * r[(c + 1) % 3];
}

// The up to k nearest to x, without `except`; returns their number.
static size_t naive_nearest(const Mover *from, size_t count, const real *x, const Mover *except, size_t k,
                            const Mover **out) {
    size_t found = 0;
    for (const Mover *m = from; m < from + count; m++) {
        size_t place = found;
        if (m == except) continue;
        while (place > 0 && distance_between(m->x, x) < distance_between(out[place - 1]->x, x)) place--;
        if (place == k) continue;
        if (found < k) found++;
        for (size_t i = found - 1; i > place; i--) out[i] = out[i - 1];
        out[place] = m;
    }
    return found;
}

static void naive_mean(const Mover **points, size_t count, double *mean) {
    for (size_t c = 0; c < 3; c++) {
        mean[c] = 0;
        for (size_t i = 0; i < count; i++) mean[c] += (double)points[i]->x[c] / (double)count;
    }
}

// The unit vector along which points spread least: with b = trace 1 - spread, b b, b b b b, .. are more and more its
// projection.
static void naive_normal(const Mover **points, size_t count, double *normal) {
    double mean[3], b[3][3] = {{0}}, spread = 0;
    naive_mean(points, count, mean);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 9; j++) {
            double d = ((double)points[i]->x[j / 3] - mean[j / 3]) * ((double)points[i]->x[j % 3] - mean[j % 3]);
            b[j / 3][j % 3] -= d;
            spread += j / 3 == j % 3 ? d : 0;
        }
    for (size_t c = 0; c < 3; c++) b[c][c] += spread;
    for (size_t times = 0; times < 60; times++) {
        double square[3][3], trace = 0;
        for (size_t j = 0; j < 9; j++) square[j / 3][j % 3] = dot(b[j / 3], b[j % 3]); // b is symmetric
        for (size_t c = 0; c < 3; c++) trace += square[c][c];
        for (size_t j = 0; j < 9; j++) b[j / 3][j % 3] = square[j / 3][j % 3] / trace;
    }
    size_t longest = 0;
    for (size_t c = 1; c < 3; c++)
        if (length_of(b[c]) > length_of(b[longest])) longest = c;
    for (size_t c = 0; c < 3; c++) normal[c] = b[longest][c] / length_of(b[longest]);
}

// Of a particle's nodes the nearest that moves; the nearest of all where none does.
static size_t naive_node(const GnnPlan *plan, const Scene *s, size_t t, size_t particle) {
    const int32_t *index = plan->to_particle.index + particle * plan->to_particle.k;
    for (size_t e = 0; e < plan->to_particle.k; e++)
        if (s->m[t][plan->node[index[e]]] > 0) return (size_t)index[e];
    return (size_t)index[0];
}

// Particles that move, or those that do not; adds to *passed those that pass over a still node for a moving one.
static size_t naive_movers(const GnnPlan *plan, const Scene *s, size_t t, bool moving, Mover *movers, size_t *passed) {
    size_t count = 0;
    for (size_t i = 0; i < s->count[t]; i++) {
        if (moving != (s->m[t][i] > 0)) continue;
        Mover *m = &movers[count++];
        *m = (Mover){.x = s->x[t] + 3 * i};
        if (!moving || !plan->node_spin) continue;
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
    Meeting m = {.there = count > 0};
    size_t k = naive_nearest(still, count, one->x, NULL, PLANE, near);
    if (!m.there) return m;
    naive_mean(near, k, m.target);
    naive_normal(near, k, m.normal);
    memcpy(m.w, one->w, sizeof m.w);
    return m;
}

// Of the 32 movers nearest to one the nearest that moves by half of s otherwise than it would have to with that one's
// motion, with the plane of the movers around that.
static Meeting naive_other(const Mover *movers, size_t count, const Mover *one, double least) {
    const Mover *near[LOOKED_AT], *around[PLANE];
    size_t k = naive_nearest(movers, count, one->x, one, LOOKED_AT, near);
    for (size_t i = 0; i < k; i++) {
        double r[3], own[3], differs[3];
        for (size_t c = 0; c < 3; c++) r[c] = (double)(near[i]->x[c] - one->x[c]);
        naive_carry(one->w, one->turn, r, own);
        for (size_t c = 0; c < 3; c++) differs[c] = near[i]->w[c] - own[c];
        if (length_of(differs) < least) continue;
        Meeting m = {.there = true};
        naive_normal(around, naive_nearest(movers, count, near[i]->x, near[i], PLANE, around), m.normal);
        for (size_t c = 0; c < 3; c++) m.target[c] = (double)near[i]->x[c], m.w[c] = one->w[c] - near[i]->w[c];
        return m;
    }
    return (Meeting){0};
}

static double within(double x, double limit) { return fmax(-limit, fmin(limit, x)); }

// The half of a node's gap that the meetings of its body give.
static void naive_gap(const GnnConfig *config, const real *node, const Mover *movers, const Mover **body, size_t count,
                      const Meeting *meetings, double gap[12]) {
    double ell = config->length_scale, s = config->displacement_scale, least = INFINITY, middle[3];
    naive_mean(body, count, middle);
    gap[6] = 3, gap[7] = 3 * ell / s;
    for (size_t i = 0; i < count; i++) {
        const Meeting *m = &meetings[body[i] - movers];
        double d[3], up[3], n[3], along[3];
        for (size_t c = 0; c < 3; c++) d[c] = (double)body[i]->x[c] - m->target[c], up[c] = middle[c] - m->target[c];
        for (size_t c = 0; c < 3; c++) n[c] = dot(m->normal, up) < 0 ? -m->normal[c] : m->normal[c];
        double across = dot(d, n), left = across + dot(m->w, n);
        if (!m->there || left >= least) continue;
        least = left;
        for (size_t c = 0; c < 3; c++) {
            gap[c] = (double)(body[i]->x[c] - node[c]) / ell;
            gap[3 + c] = n[c];
            gap[9 + c] = m->w[c] / s;
            along[c] = d[c] - across * n[c];
        }
        gap[6] = within(across, 3 * ell) / ell;
        gap[7] = within(left, 3 * ell) / s;
        gap[8] = within(length_of(along), 3 * ell) / ell;
    }
}

// Without spin: where the body is nearest to the mean of the three still particles nearest to it.
static void naive_places(const GnnConfig *config, const real *node, const Mover **body, size_t count,
                         const Mover *still, size_t still_count, double gap[12]) {
    const Mover *near[3];
    double least = INFINITY, ell = config->length_scale;
    for (size_t i = 0; i < count && still_count; i++) {
        double off[3];
        naive_mean(near, naive_nearest(still, still_count, body[i]->x, NULL, 3, near), off);
        for (size_t c = 0; c < 3; c++) off[c] -= (double)body[i]->x[c];
        if (length_of(off) >= least) continue;
        least = length_of(off);
        double shorter = fmin(1, 3 * ell / least) / ell;
        for (size_t c = 0; c < 3; c++) {
            gap[c] = (double)(body[i]->x[c] - node[c]) / ell;
            gap[3 + c] = off[c] * shorter;
        }
        gap[6] = least * shorter;
    }
}

// What there is to meet in a scene.
typedef struct Seen {
    size_t movers, still, passed, meets_still, meets_other;
} Seen;

static Seen check_gaps(const GnnPlan *plan, const Scene *s, const GnnConfig *config) {
    static Mover movers[SCENE_MAX], still[SCENE_MAX];
    static Meeting meetings[2][SCENE_MAX];
    Seen seen = {0};
    size_t t = config->T - 1, width = gnn_gap_width(config), moving = 0;
    seen.movers = naive_movers(plan, s, t, true, movers, &seen.passed);
    seen.still = naive_movers(plan, s, t, false, still, &seen.passed);
    for (size_t i = 0; i < seen.movers; i++) {
        meetings[0][i] = naive_still(still, seen.still, &movers[i]);
        meetings[1][i] = naive_other(movers, seen.movers, &movers[i], 0.5 * config->displacement_scale);
        seen.meets_still += meetings[0][i].there, seen.meets_other += meetings[1][i].there;
    }
    for (size_t a = 0; a < plan->nodes; a++) {
        const Mover *body[BODY];
        const real *node = s->x[t] + 3 * plan->node[a], *there = plan->gap + width * a;
        double gap[24] = {0};
        size_t count = naive_nearest(movers, seen.movers, node, NULL, BODY, body);
        bool moves = s->m[t][plan->node[a]] > 0;
        moving += moves;
        if (moves && width == GNN_GAP) naive_places(config, node, body, count, still, seen.still, gap);
        for (size_t half = 0; moves && width != GNN_GAP && half < 2; half++)
            naive_gap(config, node, movers, body, count, meetings[half], gap + 12 * half);
        for (size_t c = 0; c < width; c++)
            assert_close((double)there[c], gap[c], 1e-4, 1e-4); // roundings of places over ell
    }
    assert_true(moving > 0 && (moving < plan->nodes || seen.still == 0));
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
    gnn_plan_make(&tape, config, &model.planner, &input, &plan);
    Seen seen = check_gaps(&plan, scene, config);
    tape_free(&tape);
    model_close(&model);
    free(scene);
    return seen;
}

static void let_all_move(Scene *scene, size_t t) {
    for (size_t i = 0; i < scene->count[t]; i++) scene->m[t][i] = 1;
}

static void gaps_are_where_the_body_is_nearest(void **state) {
    (void)state;
    GnnConfig config = full_config();
    config.rigid_cue = false;
    config.smooth = true; // blocks and what stands would be blended
    assert_int_equal(gnn_gap_width(&config), 7);
    Seen seen = seen_with(&config, scene_make(config.T, COUNTS));
    assert_true(seen.movers > 32 && seen.movers < BODY && seen.still > 0);
    Scene *scene = scene_make(config.T, COUNTS);
    let_all_move(scene, config.T - 1);
    assert_int_equal(seen_with(&config, scene).still, 0); // all gaps are 0
}

// The block falls, and the cue gives its parts different turns.
static void gaps_are_where_the_body_meets_planes_soonest(void **state) {
    (void)state;
    GnnConfig config = full_config();
    assert_int_equal(gnn_gap_width(&config), 24);
    Seen seen = seen_with(&config, scene_make(config.T, COUNTS));
    assert_true(seen.meets_still == seen.movers && seen.meets_other > 0 && seen.movers < BODY);
    config.length_scale = 0.005; // what is beyond 3 ell is cut
    seen_with(&config, scene_make(config.T, COUNTS));
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
    for (size_t i = 0; i < 3 * SCENE_CUE; i++) scene->cue_u[i] = (real)0.02;
    memset(scene->cue_g, 0, sizeof scene->cue_g);
    config.moving_length = 10; // every particle of the block is near a node of it
    Seen seen = seen_with(&config, scene);
    assert_true(seen.meets_still == seen.movers && seen.meets_other == 0);
}

// More particles than a body has, and no plane that stands.
static void nothing_stands(void **state) {
    (void)state;
    GnnConfig config = full_config();
    Scene *scene = scene_make(config.T, COUNTS);
    let_all_move(scene, config.T - 1);
    Seen seen = seen_with(&config, scene);
    assert_true(seen.movers > BODY && seen.meets_still == 0 && seen.meets_other > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_where_the_body_is_nearest),
        cmocka_unit_test(gaps_are_where_the_body_meets_planes_soonest),
        cmocka_unit_test(particles_move_with_a_node_that_moves),
        cmocka_unit_test(nothing_else_moves),
        cmocka_unit_test(nothing_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
