// SPDX-License-Identifier: Apache-2.0
// A training step as a whole: a warm one asks the system for no memory, repeats bit for bit, adds up over episodes, and
// learns.
#include "nn/optimizer.h"
#include "tests/model_scene.h"
#include "train/episode.h"

typedef struct Fixture {
    ModelScene scene;
    Device *device;
    Vpd *model;
    Tape tape;
    LossWorkspace workspace;
    LossParts parts;
} Fixture;

static const int input_views[] = {0, 1};

static void setup(Fixture *f, const char *const *options) {
    Config config;
    Error err = {0};
    const double none[3] = {0, 0, 0};
    memset(f, 0, sizeof *f);
    scene_make(&f->scene, none);
    scene_config(&config, options);
    assert_status_ok(device_open("cpu", 2, &f->device, &err), err);
    assert_status_ok(vpd_create(&config, f->device, &f->model, &err), err);
    tape_init(&f->tape, f->device);
}

static void teardown(Fixture *f) {
    tape_free(&f->tape);
    loss_workspace_free(&f->workspace);
    vpd_free(f->model);
    device_close(f->device);
}

// T = 1 of the scene's two frames is history with one rollout step; with T = 2 there is none to predict.
static void run(Fixture *f, uint32_t step, double scale) {
    Error err = {0};
    int T = (int)f->model->config.model.T;
    EpisodeInput input = {.frames = &f->scene.observation,
                          .input_views = input_views,
                          .input_view_count = SCENE_VIEWS,
                          .rollout = SCENE_FRAMES - T,
                          .key = {1, step, 0},
                          .scale = scale};
    LossValues values;
    assert_status_ok(train_episode(&f->tape, f->model, &f->workspace, &input, &values, &err), err);
    assert_status_ok(loss_read(&f->tape, &values, &f->parts, &err), err);
}

static size_t allocations(const Fixture *f) { return tape_allocations(&f->tape) + f->device->scratch.allocations; }

static void a_warm_step_allocates_nothing(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (const char *[]){"train.rays=20", NULL});
    for (uint32_t i = 0; i < 3; i++) run(&f, i, 1);
    size_t before = allocations(&f);
    for (uint32_t i = 0; i < 5; i++) run(&f, i, 1);
    assert_int_equal(allocations(&f), before);
    teardown(&f);
}

static void two_runs_give_the_same_bits(void **state) {
    (void)state;
    Fixture a, b;
    setup(&a, NULL);
    setup(&b, NULL);
    run(&a, 4, 1);
    run(&b, 4, 1);
    assert_memory_equal(a.model->parameters.grads, b.model->parameters.grads, a.model->parameters.size * sizeof(real));
    run(&b, 5, 1); // other rays, other particles: the planted difference
    assert_true(memcmp(a.model->parameters.grads, b.model->parameters.grads, a.model->parameters.size * sizeof(real)) !=
                0);
    teardown(&a);
    teardown(&b);
}

// What is kept for the backward pass decides about memory and time, never about a bit; and it stays within its limit.
static void a_limit_on_what_is_kept_changes_no_bit(void **state) {
    (void)state;
    const size_t limits[] = {SIZE_MAX, 20000, 0};
    size_t used[3];
    Fixture f[3];
    for (int i = 0; i < 3; i++) {
        Error err = {0};
        setup(&f[i], (const char *[]){"gnn.graph=hierarchical", NULL});
        f[i].tape.keep_limit = limits[i];
        // The two frames twice: a rollout of two steps.
        ModelScene *s = &f[i].scene;
        size_t pixels = SCENE_IMAGES * SCENE_PIXELS;
        uint8_t *rgb = malloc(6 * pixels);
        float *depth = malloc(2 * pixels * sizeof *depth);
        double pose[2 * SCENE_IMAGES * 16];
        for (size_t half = 0; half < 2; half++) {
            memcpy(rgb + half * 3 * pixels, s->rgb, 3 * pixels);
            memcpy(depth + half * pixels, s->depth, pixels * sizeof *depth);
            memcpy(pose + half * SCENE_IMAGES * 16, s->pose, sizeof s->pose);
        }
        Observation twice = s->observation;
        twice.F = 2 * SCENE_FRAMES;
        twice.rgb = rgb;
        twice.depth = depth;
        twice.world_from_camera = pose;
        EpisodeInput input = {.frames = &twice,
                              .input_views = input_views,
                              .input_view_count = SCENE_VIEWS,
                              .rollout = 2,
                              .key = {1, 7, 0},
                              .scale = 1};
        LossValues values;
        assert_status_ok(train_episode(&f[i].tape, f[i].model, &f[i].workspace, &input, &values, &err), err);
        assert_status_ok(loss_read(&f[i].tape, &values, &f[i].parts, &err), err);
        used[i] = f[i].tape.kept;
        assert_true(used[i] <= limits[i]);
        free(rgb);
        free(depth);
    }
    assert_true(used[0] > used[1] && used[1] > 0 && used[2] == 0);
    for (int i = 1; i < 3; i++)
        assert_memory_equal(f[0].model->parameters.grads, f[i].model->parameters.grads,
                            f[0].model->parameters.size * sizeof(real));
    for (int i = 0; i < 3; i++) teardown(&f[i]);
}

