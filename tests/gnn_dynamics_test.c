// SPDX-License-Identifier: Apache-2.0
// Whole rollout steps in float: an untrained model moves nothing, two runs give the same bits, a warm step asks the
// system for nothing, and every form works on awkward sets.
#include "nn/rows.h"
#include "tests/gnn_scene.h"

static const size_t COUNTS[] = {150, 150, 150};
static const size_t DIFFERENT[] = {140, 133, 150};

// Forward over two steps (plans made anew) and backward from ones; dx of both steps are copied out, gradients stay in
// the parameters. Returns the spread of h behind the first step.
static double two_steps(SceneModel *model, Tape *tape, Scene *scene, real *dx) {
    Tensor *moved[2];
    real spread = 0;
    tape_reset(tape);
    parameters_zero_grad(&model->parameters);
    GnnSets sets = scene_sets(tape, scene);
    for (uint32_t step = 0; step < 2; step++) {
        GnnPlanInput input = scene_plan_input(&sets, step);
        GnnPlan plan;
        DynamicsOutput out = {0};
        gnn_plan_make(tape, &model->dynamics->config, 1, &input, &plan);
        dynamics_step(tape, model->dynamics, &plan, &sets, &out);
        if (step == 0) dynamics_spread(model->device, out.h, &spread);
        moved[step] = out.dx;
        sets = scene_shift(&sets, &out);
        real *grad = tape_grad(tape, out.dx);
        for (size_t i = 0; grad && i < out.dx->rows * 3; i++) grad[i] = (real)scene_random(50 + step, i);
    }
    tape_backward_from_grads(tape);
    for (size_t step = 0, at = 0; step < 2; step++) {
        memcpy(dx + at, moved[step]->value, moved[step]->rows * 3 * sizeof *dx);
        at += moved[step]->rows * 3;
    }
    return (double)spread;
}

static bool all_finite(const real *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static void untrained_moves_nothing(void **state) {
    (void)state;
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        GnnConfig config = scene_config(&scene_forms[f]);
        SceneModel model;
        Tape tape;
        Scene *scene = scene_make(config.T, DIFFERENT);
        real *dx = malloc(2 * SCENE_MAX * 3 * sizeof *dx);
        model_open(&model, &config, 2, true);
        tape_init(&tape, model.device);
        size_t n = scene->count[config.T - 1];
        // Set sizes differ, so only the first step: behind it both sets hold the same particles.
        GnnSets sets = scene_sets(&tape, scene);
        GnnPlanInput input = scene_plan_input(&sets, 0);
        GnnPlan plan;
        DynamicsOutput out = {0};
        gnn_plan_make(&tape, &config, 1, &input, &plan);
        dynamics_step(&tape, model.dynamics, &plan, &sets, &out);
        for (size_t i = 0; i < 3 * n; i++) assert_true(out.dx->value[i] == 0);
        assert_memory_equal(out.x->value, scene->x[config.T - 1], 3 * n * sizeof(real));
        assert_memory_equal(out.f->value, scene->f[config.T - 1], n * scene->D * sizeof(real));
        // ... and a trained one moves something.
        model.parameters.values[model.parameters.size - 1] = 1;
        for (size_t i = 0; i < model.parameters.size; i++)
            model.parameters.values[i] += (real)(0.2 * scene_random(20, i));
        two_steps(&model, &tape, scene, dx);
        bool moves = false;
        for (size_t i = 0; i < n * 3; i++) moves = moves || dx[i] != 0;
        assert_true(moves);
        tape_free(&tape);
        model_close(&model);
        free(scene);
        free(dx);
    }
}

static void two_runs_give_the_same_bits(void **state) {
    (void)state;
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        GnnConfig config = scene_config(&scene_forms[f]);
        real *dx[2], *grads[2];
        size_t size = 0, moved = 2 * COUNTS[0] * 3;
        for (int run = 0; run < 2; run++) {
            SceneModel model;
            Tape tape;
            Scene *scene = scene_make(config.T, COUNTS);
            model_open(&model, &config, 3, false);
            tape_init(&tape, model.device);
            size = model.parameters.size;
            dx[run] = malloc(moved * sizeof(real));
            grads[run] = malloc(size * sizeof(real));
            two_steps(&model, &tape, scene, dx[run]);
            memcpy(grads[run], model.parameters.grads, size * sizeof(real));
            tape_free(&tape);
            model_close(&model);
            free(scene);
        }
        assert_true(all_finite(grads[0], size));
        assert_memory_equal(dx[0], dx[1], moved * sizeof(real));
        assert_memory_equal(grads[0], grads[1], size * sizeof(real));
        for (int run = 0; run < 2; run++) {
            free(dx[run]);
            free(grads[run]);
        }
    }
}

