// SPDX-License-Identifier: Apache-2.0
// Gaps of nodes (docs/model.md, gap_a) against a naive search: to what stands still, and to what moves otherwise.
#include "tests/gnn_scene.h"

static const size_t COUNTS[] = {140, 133, 150};

// Nearest mean of three particles that stand still, seen from particle i.
static void naive_offset(const Scene *s, size_t t, size_t i, double off[3]) {
    const real *x = s->x[t] + 3 * i;
    double nearest[3] = {INFINITY, INFINITY, INFINITY}, place[3][3] = {{0}};
    for (size_t j = 0; j < s->count[t]; j++) {
        if (s->m[t][j] > 0) continue;
        const real *y = s->x[t] + 3 * j;
        double d2 = 0;
        for (size_t c = 0; c < 3; c++) d2 += (double)(y[c] - x[c]) * (double)(y[c] - x[c]);
        for (size_t k = 0; k < 3; k++) {
            if (d2 >= nearest[k]) continue;
            for (size_t l = 2; l > k; l--) {
                nearest[l] = nearest[l - 1];
                memcpy(place[l], place[l - 1], sizeof place[l]);
            }
            nearest[k] = d2;
            for (size_t c = 0; c < 3; c++) place[k][c] = (double)y[c];
            break;
        }
    }
    for (size_t c = 0; c < 3; c++) off[c] = (place[0][c] + place[1][c] + place[2][c]) / 3 - (double)x[c];
}

