// SPDX-License-Identifier: Apache-2.0
// Windows in batches: what is drawn, where the loss is 0, gradients of a batch, threads; and whole runs.
#include "base/file.h"
#include "files/checkpoint.h"
#include "tests/infer_world.h"
#include "tests/track_scene.h"
#include "train/trainer.h"
#include "train/windows.h"

enum { LONGEST = 6 };
static const TrackOptions options = {.longest = LONGEST, .colour_length = 1, .reach = 0.08, .stiff = 0.01};

// ---- batches of a made-up scene

typedef struct Fixture {
    Device *device;
    Vpd *model;
    Tape tape;
    Windows windows;
} Fixture;

// `stirred` moves the weights away from those that predict the same motion again.
static void setup(Fixture *f, int threads, bool stirred) {
    static const char *const pairs[] = {"gnn.graph=bodies", "train.windows=5", "train.turn=z", NULL};
    TrackScene scene;
    Config config;
    Error err = {0};
    RandomKey key = {.seed = 9, .purpose = RANDOM_TEST};
    *f = (Fixture){0};
    world_config(&config, pairs);
    assert_status_ok(device_open("cpu", threads, &f->device, &err), err);
    assert_status_ok(vpd_create(&config, f->device, &f->model, &err), err);
    for (size_t i = 0; stirred && i < f->model->parameters.size; i++)
        f->model->parameters.values[i] += (real)(0.2 * (2 * (double)random_uniform(key, i) - 1));
    tape_init(&f->tape, f->device);
    f->windows.scales = vpd_body_scales(f->model);
    track_scene_make(&scene);
    assert_status_ok(tracks_add_video(&f->windows.tracks, &options, TRACK_FRAMES, scene.field, &err), err);
    assert_status_ok(windows_sort(&f->windows, &err), err);
    track_scene_free(&scene);
}

static void teardown(Fixture *f) {
    windows_free(&f->windows);
    tape_free(&f->tape);
    vpd_free(f->model);
    device_close(f->device);
}

static const TrainConfig *train_of(const Fixture *f) { return &f->model->config.train; }

static void draw(Fixture *f, long step, long rollout) {
    Error err = {0};
    assert_status_ok(windows_draw(&f->windows, train_of(f), NULL, 2, step, rollout, &err), err);
}

// The loss of the batch; its gradients are added.
static double learn(Fixture *f, long rollout) {
    LossParts parts = {0};
    Error err = {0};
    assert_status_ok(windows_learn(&f->windows, &f->tape, f->model, rollout, &parts, &err), err);
    assert_true(parts.total == parts.term[LOSS_BODIES] && parts.particles == f->windows.set.nodes);
    return parts.total;
}

static void draws_depend_on_the_step_alone(void **state) {
    (void)state;
    Fixture f;
    setup(&f, 1, false);
    DrawnWindow first[5];
    size_t counts[LONGEST + 1] = {8, 7, 6, 5, 4, 3, 2}; // of frames 1 to 8, those with so many frames after them
    assert_memory_equal(f.windows.with, counts, sizeof counts);
    for (long rollout = 1; rollout <= LONGEST; rollout++)
        for (long step = 0; step < 20; step++) {
            draw(&f, step, rollout);
            assert_int_equal(f.windows.set.windows, 5);
            for (int i = 0; i < 5; i++)
                assert_true(tracks_steps(&f.windows.tracks, f.windows.drawn[i].index) >= rollout);
        }
    draw(&f, 7, 2);
    memcpy(first, f.windows.drawn, sizeof first);
    draw(&f, 8, 2);
    assert_memory_not_equal(first, f.windows.drawn, sizeof first);
    draw(&f, 7, 2);
    assert_memory_equal(first, f.windows.drawn, sizeof first);
    teardown(&f);
}