// ---- several scenes at once

enum { SCENES = 3 };
// The second has fewer particles than a particle has neighbours; sets of one scene have different sizes.
static const size_t SEVERAL[SCENES][GNN_MAX_SETS] = {{140, 133, 150}, {3, 4, 5}, {60, 61, 62}};

// Two steps of `count` scenes from number `first` on. Returns the gradient of all weights, and dx of the second step,
// (particles, 3), behind each other.
static void step_scenes(SceneModel *model, Scene *const *scenes, size_t first, size_t count, real *dx) {
    Tape tape;
    GnnSets sets[SCENES], all;
    DynamicsOutput out = {0};
    tape_init(&tape, model->device);
    for (size_t s = 0; s < count; s++) sets[s] = scene_sets(&tape, scenes[first + s]);
    for (uint32_t step = 0; step < 2; step++) {
        GnnPlanInput inputs[SCENES];
        GnnPlan plan;
        all = sets[0];
        for (size_t t = 0; t < all.count; t++) {
            Tensor *x[SCENES], *f[SCENES];
            for (size_t s = 0; s < count; s++) x[s] = sets[s].set[t].x, f[s] = sets[s].set[t].f;
            all.set[t].x = join_rows(&tape, count, x);
            all.set[t].f = join_rows(&tape, count, f);
            for (size_t s = 0; s < count; s++) sets[s].set[t].x = x[s], sets[s].set[t].f = f[s];
        }
        for (size_t s = 0; s < count; s++) {
            inputs[s] = scene_plan_input(&sets[s], step);
            inputs[s].episode = (uint32_t)(first + s);
        }
        gnn_plan_make(&tape, &model->dynamics->config, count, inputs, &plan);
        dynamics_step(&tape, model->dynamics, &plan, &all, &out);
        for (size_t s = 0, row = 0; s < count; s++) {
            size_t rows = scenes[first + s]->count[all.count - 1];
            DynamicsOutput own = {.x = tensor_rows(&tape, out.x, row, rows), .f = tensor_rows(&tape, out.f, row, rows)};
            sets[s] = scene_shift(&sets[s], &own);
            row += rows;
        }
        all = scene_shift(&all, &out);
    }
    for (size_t s = 0; s < count; s++) { // asked for by the parts
        Tensor *x = sets[s].set[all.count - 1].x;
        real *grad = tape_grad(&tape, x);
        for (size_t i = 0; i < 3 * x->rows; i++) grad[i] += (real)scene_random(50 + (uint32_t)(first + s), i);
    }
    tape_backward_from_grads(&tape);
    memcpy(dx, out.dx->value, 3 * out.dx->rows * sizeof *dx);
    tape_free(&tape);
}

// Scenes of one plan move as each does alone, and their gradients add up.
static void scenes_do_not_see_each_other(void **state) {
    (void)state;
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        GnnConfig config = scene_config(&scene_forms[f]);
        SceneModel model;
        Scene *scenes[SCENES];
        static real alone[SCENES * 3 * SCENE_MAX], together[SCENES * 3 * SCENE_MAX];
        size_t at = 0;
        if (config.T > 2) continue; // the sets behind a step have the sizes of the present
        model_open(&model, &config, 2, false);
        parameters_zero_grad(&model.parameters);
        for (size_t s = 0; s < SCENES; s++) {
            scenes[s] = scene_make(config.T, SEVERAL[s]);
            step_scenes(&model, scenes, s, 1, alone + at);
            at += 3 * scenes[s]->count[config.T - 1];
        }
        size_t size = model.parameters.size;
        real *sum = malloc(size * sizeof *sum), largest = 0;
        memcpy(sum, model.parameters.grads, size * sizeof *sum);
        parameters_zero_grad(&model.parameters);
        step_scenes(&model, scenes, 0, SCENES, together);
        for (size_t i = 0; i < at; i++) assert_true(real_fabs(together[i] - alone[i]) < (real)1e-6);
        for (size_t i = 0; i < size; i++) largest = real_fabs(sum[i]) > largest ? real_fabs(sum[i]) : largest;
        assert_true(largest > (real)0.01);
        for (size_t i = 0; i < size; i++)
            assert_true(real_fabs(model.parameters.grads[i] - sum[i]) < (real)2e-5 * largest);
        for (size_t s = 0; s < SCENES; s++) free(scenes[s]);
        free(sum);
        model_close(&model);
    }
}

