// SPDX-License-Identifier: Apache-2.0
// Two rollout steps in double: gradients of every module's weights and of the inputs against central differences with
// plans held fixed, and what docs/model.md says of translation, permutation and distance.
#include "tests/gnn_scene.h"

enum { STEPS = 2 };

// What differences of fourth order leave is 1e-8 or so, with steps small beside the lengths in question: weights are of
// order 1, edges of order 1e-2 m.
static const double TOLERANCE = 1e-6, WEIGHT_STEP = 6e-5, POSITION_STEP = 1e-6;

// Two steps over frozen plans, and their objective: a random weighting of all that comes out.
typedef struct Rollout {
    SceneModel *model;
    Scene *scene;
    Tape tape, plan_tape; // plans outlive the runs
    GnnPlan plan[STEPS];
    bool planned;
    GnnSets first;
    real *weights; // of the objective
} Rollout;

static double add_objective(Rollout *r, Tensor *t, uint32_t stream, bool backward) {
    double sum = 0;
    real *grad = backward ? tape_grad(&r->tape, t) : NULL;
    for (size_t i = 0; i < t->rows * t->cols; i++) {
        double w = scene_random(30 + stream, i);
        sum += w * (double)t->value[i];
        if (grad) grad[i] += (real)w;
    }
    return sum;
}

static double run_rollout(Rollout *r, bool backward) {
    tape_reset(&r->tape);
    GnnSets sets = r->first = scene_sets(&r->tape, r->scene);
    const GnnConfig *config = &r->model->dynamics->config;
    double sum = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        GnnPlanInput input = scene_plan_input(&sets, step);
        if (!r->planned) gnn_plan_make(&r->plan_tape, config, 1, &input, &r->plan[step]);
        DynamicsOutput out = {0};
        dynamics_step(&r->tape, r->model->dynamics, &r->plan[step], &sets, &out);
        sets = scene_shift(&sets, &out);
        sum += add_objective(r, out.dx, 3 * step, backward) + add_objective(r, out.x, 3 * step + 1, backward);
        if (step + 1 == STEPS) sum += add_objective(r, out.f, 3 * step + 2, backward && out.f->wants_grad);
    }
    r->planned = true;
    if (backward) {
        parameters_zero_grad(&r->model->parameters);
        tape_backward_from_grads(&r->tape);
    }
    return sum;
}

static void rollout_open(Rollout *r, SceneModel *model, Scene *scene) {
    *r = (Rollout){.model = model, .scene = scene};
    tape_init(&r->tape, model->device);
    tape_init(&r->plan_tape, model->device);
}

static void rollout_close(Rollout *r) {
    tape_free(&r->tape);
    tape_free(&r->plan_tape);
}

// Error of the derivative along a random direction in `values` (count) whose gradient is `grad`. Where the gradient is
// all zero, so must the difference be.
static double direction_error(Rollout *r, real *values, const real *grad, size_t count, uint32_t stream, double step,
                              double *size) {
    const double sides[] = {1, -1, 2, -2}, weights[] = {8, -8, -1, 1};
    double analytic = 0, scale = 0, numeric = 0;
    real *saved = malloc((count + 1) * sizeof *saved);
    memcpy(saved, values, count * sizeof *saved);
    for (size_t i = 0; i < count; i++) {
        analytic += (double)grad[i] * scene_random(stream, i);
        scale += fabs((double)grad[i] * scene_random(stream, i));
    }
    for (int side = 0; side < 4; side++) {
        for (size_t i = 0; i < count; i++)
            values[i] = (real)((double)saved[i] + sides[side] * step * scene_random(stream, i));
        numeric += weights[side] / (12 * step) * run_rollout(r, false);
    }
    memcpy(values, saved, count * sizeof *saved);
    free(saved);
    *size = scale;
    double error = fabs(numeric - analytic) / fmax(fmax(fabs(analytic), fabs(numeric)), fmax(1e-3 * scale, 1e-5));
    return isfinite(error) ? error : INFINITY;
}

