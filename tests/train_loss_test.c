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

static void run_episodes(Fixture *f, size_t count, const EpisodeInput *inputs) {
    Error err = {0};
    EpisodeBatch batch = {count, count, inputs, inputs->frames->F - (int)f->model->config.model.T, NULL};
    PlacedBatch placed;
    LossValues values;
    assert_status_ok(train_place(f->model, &f->workspace, &batch, &placed, &err), err);
    assert_status_ok(train_episodes(&f->tape, f->model, &f->workspace, &placed, &values, &err), err);
    assert_status_ok(loss_read(&f->tape, &values, &f->parts, &err), err);
}

// T = 1 of the scene's two frames is history with one rollout step; with T = 2 there is none to predict.
static void run(Fixture *f, uint32_t step) {
    EpisodeInput input = {&f->scene.observation, input_views, SCENE_VIEWS, {0}, {1, step, 0}, NULL, NULL};
    run_episodes(f, 1, &input);
}

static size_t allocations(const Fixture *f) {
    return tape_allocations(&f->tape) + tape_allocations(&f->workspace.chosen) + f->device->scratch.allocations;
}

static void a_warm_step_allocates_nothing(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (const char *[]){"train.rays=20", NULL});
    for (uint32_t i = 0; i < 3; i++) run(&f, i);
    size_t before = allocations(&f);
    for (uint32_t i = 0; i < 5; i++) run(&f, i);
    assert_int_equal(allocations(&f), before);
    teardown(&f);
}

static void two_runs_give_the_same_bits(void **state) {
    (void)state;
    Fixture a, b;
    setup(&a, NULL);
    setup(&b, NULL);
    run(&a, 4);
    run(&b, 4);
    assert_memory_equal(a.model->parameters.grads, b.model->parameters.grads, a.model->parameters.size * sizeof(real));
    run(&b, 5); // other rays, other particles: the planted difference
    assert_true(memcmp(a.model->parameters.grads, b.model->parameters.grads, a.model->parameters.size * sizeof(real)) !=
                0);
    teardown(&a);
    teardown(&b);
}

// The scene's two frames twice, so that there is a rollout of two steps; the first `views` of them. Images of `rows`
// rows and LONG_W columns repeat the scene's pixels.
enum { LONG_H = 17, LONG_W = 18, LONG_FRAMES = 2 * SCENE_FRAMES, LONG_IMAGES = LONG_FRAMES * SCENE_VIEWS };
typedef struct LongVideo {
    uint8_t rgb[LONG_IMAGES * LONG_H * LONG_W * 3];
    float depth[LONG_IMAGES * LONG_H * LONG_W];
    double pose[LONG_IMAGES * 16], bounds[6];
    Observation observation;
} LongVideo;

static LongVideo *long_video(const ModelScene *scene, int rows, int views) {
    LongVideo *video = malloc(sizeof *video);
    size_t pixels = (size_t)rows * LONG_W;
    for (size_t i = 0; i < LONG_FRAMES * (size_t)views; i++) {
        size_t from = i / (size_t)views % SCENE_FRAMES * SCENE_VIEWS + i % (size_t)views;
        memcpy(video->pose + 16 * i, scene->pose + 16 * from, 16 * sizeof(double));
        for (size_t p = 0; p < pixels; p++) {
            size_t pixel = SCENE_PIXELS * from + p / LONG_W % SCENE_H * SCENE_W + p % LONG_W % SCENE_W;
            memcpy(video->rgb + 3 * (pixels * i + p), scene->rgb + 3 * pixel, 3);
            video->depth[pixels * i + p] = scene->depth[pixel];
        }
    }
    video->observation = scene->observation;
    video->observation.F = LONG_FRAMES;
    video->observation.V = views;
    video->observation.H = rows;
    video->observation.W = LONG_W;
    video->observation.rgb = video->rgb;
    video->observation.depth = video->depth;
    video->observation.world_from_camera = video->pose;
    video->observation.bounds = memcpy(video->bounds, scene->bounds, sizeof video->bounds);
    return video;
}