// Another number of threads and computing again instead of keeping change roundings alone.
static void threads_and_keeping_agree(void **state) {
    (void)state;
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        real *dx[2], *grads[2];
        size_t size = 0, moved = 2 * COUNTS[0] * 3;
        for (int run = 0; run < 2; run++) {
            GnnConfig config = scene_config(&scene_forms[f]);
            SceneModel model;
            Tape tape;
            Scene *scene = scene_make(config.T, COUNTS);
            config.keep = run == 0;
            model_open(&model, &config, run ? 3 : 1, false);
            tape_init(&tape, model.device);
            size = model.parameters.size;
            dx[run] = malloc(moved * sizeof(real));
            grads[run] = malloc(size * sizeof(real));
            two_steps(&model, &tape, scene, dx[run]);
            memcpy(grads[run], model.parameters.grads, size * sizeof(real));
            tape_free(&tape);
            model_close(&model);
            free(scene);
        }
        double largest = 0, off = 0, grad = 0, grad_off = 0;
        for (size_t i = 0; i < moved; i++) {
            largest = fmax(largest, fabs((double)dx[0][i]));
            off = fmax(off, fabs((double)dx[0][i] - (double)dx[1][i]));
        }
        for (size_t i = 0; i < size; i++) {
            grad = fmax(grad, fabs((double)grads[0][i]));
            grad_off = fmax(grad_off, fabs((double)grads[0][i] - (double)grads[1][i]));
        }
        assert_true(off <= 1e-5 * largest && largest > 0);
        // Two steps of rounded sums; the first step's answer is the second's question.
        assert_true(grad_off <= 1e-3 * grad && grad > 0);
        for (int run = 0; run < 2; run++) {
            free(dx[run]);
            free(grads[run]);
        }
    }
}

// A step as tape_checkpoint runs it: the plan is kept, the tensors come as x0, f0, x1, f1, ..
typedef struct StepSegment {
    const Dynamics *dynamics;
    const GnnPlan *plan;
    GnnSets sets;
} StepSegment;

static void run_segment(Tape *tape, void *context, Tensor *const *inputs, Tensor **outputs) {
    const StepSegment *segment = context;
    GnnSets sets = segment->sets;
    DynamicsOutput out = {0};
    for (size_t t = 0; t < sets.count; t++) {
        sets.set[t].x = inputs[2 * t];
        sets.set[t].f = inputs[2 * t + 1];
    }
    dynamics_step(tape, segment->dynamics, segment->plan, &sets, &out);
    outputs[0] = out.x;
    outputs[1] = out.f;
}

static void run_step(Tape *tape, StepSegment *segment, bool checkpoint, Tensor **outputs) {
    Tensor *inputs[2 * GNN_MAX_SETS];
    for (size_t t = 0; t < segment->sets.count; t++) {
        inputs[2 * t] = segment->sets.set[t].x;
        inputs[2 * t + 1] = segment->sets.set[t].f;
    }
    if (checkpoint) tape_checkpoint(tape, run_segment, segment, 2 * segment->sets.count, inputs, 2, outputs);
    else run_segment(tape, segment, inputs, outputs);
}