// "gnn.round0.edge" of "gnn.round0.edge.weight1"
static size_t module_length(const char *name) { return (size_t)(strrchr(name, '.') - name); }

static bool same_module(const char *a, const char *b) {
    return module_length(a) == module_length(b) && !strncmp(a, b, module_length(a));
}

// One direction through all weights of each module; they stand beside one another.
static int check_parameters(Rollout *r, const char *form, double spoil) {
    Parameters *set = &r->model->parameters;
    int wrong = 0;
    size_t zero = 0;
    run_rollout(r, true);
    real *grads = malloc(set->size * sizeof *grads);
    memcpy(grads, set->grads, set->size * sizeof *grads);
    grads[set->items[2]->offset] += (real)spoil;
    for (size_t i = 0, next; i < set->count; i = next) {
        for (next = i; next < set->count && same_module(set->items[i]->name, set->items[next]->name); next++) {}
        size_t first = set->items[i]->offset, last = next < set->count ? set->items[next]->offset : set->size;
        double size, error = direction_error(r, set->values + first, grads + first, last - first, 100 + (uint32_t)i,
                                             WEIGHT_STEP, &size);
        zero += size == 0;
        if (error <= TOLERANCE) continue;
        if (spoil == 0)
            print_message("%s: gradient of %s.. off by %.3g (size %.3g)\n", form, set->items[i]->name, error, size);
        wrong++;
    }
    // A module that nothing depends on would pass unseen. Without a past set nothing reaches gnn.encode.edge of a flat
    // graph.
    bool no_past = r->model->dynamics->config.graph == GRAPH_FLAT && r->scene->T == 1;
    if (zero != (no_past ? 1u : 0u)) {
        print_message("%s: %zu modules have no gradient at all\n", form, zero);
        wrong++;
    }
    free(grads);
    return wrong;
}

static int check_inputs(Rollout *r, const char *form) {
    int wrong = 0;
    run_rollout(r, true);
    GnnSets sets = r->first;
    real *grads[2 * GNN_MAX_SETS];
    for (size_t t = 0; t < r->scene->T; t++) {
        Tensor *pair[] = {sets.set[t].x, sets.set[t].f};
        for (size_t i = 0; i < 2; i++) {
            size_t bytes = pair[i]->rows * pair[i]->cols * sizeof(real);
            grads[2 * t + i] = calloc(1, bytes + 1);
            if (pair[i]->grad) memcpy(grads[2 * t + i], pair[i]->grad, bytes);
        }
    }
    for (size_t t = 0; t < r->scene->T; t++) {
        double size, error = direction_error(r, r->scene->x[t], grads[2 * t], r->scene->count[t] * 3, 200 + (uint32_t)t,
                                             POSITION_STEP, &size);
        double f_size, f_error = direction_error(r, r->scene->f[t], grads[2 * t + 1], r->scene->count[t] * r->scene->D,
                                                 210 + (uint32_t)t, WEIGHT_STEP, &f_size);
        if (error > TOLERANCE || f_error > TOLERANCE || size == 0 || f_size == 0) {
            print_message("%s: gradient of set %zu: positions off by %.3g (size %.3g), features by %.3g (size %.3g)\n",
                          form, t, error, size, f_error, f_size);
            wrong++;
        }
        free(grads[2 * t]);
        free(grads[2 * t + 1]);
    }
    return wrong;
}

static const size_t COUNTS[] = {25, 25, 25};

static void gradients_of_two_steps(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < SCENE_FORMS; i++) {
        GnnConfig config = scene_config(&scene_forms[i]);
        SceneModel model;
        Rollout r;
        Scene *scene = scene_make(config.T, COUNTS);
        model_open(&model, &config, 1, false);
        rollout_open(&r, &model, scene);
        wrong += check_parameters(&r, scene_forms[i].name, 0) + check_inputs(&r, scene_forms[i].name);
        rollout_close(&r);
        model_close(&model);
        free(scene);
    }
    assert_int_equal(wrong, 0);
}