// What is kept for the backward pass decides about memory and time, never about a bit; and it stays within its limit.
static void a_limit_on_what_is_kept_changes_no_bit(void **state) {
    (void)state;
    const size_t limits[] = {SIZE_MAX, 20000, 0};
    size_t used[3];
    Fixture f[3];
    for (int i = 0; i < 3; i++) {
        setup(&f[i], (const char *[]){"gnn.graph=hierarchical", NULL});
        f[i].tape.keep_limit = limits[i];
        LongVideo *video = long_video(&f[i].scene, SCENE_H, SCENE_VIEWS);
        EpisodeInput input = {&video->observation, input_views, SCENE_VIEWS, {0}, {1, 7, 0}, NULL, NULL};
        run_episodes(&f[i], 1, &input);
        used[i] = f[i].tape.kept;
        assert_true(used[i] <= limits[i]);
        free(video);
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
    assert_status_ok(ray_batch_add(&rays, &many, 0, 0, 0, &(RayBatchOptions){.rays = 2}, &err), err);
    assert_int_equal(rays.count, 2 * VIEWS);
    for (size_t r = 0; r < rays.count; r++) assert_true(rays.origin[3 * r] == (real)(r / 2));
    ray_batch_free(&rays);
}

// ---- batches

enum { EPISODES = 3 };

// Episodes of two views, two views with images that are too small for patches of SSIM, and one view with a smaller
// workspace box.
static void make_episodes(const ModelScene *scene, LongVideo *videos[EPISODES], EpisodeInput inputs[EPISODES]) {
    const int rows[EPISODES] = {LONG_H, SCENE_H - 4, LONG_H}, views[EPISODES] = {SCENE_VIEWS, SCENE_VIEWS, 1};
    for (uint32_t b = 0; b < EPISODES; b++) {
        videos[b] = long_video(scene, rows[b], views[b]);
        if (b == 2) videos[b]->bounds[3] = 0.2;
        inputs[b] = (EpisodeInput){&videos[b]->observation, input_views, views[b], {0}, {1, b, b}, NULL, NULL};
    }
}

static void add_gradient(const Fixture *f, double share, double *sum) {
    for (size_t j = 0; j < f->model->parameters.size; j++) sum[j] += share * (double)f->model->parameters.grads[j];
}

// The gradient of a batch is the mean of those of its episodes, and so are its losses.
static void a_batch_is_the_mean_of_its_episodes(void **state) {
    (void)state;
    const char *const forms[] = {"gnn.graph=bodies", "gnn.graph=hierarchical", "gnn.graph=flat"};
    for (int i = 0; i < 3; i++) {
        Fixture whole, part;
        LongVideo *videos[EPISODES];
        EpisodeInput inputs[EPISODES];
        double loss = 0, last = 0, largest = 0;
        const char *const options[] = {forms[i], "train.depth_term=0.1", "train.ssim_term=0.1", "data.crop=true", NULL};
        setup(&whole, options);
        setup(&part, options);
        make_episodes(&whole.scene, videos, inputs);
        size_t n = whole.model->parameters.size;
        double *sum = calloc(n, sizeof *sum);
        for (int b = 0; b < EPISODES; b++) {
            parameters_zero_grad(&part.model->parameters);
            run_episodes(&part, 1, &inputs[b]);
            add_gradient(&part, 1.0 / EPISODES, sum);
            loss += part.parts.total / EPISODES, last += part.parts.last / EPISODES;
        }
        run_episodes(&whole, EPISODES, inputs);
        assert_close(whole.parts.total, loss, 0, 1e-6);
        assert_close(whole.parts.last, last, 0, 1e-6);
        for (size_t j = 0; j < n; j++) largest = fmax(largest, fabs(sum[j]));
        // Rounding of single precision in sums of a few hundred terms.
        for (size_t j = 0; j < n; j++) assert_close(whole.model->parameters.grads[j], sum[j], 1e-5 * largest, 1e-4);
        free(sum);
        for (int k = 0; k < EPISODES; k++) free(videos[k]);
        teardown(&whole);
        teardown(&part);
    }
}

static void an_episode_without_depth_is_named(void **state) {
    (void)state;
    Fixture f;
    LongVideo *videos[EPISODES];
    EpisodeInput inputs[EPISODES];
    Error err = {0};
    PlacedBatch placed;
    setup(&f, (const char *[]){"gnn.graph=hierarchical", NULL});
    make_episodes(&f.scene, videos, inputs);
    memset(videos[1]->depth, 0, sizeof videos[1]->depth);
    inputs[1].file = "a.h5", inputs[1].name = "7", inputs[1].first.stride = 2;
    EpisodeBatch batch = {EPISODES, EPISODES, inputs, 2, NULL};
    assert_status_error(train_place(f.model, &f.workspace, &batch, &placed, &err), STATUS_BAD_INPUT, err,
                        "a.h5:/episodes/7, frame 2: no valid depth");
    for (int k = 0; k < EPISODES; k++) free(videos[k]);
    teardown(&f);
}

static void threads_change_no_bit_of_a_batch(void **state) {
    (void)state;
    Fixture f[3];
    for (int i = 0; i < 3; i++) {
        LongVideo *videos[EPISODES];
        EpisodeInput inputs[EPISODES];
        setup(&f[i], (const char *[]){"gnn.graph=bodies", "train.ssim_term=0.1", NULL});
        f[i].device->threads = i == 0 ? 1 : 3;
        make_episodes(&f[i].scene, videos, inputs);
        if (i == 2) inputs[2].key.step++; // the planted difference: other rays in one episode
        run_episodes(&f[i], EPISODES, inputs);
        for (int k = 0; k < EPISODES; k++) free(videos[k]);
    }
    size_t bytes = f[0].model->parameters.size * sizeof(real);
    assert_memory_equal(f[0].model->parameters.grads, f[1].model->parameters.grads, bytes);
    assert_true(memcmp(f[0].model->parameters.grads, f[2].model->parameters.grads, bytes) != 0);
    for (int i = 0; i < 3; i++) teardown(&f[i]);
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
    run(&f, 0);
    double first = f.parts.term[LOSS_PIXELS];
    for (uint32_t i = 0; i < 120; i++) {
        parameters_zero_grad(&f.model->parameters);
        run(&f, i);
        assert_status_ok(optimizer_step(&optimizer, 5e-3, &norm, &err), err);
    }
    print_message("squared error %.4f before, %.4f after 120 steps (%.1f dB)\n", first, f.parts.term[LOSS_PIXELS],
                  -10 * log10(f.parts.term[LOSS_PIXELS]));
    assert_true(f.parts.term[LOSS_PIXELS] < 0.01); // 20 dB: far above the best constant colour's 13 dB
    optimizer_free(&optimizer);
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_step_allocates_nothing),          cmocka_unit_test(two_runs_give_the_same_bits),
        cmocka_unit_test(a_limit_on_what_is_kept_changes_no_bit), cmocka_unit_test(all_views_are_drawn),
        cmocka_unit_test(a_batch_is_the_mean_of_its_episodes),    cmocka_unit_test(threads_change_no_bit_of_a_batch),
        cmocka_unit_test(an_episode_without_depth_is_named),      cmocka_unit_test(it_learns_one_episode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
