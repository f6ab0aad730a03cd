// SPDX-License-Identifier: Apache-2.0
// The whole model: directional derivatives of the loss of a two-step rollout, for the weights of each module, against
// central differences in double. Plans (nodes, edges, velocities) and ray samples are kept fixed, so the loss is
// smooth.
#include "base/random.h"
#include "model/vpd.h"
#include "nn/combine.h"
#include "nn/reduce.h"
#include "tests/model_scene.h"

enum { STEPS = 2, RAYS = 40 };

typedef struct Fixture {
    ModelScene scene;
    Device *device;
    Vpd *model;
    Workspace workspace;
    Tape kept, tape; // plans and samples live on `kept`
    GnnPlan plans[STEPS];
    RendererSamples *samples[STEPS + 1];
    bool frozen;
    bool pulled; // the loss pulls particles to fixed places
    real origin[3 * RAYS], direction[3 * RAYS], colour[3 * RAYS];
} Fixture;

static void make_rays(Fixture *f) {
    RandomKey key = {.seed = 5, .purpose = RANDOM_TEST};
    for (size_t r = 0; r < RAYS; r++) {
        int image = SCENE_VIEWS + (int)(r % SCENE_VIEWS), p = (int)random_below(key, r, SCENE_PIXELS);
        const double *pose = f->scene.pose + 16 * image;
        double point[3];
        camera_unproject_world(f->scene.intrinsics + 9 * (r % SCENE_VIEWS), pose, p % SCENE_W + 0.5, p / SCENE_W + 0.5,
                               1, point);
        for (size_t c = 0; c < 3; c++) {
            f->origin[3 * r + c] = (real)pose[4 * c + 3];
            f->direction[3 * r + c] = (real)(point[c] - pose[4 * c + 3]);
            f->colour[3 * r + c] = (real)f->scene.rgb[3 * (image * SCENE_PIXELS + p) + (int)c] / 255;
        }
    }
}

// Weights that start at zero are moved away from it, else their modules have no effect and no gradient.
static void stir(Vpd *model) {
    RandomKey key = {.seed = 9, .purpose = RANDOM_TEST};
    for (size_t i = 0; i < model->parameters.count; i++) {
        const Parameter *p = model->parameters.items[i];
        for (size_t j = 0; j < p->tensor.rows * p->tensor.cols; j++)
            if (p->init == INIT_ZERO)
                p->tensor.value[j] = (real)(0.2 * (2 * (double)random_uniform(key, p->offset + j) - 1));
    }
}

static void setup(Fixture *f, const char *const *options) {
    Config config;
    Error err = {0};
    const double shift[3] = {0, 0, 0};
    memset(f, 0, sizeof *f);
    scene_make(&f->scene, shift);
    scene_config(&config, options);
    assert_status_ok(device_open("cpu", 2, &f->device, &err), err);
    assert_status_ok(vpd_create(&config, f->device, &f->model, &err), err);
    stir(f->model);
    tape_init(&f->kept, f->device);
    tape_init(&f->tape, f->device);
    make_rays(f);
}

static void teardown(Fixture *f) {
    tape_free(&f->tape);
    tape_free(&f->kept);
    workspace_free(&f->workspace);
    vpd_free(f->model);
    device_close(f->device);
}

static Tensor *draw(Fixture *f, const Scene *scene, int step) {
    RendererOutput output = vpd_render(f->frozen ? &f->tape : &f->kept, f->model, scene, RAYS, f->origin, f->direction,
                                       NULL, &f->samples[step]);
    return reduce(f->frozen ? &f->tape : &f->kept, output.colour, REDUCE_SQUARE, f->colour, NULL, 1.0 / (3 * RAYS));
}