// The planted error: one entry of one gradient is wrong.
static void spoiled_gradient_is_caught(void **state) {
    (void)state;
    GnnConfig config = scene_config(&scene_forms[0]);
    SceneModel model;
    Rollout r;
    Scene *scene = scene_make(config.T, COUNTS);
    model_open(&model, &config, 1, false);
    rollout_open(&r, &model, scene);
    assert_int_equal(check_parameters(&r, "spoiled", 0.1), 1);
    rollout_close(&r);
    model_close(&model);
    free(scene);
}

// One step, its plan made from the same scene; dx is copied out. nodes NULL: as the form says.
static void one_step(SceneModel *model, Scene *scene, const int32_t *nodes, size_t node_count, real *dx,
                     GnnPlan *plan_out, Tape *keep) {
    Tape tape;
    GnnPlan plan;
    DynamicsOutput out = {0};
    tape_init(&tape, model->device);
    GnnSets sets = scene_sets(&tape, scene);
    GnnPlanInput input = scene_plan_input(&sets, 0);
    input.nodes = nodes;
    input.node_count = node_count;
    gnn_plan_make(keep ? keep : &tape, &model->dynamics->config, 1, &input, &plan);
    dynamics_step(&tape, model->dynamics, &plan, &sets, &out);
    memcpy(dx, out.dx->value, out.dx->rows * 3 * sizeof *dx);
    if (plan_out) *plan_out = plan;
    tape_free(&tape);
}

static double largest(const real *a, const real *b, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)a[i] - (b ? (double)b[i] : 0));
        worst = off > worst || isnan(off) ? off : worst;
    }
    return worst;
}

static void move_world(Scene *s, const double *shift) {
    for (size_t t = 0; t < s->T; t++)
        for (size_t i = 0; i < s->count[t] * 3; i++) s->x[t][i] += (real)shift[i % 3];
}

static void translation_changes_nothing(void **state) {
    (void)state;
    const double shift[] = {3.7, -11.3, 0.9};
    for (size_t i = 0; i < SCENE_FORMS; i++) {
        GnnConfig config = scene_config(&scene_forms[i]);
        SceneModel model;
        Scene *scene = scene_make(config.T, COUNTS);
        real here[SCENE_MAX * 3], there[SCENE_MAX * 3];
        model_open(&model, &config, 1, false);
        one_step(&model, scene, NULL, 0, here, NULL, NULL);
        move_world(scene, shift);
        one_step(&model, scene, NULL, 0, there, NULL, NULL);
        assert_true(largest(here, NULL, scene->count[config.T - 1] * 3) > 1e-3);
        // Positions of 10 m lose 1e-15 of them; divided by ell and amplified by the norms.
        assert_true(largest(here, there, scene->count[config.T - 1] * 3) < 1e-11);
        // A world that is stretched instead must differ: the planted error.
        scene->x[config.T - 1][4] += (real)0.01;
        one_step(&model, scene, NULL, 0, there, NULL, NULL);
        assert_false(largest(here, there, scene->count[config.T - 1] * 3) < 1e-11);
        model_close(&model);
        free(scene);
    }
}

// The particles of every set in another order.
static void permute(const Scene *from, Scene *to, size_t *place) {
    *to = *from;
    for (size_t t = 0; t < from->T; t++)
        for (size_t i = 0, n = from->count[t]; i < n; i++) {
            size_t j = place[i] = (i * 7 + 3) % n; // 7 does not divide the count
            memcpy(to->x[t] + j * 3, from->x[t] + i * 3, 3 * sizeof(real));
            memcpy(to->f[t] + j * 5, from->f[t] + i * 5, 5 * sizeof(real));
        }
}