// An untrained network repeats the last motion, which is what these bodies do, however the world is turned.
static void the_loss_is_zero_where_the_video_goes(void **state) {
    (void)state;
    Fixture f;
    setup(&f, 1, false);
    int pushed = 0;
    for (long step = 0; step < 10; step++) {
        draw(&f, step, 3);
        for (int i = 0; i < 5; i++) pushed += fabs(f.windows.drawn[i].push[0]) > 0;
        // The nodes' middle is not the body's centre, so it turns a little: 1e-4 of a step, which counts 1e-7.
        assert_in_range(1e6 * learn(&f, 3), 0, 20);
    }
    assert_in_range(pushed, 5, 45); // half of those in free flight have another velocity
    draw(&f, 0, 3);
    for (int c = 0; c < 9; c++) f.windows.drawn[0].turn[c] *= -1;
    assert_true(learn(&f, 3) > 0.5); // the planted error
    teardown(&f);
}

// Bodies near the floor, and slow ones, keep their velocity; so does what would come near the floor with the new one.
static void what_touches_is_not_pushed(void **state) {
    (void)state;
    Fixture f;
    setup(&f, 1, false);
    Windows *w = &f.windows;
    int pushed[2] = {0}, down = 0;
    for (int lowered = 0; lowered < 2; lowered++) {
        for (uint32_t k = 0; k < 200; k++) {
            double push[3];
            windows_push(w, 0, 3, random4((RandomKey){.seed = 1, .purpose = RANDOM_TEST}, k), push);
            pushed[lowered] += fabs(push[0]) > 0;
            down += push[2] < -0.1;
        }
        for (size_t p = w->tracks.set.first_patch[0]; p < w->tracks.set.first_patch[1]; p++)
            w->tracks.set.patch[p].position[2] += 0.3f; // the floor is raised to the bodies
    }
    assert_in_range(pushed[0], 30, 100);
    assert_int_equal(pushed[1], 0);
    assert_int_equal(down, 0); // 0.1 m a frame for three frames, from half a metre
    teardown(&f);
}

// About a quarter of the windows of two bodies have one that is driven, none has two; the step alone decides.
static void some_bodies_are_driven(void **state) {
    (void)state;
    Fixture f;
    setup(&f, 1, false);
    const Windows *w = &f.windows;
    int driven[3] = {0}, first = 0;
    bool last[2][10];
    for (long step = 0; step < 200; step++) {
        draw(&f, step, 1);
        assert_int_equal(w->set.bodies, 10);
        for (size_t b = 0; b < 10; b += 2) driven[w->driven[b] + w->driven[b + 1]]++, first += w->driven[b];
    }
    assert_int_equal(driven[2], 0);
    assert_in_range(driven[1], 200, 300);
    assert_in_range(first, driven[1] / 3, driven[1] * 2 / 3);
    for (int again = 0; again < 2; again++) {
        draw(&f, 199, 1);
        memcpy(last[again], w->driven, sizeof last[again]);
        draw(&f, 1, 1);
    }
    assert_memory_equal(last[0], last[1], sizeof *last);
    teardown(&f);
}

// Draws a batch in whose windows one body alone is driven (2: none), and followed for `known` steps at most.
static void draw_one_driven(Fixture *f, size_t which, int known) {
    Windows *w = &f->windows;
    draw(f, 3, 3);
    for (size_t b = 0; b < w->set.bodies; b++) {
        int *steps = &w->tracks.steps[w->source[b]];
        w->driven[b] = b % 2 == which;
        if (w->driven[b] && *steps > known) *steps = known;
    }
}

// Far from where the video has it, metres: the node of body b of a window that is farthest, after `step` steps.
static double off_the_video(const Windows *w, size_t of, size_t b, size_t step) {
    double most = 0;
    for (size_t i = w->set.first_node[b]; i < w->set.first_node[b + 1]; i++) {
        const real *place = tracks_places(&w->tracks, w->source[b], step - 1) + 3 * (i - w->set.first_node[b]);
        for (size_t r = 0; r < 3; r++) {
            double there = 0;
            for (size_t c = 0; c < 3; c++)
                there += w->drawn[of].turn[3 * r + c] * ((double)place[c] + (double)step * w->drawn[of].push[c]);
            most = fmax(most, fabs(there - (double)w->set.now[3 * i + r]));
        }
    }
    return most;
}