// Every view is rendered, however many there are.
static void all_views_are_drawn(void **state) {
    (void)state;
    enum { VIEWS = 300 };
    RayBatch rays = {0};
    Error err = {0};
    uint8_t rgb[VIEWS * 3] = {0};
    float depth[VIEWS];
    double intrinsics[VIEWS * 9], pose[VIEWS * 16];
    int views[VIEWS];
    for (int v = 0; v < VIEWS; v++) {
        memcpy(intrinsics + 9 * v, (double[]){1, 0, 0.5, 0, 1, 0.5, 0, 0, 1}, 9 * sizeof *intrinsics);
        memcpy(pose + 16 * v, (double[]){1, 0, 0, v, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 16 * sizeof *pose);
        views[v] = v, depth[v] = 1;
    }
    Observation many = {.F = 1,
                        .V = VIEWS,
                        .H = 1,
                        .W = 1,
                        .views = views,
                        .rgb = rgb,
                        .depth = depth,
                        .intrinsics = intrinsics,
                        .world_from_camera = pose};
    assert_status_ok(ray_batch_draw(&rays, &many, 0, 0, 0, &(RayBatchOptions){.rays = 2}, &err), err);
    assert_int_equal(rays.count, 2 * VIEWS);
    for (size_t r = 0; r < rays.count; r++) assert_true(rays.origin[3 * r] == (real)(r / 2));
    ray_batch_free(&rays);
}

static void gradients_of_a_split_batch_add_up(void **state) {
    (void)state;
    Fixture whole, part;
    setup(&whole, NULL);
    setup(&part, NULL);
    size_t n = whole.model->parameters.size;
    double *sum = calloc(n, sizeof *sum), largest = 0;
    for (uint32_t i = 0; i < 3; i++) {
        run(&whole, i, 1.0 / 3); // adds into the same gradients
        parameters_zero_grad(&part.model->parameters);
        run(&part, i, 1);
        for (size_t j = 0; j < n; j++) sum[j] += (double)part.model->parameters.grads[j] / 3;
    }
    for (size_t j = 0; j < n; j++) largest = fmax(largest, fabs(sum[j]));
    // Rounding of single precision in sums of a few hundred terms.
    for (size_t j = 0; j < n; j++) assert_close(whole.model->parameters.grads[j], sum[j], 1e-5 * largest, 1e-4);
    free(sum);
    teardown(&whole);
    teardown(&part);
}

// Overfits the made-up scene's reconstruction: what one short episode reaches in a few seconds.
static void it_learns_one_episode(void **state) {
    (void)state;
    Fixture f;
    Optimizer optimizer;
    Error err = {0};
    double norm;
    setup(&f, (const char *[]){"encoder.N=400", "renderer.radius=0.2", "train.rays=120", NULL});
    assert_status_ok(
        optimizer_create(&optimizer, &f.model->parameters, (OptimizerConfig){0.9, 0.99, 1e-8, 0, 1, 0}, &err), err);
    run(&f, 0, 1);
    double first = f.parts.term[LOSS_PIXELS];
    for (uint32_t i = 0; i < 250; i++) {
        parameters_zero_grad(&f.model->parameters);
        run(&f, i, 1);
        assert_status_ok(optimizer_step(&optimizer, 5e-3, &norm, &err), err);
    }
    print_message("squared error %.4f before, %.4f after 250 steps (%.1f dB)\n", first, f.parts.term[LOSS_PIXELS],
                  -10 * log10(f.parts.term[LOSS_PIXELS]));
    assert_true(f.parts.term[LOSS_PIXELS] < 0.01); // 20 dB: far above the best constant colour's 13 dB
    optimizer_free(&optimizer);
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_step_allocates_nothing),          cmocka_unit_test(two_runs_give_the_same_bits),
        cmocka_unit_test(a_limit_on_what_is_kept_changes_no_bit), cmocka_unit_test(all_views_are_drawn),
        cmocka_unit_test(gradients_of_a_split_batch_add_up),      cmocka_unit_test(it_learns_one_episode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