// A step run again in the backward pass gives the same gradients, bit for bit.
static void checkpointed_steps_agree(void **state) {
    (void)state;
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        GnnConfig config = scene_config(&scene_forms[f]);
        real *grads[2], *f_grads[2];
        size_t size = 0, f_size = COUNTS[0] * 5;
        for (int run = 0; run < 2; run++) {
            SceneModel model;
            Tape tape;
            Scene *scene = scene_make(config.T, COUNTS);
            Tensor *outputs[2];
            GnnPlan plan;
            model_open(&model, &config, 2, false);
            tape_init(&tape, model.device);
            StepSegment segment = {model.dynamics, &plan, scene_sets(&tape, scene)};
            GnnPlanInput input = scene_plan_input(&segment.sets, 0);
            gnn_plan_make(&tape, &config, 1, &input, &plan);
            run_step(&tape, &segment, run == 1, outputs);
            for (int i = 0; i < 2; i++) {
                real *grad = tape_grad(&tape, outputs[i]);
                for (size_t j = 0; j < outputs[i]->rows * outputs[i]->cols; j++)
                    grad[j] = (real)scene_random(60 + (uint32_t)i, j);
            }
            tape_backward_from_grads(&tape);
            size = model.parameters.size;
            grads[run] = malloc(size * sizeof(real));
            f_grads[run] = malloc(f_size * sizeof(real));
            memcpy(grads[run], model.parameters.grads, size * sizeof(real));
            memcpy(f_grads[run], segment.sets.set[config.T - 1].f->grad, f_size * sizeof(real));
            tape_free(&tape);
            model_close(&model);
            free(scene);
        }
        assert_memory_equal(grads[0], grads[1], size * sizeof(real));
        assert_memory_equal(f_grads[0], f_grads[1], f_size * sizeof(real));
        for (int run = 0; run < 2; run++) {
            free(grads[run]);
            free(f_grads[run]);
        }
    }
}

static void warm_steps_allocate_nothing(void **state) {
    (void)state;
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        GnnConfig config = scene_config(&scene_forms[f]);
        SceneModel model;
        Tape tape;
        Scene *scene = scene_make(config.T, COUNTS);
        real *dx = malloc(2 * SCENE_MAX * 3 * sizeof *dx);
        size_t tape_before = 0, scratch_before = 0;
        model_open(&model, &config, 2, false);
        tape_init(&tape, model.device);
        for (int step = 0; step < 5; step++) {
            if (step == 2) {
                tape_before = tape_allocations(&tape);
                scratch_before = model.device->scratch.allocations;
            }
            two_steps(&model, &tape, scene, dx);
            arena_reset(&model.device->scratch); // as the trainer does between steps
        }
        assert_int_equal(tape_allocations(&tape), tape_before);
        assert_int_equal(model.device->scratch.allocations, scratch_before);
        tape_free(&tape);
        model_close(&model);
        free(scene);
        free(dx);
    }
}

// One step forward and backward on sets of given sizes; all that comes out must be finite.
static void awkward_step(const SceneForm *form, size_t past, size_t present, size_t M) {
    GnnConfig config = scene_config(form);
    SceneModel model;
    Tape tape;
    size_t counts[] = {past, past, present};
    Scene *scene = scene_make(config.T, config.T == 3 ? counts : config.T == 2 ? counts + 1 : counts + 2);
    config.M = M;
    model_open(&model, &config, 2, false);
    tape_init(&tape, model.device);
    GnnSets sets = scene_sets(&tape, scene);
    GnnPlanInput input = scene_plan_input(&sets, 0);
    GnnPlan plan;
    DynamicsOutput out = {0};
    gnn_plan_make(&tape, &config, 1, &input, &plan);
    dynamics_step(&tape, model.dynamics, &plan, &sets, &out);
    real *grad = tape_grad(&tape, out.x);
    for (size_t i = 0; i < out.x->rows * 3; i++) grad[i] = 1;
    tape_backward_from_grads(&tape);
    assert_int_equal(out.x->rows, present);
    assert_true(all_finite(out.x->value, present * 3) && all_finite(out.f->value, present * scene->D));
    assert_true(all_finite(model.parameters.grads, model.parameters.size));
    for (size_t t = 0; t < config.T; t++)
        if (sets.set[t].x->grad) assert_true(all_finite(sets.set[t].x->grad, scene->count[t] * 3));
    real spread = NAN;
    dynamics_spread(model.device, out.h, &spread);
    assert_true(isfinite(spread));
    tape_free(&tape);
    model_close(&model);
    free(scene);
}

static void awkward_sets_work(void **state) {
    (void)state;
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        const SceneForm *form = &scene_forms[f];
        awkward_step(form, 0, 50, 12); // no past particles
        awkward_step(form, 50, 50, 1); // one node
        awkward_step(form, 50, 50, 2); // fewer nodes than neighbours
        awkward_step(form, 3, 2, 12);  // fewer particles than neighbours and nodes
        awkward_step(form, 50, 1, 12); // one particle
        awkward_step(form, 50, 0, 12); // none
        awkward_step(form, 0, 0, 12);
    }
}