// It goes where the video has it, as long as that is known, and then as the network says; the others do not.
static void driven_bodies_go_with_the_video(void **state) {
    (void)state;
    Fixture f;
    setup(&f, 2, true);
    const Windows *w = &f.windows;
    for (int known = 3; known > 0; known--) {
        draw_one_driven(&f, 1, known);
        learn(&f, 3); // which moves bodies by two steps
        for (size_t b = 0; b < w->set.bodies; b++) {
            double off = off_the_video(w, b / 2, b, 2);
            assert_true(b % 2 && known >= 2 ? off < 1e-4 : off > 1e-3);
            assert_true(b % 2 && known == 3 ? w->set.given[b] != NULL : !w->set.given[b]);
        }
    }
    teardown(&f);
}

// The two bodies of a window do not see each other, so their losses add up.
static void driven_bodies_have_no_loss(void **state) {
    (void)state;
    Fixture f;
    double loss[3];
    for (size_t which = 0; which < 3; which++) {
        setup(&f, 2, true);
        draw_one_driven(&f, which, 3);
        loss[which] = learn(&f, 1);
        teardown(&f);
    }
    assert_true(loss[0] > 0.01 && loss[1] > 0.01);
    assert_close(loss[0] + loss[1], loss[2], 0, 1e-6);
}

static void a_batch_is_the_mean_of_its_windows(void **state) {
    (void)state;
    enum { COUNT = 5, ROLLOUT = 3 };
    Fixture f;
    Error err = {0};
    setup(&f, 2, true);
    Parameters *set = &f.model->parameters;
    double *sum = calloc(set->size, sizeof *sum), loss = 0, most = 0, worst = 0, planted = 0;
    DrawnWindow drawn[COUNT];
    draw(&f, 3, ROLLOUT);
    memcpy(drawn, f.windows.drawn, sizeof drawn);
    for (int w = 0; w < COUNT; w++) {
        f.windows.drawn[0] = drawn[w];
        assert_status_ok(windows_fill(&f.windows, 1, 2, &err), err);
        parameters_zero_grad(set);
        loss += learn(&f, ROLLOUT) / COUNT;
        for (size_t i = 0; i < set->size; i++) sum[i] += (double)set->grads[i] / COUNT;
    }
    memcpy(f.windows.drawn, drawn, sizeof drawn);
    assert_status_ok(windows_fill(&f.windows, COUNT, 2, &err), err);
    parameters_zero_grad(set);
    assert_close(learn(&f, ROLLOUT), loss, 0, 1e-5); // sums in another order
    for (size_t i = 0; i < set->size; i++) {
        most = fmax(most, fabs(sum[i]));
        worst = fmax(worst, fabs(sum[i] - (double)set->grads[i]));
        planted = fmax(planted, fabs(sum[i] * 1.01 - (double)set->grads[i]));
    }
    assert_true(most > 1e-3 && worst < 1e-4 * most && planted > 1e-3 * most);
    free(sum);
    teardown(&f);
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    Fixture one, two;
    setup(&one, 1, true);
    setup(&two, 2, true);
    draw(&one, 3, 3);
    draw(&two, 3, 3);
    assert_true(learn(&one, 3) == learn(&two, 3));
    assert_memory_equal(one.model->parameters.grads, two.model->parameters.grads,
                        one.model->parameters.size * sizeof(real));
    teardown(&one);
    teardown(&two);
}

// ---- frames at another rate

// All windows of the world's training episodes, for a model of this time step; fewer: without what it does not need.
static Status make_windows(World *world, const char *time_step, bool fewer, Windows *out, Error *err) {
    char data[256];
    snprintf(data, sizeof data, "data.path=%s", world->data);
    const char *const pairs[] = {
        data, "gnn.graph=bodies", "train.rollout=[1,2]", "train.rollout_from=[0,0.5]", time_step, NULL};
    Config config;
    TrainData train = {0};
    MotionCache cache = {0};
    world_config(&config, pairs);
    world_model(world, pairs, false);
    Status status = train_data_open(&config, NULL, NULL, &train, err);
    if (fewer) train_data_set_step(&train, config.data.time_step);
    WindowSource source = {.data = &train, .threads = 1, .model = world->model, .cache = &cache, .enough = SIZE_MAX};
    if (status == STATUS_OK) status = windows_make(out, &source, err);
    motion_cache_close(&cache);
    train_data_close(&train);
    return status;
}