// The distance to places 10 cm or so from where each particle began.
static Tensor *pull(Fixture *f, Tape *tape, const Scene *scene, const real *began) {
    const Config *c = &f->model->config;
    Tensor *x = scene->sets.set[scene->sets.count - 1].x;
    real *place = tape_context(tape, 3 * x->rows * sizeof *place),
         *weight = tape_context(tape, x->rows * sizeof *weight);
    RandomKey key = {.seed = 6, .purpose = RANDOM_TEST};
    for (size_t i = 0; i < 3 * x->rows; i++) place[i] = began[i] + (real)(0.4 * random_uniform(key, i) - 0.2);
    for (size_t i = 0; i < x->rows; i++) weight[i] = 1 / (real)x->rows;
    return reduce_huber(tape, x, tape_upload(tape, place, 3 * x->rows, sizeof *place),
                        tape_upload(tape, weight, x->rows, sizeof *weight), 0.01 * c->data.extent,
                        1 / c->gnn.displacement_scale);
}

// The loss; the first call (not frozen) makes the plans and samples that later calls use.
static Tensor *loss_of(Fixture *f) {
    Tape *tape = f->frozen ? &f->tape : &f->kept;
    Scene scene;
    Error err = {0};
    tape_reset(tape);
    assert_status_ok(
        vpd_observe_and_encode(tape, f->model, &f->workspace, &f->scene.observation, (SceneKey){3, 0, 0}, &scene, &err),
        err);
    Tensor *loss = draw(f, &scene, 0);
    const real *began = scene.sets.set[scene.sets.count - 1].x->value;
    for (int step = 1; step <= STEPS; step++) {
        tape_stage(tape);
        if (!f->frozen && vpd_has_dynamics(f->model))
            vpd_plan(tape, f->model, 1, &(Scene *){&scene}, &f->plans[step - 1]);
        StepOutput out;
        vpd_move(tape, f->model, 1, &(Scene *){&scene}, &f->plans[step - 1], &out);
        loss = tensor_add(tape, loss, draw(f, &scene, step));
        if (f->pulled) loss = tensor_add(tape, loss, pull(f, tape, &scene, began));
        if (out.dx) loss = tensor_add_scaled(tape, loss, reduce(tape, out.dx, REDUCE_SQUARE, NULL, NULL, 1), 3);
    }
    assert_status_ok(device_status(f->device, &err), err);
    return loss;
}

static double direction_of(size_t at) {
    return 2 * (double)random_uniform((RandomKey){.seed = 11, .purpose = RANDOM_TEST}, at) - 1;
}

static void move_weights(Fixture *f, const char *prefix, double step) {
    for (size_t i = 0; i < f->model->parameters.count; i++) {
        const Parameter *p = f->model->parameters.items[i];
        if (strncmp(p->name, prefix, strlen(prefix))) continue;
        for (size_t j = 0; j < p->tensor.rows * p->tensor.cols; j++)
            p->tensor.value[j] += (real)(step * direction_of(p->offset + j));
    }
}

static double analytic_derivative(const Fixture *f, const char *prefix, double *size) {
    double sum = 0;
    *size = 0;
    for (size_t i = 0; i < f->model->parameters.count; i++) {
        const Parameter *p = f->model->parameters.items[i];
        if (strncmp(p->name, prefix, strlen(prefix))) continue;
        for (size_t j = 0; j < p->tensor.rows * p->tensor.cols; j++) {
            double one = (double)p->tensor.grad[j] * direction_of(p->offset + j);
            sum += one;
            *size += fabs(one);
        }
    }
    return sum;
}

static double value_at(Fixture *f, const char *prefix, double step) {
    move_weights(f, prefix, step);
    f->tape.recording = false;
    double value = (double)loss_of(f)->value[0];
    f->tape.recording = true;
    move_weights(f, prefix, -step);
    return value;
}

static void check_module(Fixture *f, const char *prefix) {
    const double step = 1e-5; // truncation ~ step^2 = 1e-10 of the third derivative, rounding ~ 1e-16 / step = 1e-11
    double size, analytic = analytic_derivative(f, prefix, &size);
    double numeric = (value_at(f, prefix, step) - value_at(f, prefix, -step)) / (2 * step);
    if (size < 1e-9) fail_msg("%s has no gradient at all (%g)", prefix, size);
    // Rounding of a sum of that many products is relative to their absolute sum.
    if (!(fabs(analytic - numeric) <= 1e-6 * fmax(fabs(numeric), 1e-2 * size) + 1e-11))
        fail_msg("%s: %.12g by the tape, %.12g by differences", prefix, analytic, numeric);
}