static void permutation_permutes_the_answer(void **state) {
    (void)state;
    for (size_t form = 0; form < SCENE_FORMS; form++) {
        GnnConfig config = scene_config(&scene_forms[form]);
        SceneModel model;
        Scene *scene = scene_make(config.T, COUNTS), *other = malloc(sizeof *other);
        size_t place[SCENE_MAX], n = scene->count[config.T - 1];
        int32_t nodes[9], moved_nodes[9];
        real here[SCENE_MAX * 3], there[SCENE_MAX * 3], back[SCENE_MAX * 3];
        permute(scene, other, place);
        for (int32_t i = 0; i < 9; i++) moved_nodes[i] = (int32_t)place[nodes[i] = 2 * i];
        model_open(&model, &config, 1, false);
        one_step(&model, scene, nodes, 9, here, NULL, NULL);
        one_step(&model, other, moved_nodes, 9, there, NULL, NULL);
        for (size_t i = 0; i < n; i++) memcpy(back + i * 3, there + place[i] * 3, 3 * sizeof(real));
        assert_true(largest(here, back, n * 3) < 1e-13); // other orders of summation
        assert_false(largest(here, there, n * 3) < 1e-13);
        model_close(&model);
        free(scene);
        free(other);
    }
}

// Nodes that a particle's change can reach: its own, those it sends to, and L hops along the edges.
static void reach(const GnnPlan *plan, size_t L, size_t particle, size_t sets, bool *reached) {
    const GnnEdges *to = &plan->to_node[sets - 1], *among = &plan->node_node;
    for (size_t e = 0; e < to->k; e++) reached[to->index[particle * to->k + e]] = true;
    for (size_t a = 0; a < plan->nodes; a++) reached[a] = reached[a] || plan->node[a] == (int32_t)particle;
    bool next[SCENE_MAX];
    for (size_t l = 0; l < L; l++) {
        memcpy(next, reached, plan->nodes);
        for (size_t a = 0; a < plan->nodes; a++)
            for (size_t e = 0; e < among->k; e++) {
                int32_t from = among->index[a * among->k + e];
                if (from >= 0 && reached[from]) next[a] = true;
            }
        memcpy(reached, next, plan->nodes);
    }
}

static void far_changes_do_not_arrive(void **state) {
    (void)state;
    GnnConfig config = scene_config(&scene_forms[0]);
    config.M = 60;
    config.k_node_to_node = 2;
    config.L = 1;
    const size_t counts[] = {SCENE_MAX, SCENE_MAX}, changed = 31;
    SceneModel model;
    Scene *scene = scene_make(2, counts);
    Tape keep;
    GnnPlan plan;
    real before[SCENE_MAX * 3], after[SCENE_MAX * 3];
    model_open(&model, &config, 1, false);
    tape_init(&keep, model.device);
    one_step(&model, scene, NULL, 0, before, &plan, &keep);
    for (size_t j = 0; j < 5; j++) scene->f[1][changed * 5 + j] += (real)0.5;
    one_step(&model, scene, NULL, 0, after, NULL, NULL);
    bool reached[SCENE_MAX] = {false};
    reach(&plan, config.L, changed, 2, reached);
    size_t near = 0, far = 0, wrong = 0;
    for (size_t i = 0; i < SCENE_MAX; i++) {
        bool may = i == changed;
        for (size_t e = 0; e < plan.to_particle.k; e++)
            may = may || reached[plan.to_particle.index[i * plan.to_particle.k + e]];
        bool differs = memcmp(before + i * 3, after + i * 3, 3 * sizeof(real)) != 0;
        wrong += differs && !may;
        near += differs;
        far += !may;
    }
    assert_int_equal(wrong, 0);
    assert_true(near > 0 && far > SCENE_MAX / 2);
    tape_free(&keep);
    model_close(&model);
    free(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_two_steps), cmocka_unit_test(spoiled_gradient_is_caught),
        cmocka_unit_test(translation_changes_nothing), cmocka_unit_test(permutation_permutes_the_answer),
        cmocka_unit_test(far_changes_do_not_arrive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