static void assert_times(double factor, size_t count, const real *a, const real *b) {
    for (size_t i = 0; i < count; i++) assert_true((double)b[i] == factor * (double)a[i]);
}

// A model of twice the time step sees everything four times as large, and finds the same bodies.
static void another_rate_is_another_size(void **state) {
    (void)state;
    World world;
    Windows same = {0}, slower = {0};
    Error err = {0};
    world_open(&world, WORLD_PLAIN);
    assert_status_ok(make_windows(&world, "data.time_step=0.1", false, &same, &err), err);
    assert_status_ok(make_windows(&world, "data.time_step=0.2", false, &slower, &err), err);
    const Tracks *a = &same.tracks, *b = &slower.tracks;
    assert_true(a->set.bodies > 2 && a->set.patches > 0 && a->set.hulls > 0);
    assert_int_equal(a->set.nodes, b->set.nodes);
    assert_times(4, 3 * a->set.nodes, a->set.now, b->set.now);
    assert_times(4, 3 * a->set.nodes, a->set.before, b->set.before);
    assert_times(4, 3 * a->set.hulls, a->set.hull, b->set.hull);
    assert_times(1, 3 * a->set.nodes, a->set.normal, b->set.normal);
    for (size_t p = 0; p < a->set.patches; p++) {
        assert_times(4, 3, a->set.patch[p].position, b->set.patch[p].position);
        assert_times(1, 3, a->set.patch[p].normal, b->set.patch[p].normal);
        assert_true(b->set.patch[p].radius == 4 * a->set.patch[p].radius);
        assert_true(b->set.patch[p].rough == 4 * a->set.patch[p].rough);
    }
    for (size_t i = 0; i < a->set.bodies; i++)
        for (int k = 0; k < a->steps[i]; k++)
            assert_times(4, 3 * (a->set.first_node[i + 1] - a->set.first_node[i]), tracks_places(a, i, (size_t)k),
                         tracks_places(b, i, (size_t)k));
    windows_free(&same);
    windows_free(&slower);
    world_close(&world);
}

// Every second frame of the world, from frame 0 or 1 on, as a file of its own.
static void write_half(const World *world, int first, Error *err) {
    const MovieScene *from = &world->scene;
    char path[128];
    snprintf(path, sizeof path, "%s/half%d.h5", world->folder, first);
    MovieScene half = scene_make(from->info.F / 2, from->info.V, from->info.H, from->info.W, 0);
    for (int f = 0; f < half.info.F; f++) {
        half.time[f] = 2 * WORLD_STEP * f;
        memcpy(half.position + 3 * f, from->position + 3 * (first + 2 * f), 3 * sizeof(double));
    }
    scene_finish(&half);
    assert_status_ok(scene_write(path, &half, 1, err), *err);
    scene_free(&half);
}

// To a model of twice the time step, an episode is two: of every second frame from its first, and from its second.
static void frames_between_are_left_out(void **state) {
    (void)state;
    World world;
    Windows all = {0}, halves = {0};
    Error err = {0};
    char list[128];
    world_open(&world, WORLD_PLAIN);
    assert_status_ok(make_windows(&world, "data.time_step=0.2", true, &all, &err), err);
    for (int first = 0; first < 2; first++) write_half(&world, first, &err);
    snprintf(list, sizeof list, "%s/halves.txt", world.folder);
    static const char names[] = "half0.h5\nhalf1.h5\n";
    assert_status_ok(file_write_bytes(list, names, sizeof names - 1, &err), err);
    snprintf(world.data, sizeof world.data, "%s", list);
    assert_status_ok(make_windows(&world, "data.time_step=0.2", true, &halves, &err), err);
    const Tracks *a = &all.tracks, *b = &halves.tracks;
    assert_true(a->set.windows > 2);
    assert_int_equal(a->set.windows, b->set.windows);
    assert_int_equal(a->set.nodes, b->set.nodes);
    assert_memory_equal(a->set.now, b->set.now, 3 * a->set.nodes * sizeof(real));
    assert_memory_equal(a->set.before, b->set.before, 3 * a->set.nodes * sizeof(real));
    assert_memory_equal(a->steps, b->steps, a->set.bodies * sizeof *a->steps);
    windows_free(&all);
    windows_free(&halves);
    world_close(&world);
}