static void check_modules_of(bool pulled, const char *const *options, const char *const *modules) {
    Fixture f;
    setup(&f, options);
    f.pulled = pulled;
    loss_of(&f);
    f.frozen = true;
    parameters_zero_grad(&f.model->parameters);
    tape_backward(&f.tape, loss_of(&f));
    for (size_t i = 0; modules[i]; i++) check_module(&f, modules[i]);
    teardown(&f);
}

static void check_modules(const char *const *options, const char *const *modules) {
    check_modules_of(false, options, modules);
}

#define PAPER "gnn.graph=hierarchical"

static void the_graph_pulled_to_places(void **state) {
    (void)state;
    check_modules_of(true, (const char *[]){PAPER, NULL},
                     (const char *[]){"encoder.", "gnn.encode", "gnn.edge", "gnn.round0", "gnn.round1", "gnn.decode",
                                      "renderer.", NULL});
}

static void the_graph_and_features_that_change(void **state) {
    (void)state;
    check_modules((const char *[]){PAPER, "gnn.feature_change=0.1", NULL},
                  (const char *[]){"encoder.down", "encoder.up", "encoder.out", "gnn.encode", "gnn.edge", "gnn.round0",
                                   "gnn.round1", "gnn.decode", "renderer.", NULL});
}

static void the_graph_without_colours(void **state) {
    (void)state;
    check_modules((const char *[]){PAPER, "encoder.sampling=uniform", "encoder.carry_rgb=false",
                                   "encoder.depth_input=true", "renderer.background=learned",
                                   "renderer.view_direction=true", "gnn.feature_change=0.1", NULL},
                  (const char *[]){"encoder.", "gnn.encode", "gnn.edge", "gnn.round0", "gnn.decode.edge",
                                   "gnn.decode.node", "renderer.weight", "renderer.background", NULL});
}

static void the_graph_with_a_sky(void **state) {
    (void)state;
    check_modules((const char *[]){PAPER, "renderer.background=direction", NULL},
                  (const char *[]){"encoder.", "gnn.", "renderer.sky", NULL});
}

static void the_flat_graph(void **state) {
    (void)state;
    check_modules((const char *[]){"gnn.graph=flat", NULL}, (const char *[]){"encoder.", "gnn.", "renderer.", NULL});
}

static void steps_run_again_in_the_backward_pass(void **state) {
    (void)state;
    check_modules((const char *[]){PAPER, "gnn.feature_change=0.1", "train.checkpoint_steps=true", NULL},
                  (const char *[]){"encoder.", "gnn.encode", "gnn.round1", "gnn.decode", "renderer.", NULL});
}

// The planted error: a gradient that is off by a thousandth must not pass.
static void a_wrong_gradient_is_caught(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (const char *[]){PAPER, NULL});
    loss_of(&f);
    f.frozen = true;
    parameters_zero_grad(&f.model->parameters);
    tape_backward(&f.tape, loss_of(&f));
    double size, numeric = (value_at(&f, "gnn.", 1e-5) - value_at(&f, "gnn.", -1e-5)) / 2e-5,
                 analytic = 1.001 * analytic_derivative(&f, "gnn.", &size);
    assert_true(fabs(analytic - numeric) > 1e-6 * fmax(fabs(numeric), 1e-2 * size));
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_graph_pulled_to_places),
        cmocka_unit_test(the_graph_and_features_that_change),
        cmocka_unit_test(the_graph_without_colours),
        cmocka_unit_test(the_graph_with_a_sky),
        cmocka_unit_test(the_flat_graph),
        cmocka_unit_test(steps_run_again_in_the_backward_pass),
        cmocka_unit_test(a_wrong_gradient_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