// Memory that runs out behind so many blocks.
static int blocks_left;
static void *scarce_allocate(void *owner, size_t bytes) {
    (void)owner;
    return blocks_left-- > 0 ? aligned_alloc(64, bytes) : NULL;
}
static void scarce_release(void *owner, void *memory, size_t bytes) {
    (void)owner;
    (void)bytes;
    free(memory);
}

// Wherever memory runs out, the step ends with a sentence and no crash.
static void memory_may_run_out(void **state) {
    (void)state;
    const ArenaSource scarce = {scarce_allocate, scarce_release, NULL, NULL};
    for (size_t f = 0; f < SCENE_FORMS; f++) {
        GnnConfig config = scene_config(&scene_forms[f]);
        Scene *scene = scene_make(config.T, COUNTS);
        real *dx = malloc(2 * SCENE_MAX * 3 * sizeof *dx);
        int failures = 0;
        Status status = STATUS_FAILED;
        config.C = 96;
        for (int blocks = 0; status != STATUS_OK && blocks < 40; blocks++) {
            SceneModel model;
            Tape tape;
            Error err = {0};
            model_open(&model, &config, 2, false);
            tape_init(&tape, model.device);
            tape.memory.source = model.device->scratch.source = scarce;
            blocks_left = blocks;
            GnnSets sets = {.count = config.T};
            for (size_t t = 0; t < config.T; t++) // inputs stand outside the scarce memory
                sets.set[t] = (GnnSet){.x = calloc(1, sizeof(Tensor)), .f = calloc(1, sizeof(Tensor))};
            for (size_t t = 0; t < config.T; t++) {
                *sets.set[t].x = (Tensor){.value = scene->x[t], .rows = scene->count[t], .cols = 3, .wants_grad = true};
                *sets.set[t].f =
                    (Tensor){.value = scene->f[t], .rows = scene->count[t], .cols = scene->D, .wants_grad = true};
            }
            GnnPlanInput input = scene_plan_input(&sets, 0);
            GnnPlan plan;
            DynamicsOutput out = {0};
            gnn_plan_make(&tape, &config, 1, &input, &plan);
            dynamics_step(&tape, model.dynamics, &plan, &sets, &out);
            real *grad = tape_grad(&tape, out.x);
            if (grad) memset(grad, 0, out.x->rows * 3 * sizeof *grad);
            tape_backward_from_grads(&tape);
            status = device_status(model.device, &err);
            failures += status != STATUS_OK;
            if (status != STATUS_OK) assert_non_null(strstr(err.text, "out of memory"));
            for (size_t t = 0; t < config.T; t++) {
                free(sets.set[t].x);
                free(sets.set[t].f);
            }
            tape_free(&tape);
            model_close(&model);
        }
        assert_int_equal(status, STATUS_OK);
        assert_true(failures >= 2);
        free(scene);
        free(dx);
    }
}

// Nodes that all say the same have no spread.
static void spread_sees_collapse(void **state) {
    (void)state;
    GnnConfig config = scene_config(&scene_forms[2]);
    SceneModel model;
    Tape tape;
    Scene *scene = scene_make(config.T, COUNTS);
    real *dx = malloc(2 * SCENE_MAX * 3 * sizeof *dx);
    model_open(&model, &config, 2, false);
    tape_init(&tape, model.device);
    assert_true(two_steps(&model, &tape, scene, dx) > 0.3);
    const char *gains[] = {"gnn.encode.node.gain", "gnn.round0.node.gain", "gnn.round1.node.gain"};
    for (size_t i = 0; i < 3; i++) {
        const Parameter *gain = parameters_find(&model.parameters, gains[i]);
        memset(gain->tensor.value, 0, gain->tensor.cols * sizeof(real));
    }
    assert_true(two_steps(&model, &tape, scene, dx) < 1e-6);
    tape_free(&tape);
    model_close(&model);
    free(scene);
    free(dx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(untrained_moves_nothing),
                                       cmocka_unit_test(two_runs_give_the_same_bits),
                                       cmocka_unit_test(scenes_do_not_see_each_other),
                                       cmocka_unit_test(threads_and_keeping_agree),
                                       cmocka_unit_test(warm_steps_allocate_nothing),
                                       cmocka_unit_test(checkpointed_steps_agree),
                                       cmocka_unit_test(awkward_sets_work),
                                       cmocka_unit_test(memory_may_run_out),
                                       cmocka_unit_test(spread_sees_collapse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