// The history and the longest rollout fit into the frames that are left.
static void strides_of_episodes(void **state) {
    (void)state;
    static const struct {
        double time_step, step;
        int F, intervals, stride;
    } cases[] = {{0.1, 0.1, 9, 1, 1},  {0.1, 0.2, 9, 1, 2},  {0.1, 0.2, 9, 4, 2}, {0.1, 0.2, 8, 4, 1},
                 {0.1, 0.14, 9, 1, 1}, {0.1, 0.15, 9, 1, 2}, {0.1, 0.9, 9, 2, 4}, {0.2, 0.1, 9, 1, 1},
                 {0.1, 0.3, 9, 0, 3},  {0.1, 0.3, 1, 0, 1},  {0, 0.1, 1, 1, 1},   {0.1, 0, 9, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EpisodeInfo info = {.F = cases[i].F, .time_step = cases[i].time_step};
        assert_int_equal(episode_stride(&info, cases[i].step, cases[i].intervals), cases[i].stride);
    }
}

// ---- whole runs

typedef struct Run {
    World world;
    char out[128], also[300], messages[8192]; // also: an option more, or ""
    Error err;
} Run;

static Status train_as(Run *run, const char *out, TrainOptions how, bool quiet, int threads, const char *more) {
    char data[256], folder[256];
    snprintf(data, sizeof data, "data.path=%s", run->world.data);
    snprintf(run->out, sizeof run->out, "%s/%s", run->world.folder, out);
    snprintf(folder, sizeof folder, "train.out=%s", run->out);
    const char *const pairs[] = {data,
                                 folder,
                                 "gnn.graph=bodies",
                                 "encoder.N=200",
                                 "train.steps=6",
                                 "train.motion_steps=4",
                                 "train.windows=3",
                                 "train.rollout=[1,2]",
                                 "train.rollout_from=[0,0.5]",
                                 "train.rate=0.01",
                                 "train.warmup=0",
                                 "train.weight_decay=0.1",
                                 "train.turn=z",
                                 "train.rays=4",
                                 "train.log_every=1",
                                 "train.checkpoint_every=1",
                                 "train.keep=1000",
                                 "train.picture_every=0",
                                 more,
                                 run->also[0] ? run->also : NULL,
                                 NULL};
    Config config;
    TrainSummary summary;
    Device *device;
    world_config(&config, pairs);
    run->err = (Error){0};
    assert_status_ok(device_open("cpu", threads, &device, &run->err), run->err);
    FILE *messages = fmemopen(run->messages, sizeof run->messages, "w");
    Log log = {.out = messages, .quiet = quiet};
    how.log = &log;
    Status status = train_run(&config, device, &how, &summary, &run->err);
    fclose(messages);
    device_close(device);
    return status;
}

static Status train(Run *run, const char *out, bool resume, int threads, const char *more) {
    return train_as(run, out, (TrainOptions){.resume = resume}, false, threads, more);
}

// The weights of a checkpoint; the caller frees them.
static real *weights_at(Run *run, const char *out, int step, size_t *size) {
    static const char *const pairs[] = {"gnn.graph=bodies", "encoder.N=200", NULL};
    char path[256];
    Error err = {0};
    world_model(&run->world, pairs, false);
    Parameters *set = &run->world.model->parameters;
    snprintf(path, sizeof path, "%s/%s/checkpoints/step_%08d.h5", run->world.folder, out, step);
    assert_status_ok(checkpoint_load(path, set, CHECKPOINT_RAW, &err), err);
    real *out_weights = malloc(set->size * sizeof *out_weights);
    memcpy(out_weights, set->values, set->size * sizeof *out_weights);
    *size = set->size;
    return out_weights;
}

static bool same_weights(Run *run, const char *a, int step_a, const char *b, int step_b, const char *prefix) {
    size_t size;
    real *first = weights_at(run, a, step_a, &size), *second = weights_at(run, b, step_b, &size);
    const Parameters *set = &run->world.model->parameters;
    bool same = true;
    for (size_t i = 0; i < set->count; i++) {
        const Parameter *item = set->items[i];
        if (strncmp(item->name, prefix, strlen(prefix)) != 0) continue;
        same &=
            !memcmp(first + item->offset, second + item->offset, item->tensor.rows * item->tensor.cols * sizeof(real));
    }
    free(first);
    free(second);
    return same;
}

static bool log_has(const Run *run, const char *words) {
    char path[256], *text;
    size_t length;
    Error err = {0};
    snprintf(path, sizeof path, "%s/metrics.jsonl", run->out);
    assert_status_ok(file_read_all(path, 1 << 20, &text, &length, &err), err);
    bool found = strstr(text, words) != NULL;
    free(text);
    return found;
}

// Bodies learn in the first phase alone, encoder and renderer in the second alone.
static void each_phase_trains_its_part(void **state) {
    (void)state;
    Run run = {0};
    world_open(&run.world, WORLD_PLAIN);
    assert_status_ok(train(&run, "a", false, 2, NULL), run.err);
    assert_non_null(strstr(run.messages, "windows: "));
    assert_true(log_has(&run, "\"bodies\":") && log_has(&run, "\"psnr_step0\":"));
    assert_false(same_weights(&run, "a", 1, "a", 4, "bodies."));
    assert_true(same_weights(&run, "a", 5, "a", 6, "bodies.")); // with weight decay
    assert_true(same_weights(&run, "a", 1, "a", 4, "encoder.") && same_weights(&run, "a", 1, "a", 4, "renderer."));
    assert_false(same_weights(&run, "a", 5, "a", 6, "renderer."));
    world_close(&run.world);
}

// What the newest model is made for.
static DataConfig data_of(const Run *run) {
    CheckpointFound found;
    CheckpointMeta meta;
    Error err = {0};
    assert_status_ok(checkpoint_find(run->out, &found, &err), err);
    assert_status_ok(checkpoint_read_meta(found.path, &meta, &err), err);
    return meta.config.data;
}

// Bodies learn from video of two rates at once, and a run that starts from them keeps the rate that they are made for.
static void rates_are_mixed(void **state) {
    (void)state;
    Run run = {0};
    char slower[128], list[128];
    world_open(&run.world, WORLD_PLAIN);
    MovieScene *scene = &run.world.scene;
    snprintf(slower, sizeof slower, "%s/slower.h5", run.world.folder);
    snprintf(list, sizeof list, "%s/both.txt", run.world.folder);
    for (int f = 0; f < scene->info.F; f++) scene->time[f] *= 1.25;
    assert_status_ok(scene_write(slower, scene, 1, &run.err), run.err);
    static const char both[] = "data.h5\nslower.h5\n";
    assert_status_ok(file_write_bytes(list, both, sizeof both - 1, &run.err), run.err);
    snprintf(run.world.data, sizeof run.world.data, "%s", list);
    snprintf(run.also, sizeof run.also, "train.motion_steps=0");
    assert_status_error(train(&run, "graph", false, 1, "gnn.graph=hierarchical"), STATUS_BAD_INPUT, run.err,
                        "expected 0.1 s between the frames that the model sees, found 0.125 s");
    run.also[0] = 0;
    assert_status_ok(train(&run, "mixed", false, 1, "data.time_step=0"), run.err);
    assert_close(data_of(&run).time_step, 0.1, 1e-9, 0);
    assert_close(data_of(&run).slowest, 0.125, 1e-9, 0);
    snprintf(run.world.data, sizeof run.world.data, "%s", slower);
    snprintf(run.also, sizeof run.also, "train.init=%s/mixed", run.world.folder);
    assert_status_ok(train(&run, "own", false, 1, "data.time_step=0.125"), run.err);
    assert_close(data_of(&run).time_step, 0.125, 1e-9, 0);
    assert_non_null(strstr(run.messages, "learned with a frame every 0.1 s, and data.time_step is 0.125 s"));
    assert_status_ok(train(&run, "kept", false, 1, "data.time_step=0"), run.err);
    assert_close(data_of(&run).time_step, 0.1, 1e-9, 0);
    assert_null(strstr(run.messages, "learned with a frame every"));
    assert_null(strstr(run.messages, "every n-th is taken"));
    snprintf(run.world.data, sizeof run.world.data, "%s/data.h5", run.world.folder);
    assert_status_ok(train(&run, "on", false, 1, "data.time_step=0"), run.err);
    assert_close(data_of(&run).slowest, 0.125, 1e-9, 0);
    snprintf(run.world.data, sizeof run.world.data, "%s", slower);
    run.also[0] = 0;
    assert_status_ok(train(&run, "fast", false, 1, "data.time_step=0.25"), run.err);
    assert_non_null(
        strstr(run.messages, "1 of 1 episodes have more frames than one every 0.25 s; every n-th is taken"));
    assert_status_error(train(&run, "faster", false, 1, "data.time_step=1.5"), STATUS_BAD_INPUT, run.err,
                        "expected 1.5 s between the frames that the model sees, or a fourth to four times that, found "
                        "0.25 s; set data.time_step");
    assert_status_error(train(&run, "kept", true, 1, "data.time_step=0.125"), STATUS_BAD_INPUT, run.err,
                        "data.time_step: expected 0.1 s as in");
    world_close(&run.world);
}

static bool ends_after_six(void *count, const char *line) {
    (void)line;
    return ++*(int *)count >= 6;
}

// The first six of 100 steps, of both phases. Quiet runs have no plan.
static void train_some(Run *run, const char *out, bool quiet) {
    int lines = 0;
    TrainOptions brief = {.listener = {&lines, ends_after_six}};
    assert_status_ok(train_as(run, out, brief, quiet, 1, "train.steps=100"), run->err);
}

// The plan counts the steps of both phases, and to measure them changes nothing.
static void the_plan_has_both_phases(void **state) {
    (void)state;
    Run run = {0};
    world_open(&run.world, WORLD_PLAIN);
    assert_status_ok(train_as(&run, "d", (TrainOptions){.dry_run = true}, false, 1, "train.steps=6000"), run.err);
    assert_non_null(strstr(run.messages, "; 4 steps of motion: "));
    assert_non_null(strstr(run.messages, "; 5996 steps with pictures: "));
    assert_status_ok(train_as(&run, "d", (TrainOptions){.dry_run = true}, false, 1, "train.steps=3"), run.err);
    assert_non_null(strstr(run.messages, "; 3 steps of motion: "));
    assert_non_null(strstr(run.messages, "pictures are not trained"));
    assert_null(strstr(run.messages, "with pictures: "));
    train_some(&run, "planned", false);
    assert_non_null(strstr(run.messages, "; 96 steps with pictures: "));
    assert_null(strstr(run.messages, "not trained"));
    TrainOptions rest = {.dry_run = true, .resume = true}; // six of 100 steps are done
    assert_status_ok(train_as(&run, "planned", rest, false, 1, "train.steps=100"), run.err);
    assert_non_null(strstr(run.messages, "; 94 steps with pictures: "));
    assert_null(strstr(run.messages, "steps of motion: "));
    train_some(&run, "quiet", true);
    assert_true(same_weights(&run, "planned", 6, "quiet", 6, ""));
    assert_false(same_weights(&run, "planned", 6, "quiet", 5, "renderer."));
    assert_status_ok(train(&run, "short", false, 1, "train.steps=5"), run.err);
    assert_null(strstr(run.messages, "plan: about "));
    assert_status_ok(train(&run, "motion", false, 1, "train.steps=4"), run.err);
    assert_non_null(strstr(run.messages, "train  4/4 100%"));
    assert_non_null(
        strstr(run.messages, "pictures are not trained, because train.motion_steps (4) leaves no step of "));
    assert_null(strstr(run.messages, "? steps/s")); // as where a progress begins at its end
    assert_status_ok(train_as(&run, "motion", rest, false, 1, "train.steps=4"), run.err);
    assert_non_null(strstr(run.messages, "motion is complete"));
    world_close(&run.world);
}

static void a_resumed_run_has_the_same_bits(void **state) {
    (void)state;
    Run run = {0};
    world_open(&run.world, WORLD_PLAIN);
    assert_status_ok(train(&run, "a", false, 2, NULL), run.err);
    char from[256], to[256], command[1200];
    for (int stop = 2; stop <= 5; stop++) { // as if it had been killed after that step
        snprintf(from, sizeof from, "%s/a", run.world.folder);
        snprintf(to, sizeof to, "%s/b%d", run.world.folder, stop);
        snprintf(command, sizeof command,
                 "cp -r %s %s && cd %s/checkpoints && rm step_0000000[%d-9].h5 && echo step_%08d.h5 > latest", from, to,
                 to, stop + 1, stop);
        assert_int_equal(system(command), 0);
        snprintf(to, sizeof to, "b%d", stop);
        assert_status_ok(train(&run, to, true, 1 + stop % 2, NULL), run.err);
        assert_non_null(strstr(run.messages, "resuming from step"));
        assert_true(same_weights(&run, "a", 6, to, 6, "bodies."));
        if (stop % 2) assert_true(same_weights(&run, "a", 6, to, 6, "")); // pictures: with as many threads
    }
    world_close(&run.world);
}

static void runs_without_windows_are_refused(void **state) {
    (void)state;
    Run run = {0};
    world_open(&run.world, WORLD_PLAIN);
    assert_status_error(train(&run, "a", false, 1, "gnn.moving_threshold=9"), STATUS_BAD_INPUT, run.err,
                        "expected moving bodies, found none in any frame of the training episodes (1)");
    assert_status_error(train(&run, "b", false, 1, "train.rollout=[1,7]"), STATUS_BAD_INPUT, run.err,
                        "expected at least 9 frames (history 2, rollout 7), found 8");
    assert_status_ok(train(&run, "c", false, 1, "train.motion_steps=0"), run.err);
    assert_non_null(strstr(run.messages, "the motion of bodies is not trained"));
    world_close(&run.world);
    // A ball at rest is found as a body, which does not move.
    world_open(&run.world, (WorldShape){.F = 8, .V = 3, .H = 48, .W = 56, .episodes = 3, .at_rest = true});
    assert_status_error(train(&run, "a", false, 1, "encoder.N=2000"), STATUS_BAD_INPUT, run.err,
                        "expected moving bodies, found none in any frame of the training episodes (1)");
    world_close(&run.world);
    world_open(&run.world, (WorldShape){.F = 1, .V = 3, .H = 24, .W = 28, .episodes = 3});
    assert_status_error(train(&run, "a", false, 1, NULL), STATUS_BAD_INPUT, run.err,
                        "found 1; too few to learn motion from");
    world_close(&run.world);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(draws_depend_on_the_step_alone),
                                       cmocka_unit_test(the_loss_is_zero_where_the_video_goes),
                                       cmocka_unit_test(some_bodies_are_driven),
                                       cmocka_unit_test(driven_bodies_go_with_the_video),
                                       cmocka_unit_test(driven_bodies_have_no_loss),
                                       cmocka_unit_test(what_touches_is_not_pushed),
                                       cmocka_unit_test(a_batch_is_the_mean_of_its_windows),
                                       cmocka_unit_test(threads_do_not_change_bits),
                                       cmocka_unit_test(another_rate_is_another_size),
                                       cmocka_unit_test(frames_between_are_left_out),
                                       cmocka_unit_test(strides_of_episodes),
                                       cmocka_unit_test(rates_are_mixed),
                                       cmocka_unit_test(each_phase_trains_its_part),
                                       cmocka_unit_test(the_plan_has_both_phases),
                                       cmocka_unit_test(a_resumed_run_has_the_same_bits),
                                       cmocka_unit_test(runs_without_windows_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