static double length_of(const double *v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// A particle that moves, and where it goes: by the motion of its nearest node.
typedef struct Mover {
    const real *x;
    double w[3], turn[3];
} Mover;

static void naive_carry(const double *v, const double *turn, const double *r, double *out) {
    for (size_t c = 0; c < 3; c++)
        out[c] = v[c] + turn[(c + 1) % 3] * r[(c + 2) % 3] - turn[(c + 2) % 3] * r[(c + 1) % 3];
}

static size_t naive_movers(const GnnPlan *plan, const Scene *s, size_t t, Mover *movers) {
    size_t count = 0;
    for (size_t i = 0; i < s->count[t]; i++) {
        if (!(s->m[t][i] > 0)) continue;
        Mover *m = &movers[count++];
        *m = (Mover){.x = s->x[t] + 3 * i};
        if (!plan->node_spin) continue;
        size_t node = (size_t)plan->to_particle.index[i * plan->to_particle.k];
        double v[3], r[3];
        for (size_t c = 0; c < 3; c++) {
            v[c] = (double)plan->node_velocity[3 * node + c];
            m->turn[c] = (double)plan->node_spin[3 * node + c];
            r[c] = (double)(m->x[c] - s->x[t][3 * (size_t)plan->node[node] + c]);
        }
        naive_carry(v, m->turn, r, m->w);
    }
    return count;
}

static double distance_between(const real *a, const real *b) {
    return length_of((double[3]){(double)(a[0] - b[0]), (double)(a[1] - b[1]), (double)(a[2] - b[2])});
}

// Of the 32 movers nearest to one the nearest that moves by half of s otherwise than it would have to with that one's
// motion.
static const Mover *naive_other(const Mover *movers, size_t count, const Mover *one, double least) {
    const Mover *best = NULL;
    for (const Mover *m = movers; m < movers + count; m++) {
        size_t nearer = 0;
        double r[3], own[3], far = distance_between(m->x, one->x);
        for (const Mover *n = movers; n < movers + count; n++)
            nearer += n != one && distance_between(n->x, one->x) < far;
        for (size_t c = 0; c < 3; c++) r[c] = (double)(m->x[c] - one->x[c]);
        naive_carry(one->w, one->turn, r, own);
        for (size_t c = 0; c < 3; c++) own[c] -= m->w[c];
        if (m == one || nearer >= 32 || length_of(own) < least) continue;
        if (!best || far < distance_between(best->x, one->x)) best = m;
    }
    return best;
}

// The gap that a node of the block sees: to what stands, or to what moves otherwise. Two that meet each other do so
// equally soon.
static bool naive_gap(const Scene *s, const GnnConfig *config, const real *node, const Mover *movers, size_t count,
                      bool others, double gap[10]) {
    double least = INFINITY, nearest = INFINITY;
    size_t t = config->T - 1;
    for (const Mover *m = movers; m < movers + count; m++) {
        const Mover *to = others ? naive_other(movers, count, m, 0.5 * config->displacement_scale) : NULL;
        double off[3], closing[3], soon, near = distance_between(m->x, node);
        if (others && !to) continue;
        if (!others) naive_offset(s, t, (size_t)(m->x - s->x[t]) / 3, off);
        for (size_t c = 0; c < 3; c++) {
            if (others) off[c] = (double)(to->x[c] - m->x[c]);
            closing[c] = (others ? to->w[c] : 0) - m->w[c];
        }
        soon = length_of(off) + (closing[0] * off[0] + closing[1] * off[1] + closing[2] * off[2]) / length_of(off);
        if (soon > least || (soon == least && near >= nearest)) continue;
        least = soon, nearest = near;
        double ell = config->length_scale, shorter = fmin(1, 3 * ell / length_of(off)) / ell;
        for (size_t c = 0; c < 3; c++) {
            gap[c] = (double)(m->x[c] - node[c]) / ell;
            gap[3 + c] = off[c] * shorter;
            gap[7 + c] = closing[c] / config->displacement_scale;
        }
        gap[6] = length_of(off) * shorter;
    }
    return least < INFINITY;
}

// Compares a half of the gaps with the naive one; returns whether there was something to meet.
static bool check_gap(const GnnPlan *plan, const Scene *s, const GnnConfig *config, size_t column, size_t width) {
    Mover movers[SCENE_MAX];
    size_t t = config->T - 1, count = naive_movers(plan, s, t, movers), moving = 0;
    bool found = false;
    assert_true(count > 32 && count < 128); // fewer than a body: every node sees the whole block
    for (size_t a = 0; a < plan->nodes; a++) {
        const real *there = plan->gap + gnn_gap_width(config) * a + column;
        bool moves = s->m[t][plan->node[a]] > 0;
        double gap[10] = {0};
        moving += moves;
        if (moves) found = naive_gap(s, config, s->x[t] + 3 * plan->node[a], movers, count, column > 0, gap);
        if (moves && !found) gap[6] = 3;
        for (size_t c = 0; c < width; c++)
            assert_close((double)there[c], gap[c], 1e-4, 1e-4); // roundings of places over ell
    }
    assert_true(moving > 0 && moving < plan->nodes);
    return found;
}

typedef enum GapForm { PLACES, MOTIONS, ONE_MOTION, GAP_FORMS } GapForm;

// The block falls, and the cue gives its parts different turns; then all of it the same motion: nothing that moves
// otherwise to meet.
static void gaps_are_where_the_body_is_nearest(void **state) {
    (void)state;
    size_t full = 0;
    while (!scene_forms[full].full) full++;
    for (GapForm form = PLACES; form < GAP_FORMS; form++) {
        GnnConfig config = scene_config(&scene_forms[full]);
        SceneModel model;
        Tape tape;
        Scene *scene = scene_make(config.T, COUNTS);
        config.rigid_cue = form != PLACES;
        config.smooth = form == PLACES; // blocks and what stands would be blended
        for (size_t i = 0; form == ONE_MOTION && i < 3 * SCENE_CUE; i++) scene->cue_u[i] = (real)0.02;
        if (form == ONE_MOTION) memset(scene->cue_g, 0, sizeof scene->cue_g);
        if (form == ONE_MOTION) config.moving_length = 10; // nothing of the block goes with a node that stands
        model_open(&model, &config, 2, true);
        tape_init(&tape, model.device);
        GnnSets sets = scene_sets(&tape, scene);
        GnnPlanInput input = scene_plan_input(scene, &sets, 0);
        GnnPlan plan;
        gnn_plan_make(&tape, &config, &model.planner, &input, &plan);
        assert_int_equal(gnn_gap_width(&config), form == PLACES ? 7 : 20);
        assert_true(check_gap(&plan, scene, &config, 0, form == PLACES ? 7 : 10));
        if (form != PLACES) assert_true(check_gap(&plan, scene, &config, 10, 10) == (form == MOTIONS));
        tape_free(&tape);
        model_close(&model);
        free(scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gaps_are_where_the_body_is_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
