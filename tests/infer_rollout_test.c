// SPDX-License-Identifier: Apache-2.0
// Rollouts: an untrained model that carries nothing on moves nothing, a saved rollout goes on as if it had not stopped,
// every form and shape of input works, and what is wrong is named.
#include "base/stop.h"
#include "infer/film.h"
#include "infer/session.h"
#include "infer/truth.h"
#include "tests/infer_world.h"

#include <signal.h>

static void untrained_stands_still(void **state) {
    (void)state;
    World world;
    RolloutFile r;
    Error err = {0};
    world_open(&world, WORLD_PLAIN);
    world_model(&world, (const char *[]){"gnn.graph=hierarchical", NULL}, false);
    assert_status_ok(world_rollout(&world, 2, 3, 9, &r, &err), err);
    assert_int_equal(r.steps, 9);
    assert_int_equal(r.set_count, 2);
    assert_true(r.sets[0].N > 200 && r.sets[0].N <= 300);
    for (size_t j = 1; j <= 9; j++)
        assert_memory_equal(rollout_positions(&r, 0), rollout_positions(&r, j), 3 * r.sets[0].N * sizeof(float));
    assert_null(r.features); // they cannot change: kept once

    // Where it came from: times go on behind the video's last frame 7, views that were no input are marked.
    for (int j = 0; j <= 9; j++) assert_close(r.time[j], 0.3 + WORLD_STEP * j, 1e-9, 0);
    assert_int_equal(r.first_frame, 3);
    assert_string_equal(r.episode, "000002");
    assert_memory_equal(r.heldout, ((uint8_t[]){0, 0, 1}), 3);
    assert_int_equal(r.camera_frames, 1);
    assert_true(r.has_bounds && r.bounds[3] == 1);

    // Labels are the mask's: red particles and no others.
    size_t ball = 0;
    for (size_t i = 0; i < r.sets[0].N; i++) {
        assert_int_equal(r.sets[0].labels[i], r.sets[0].colour[3 * i] == 220);
        ball += r.sets[0].labels[i];
    }
    assert_true(ball > 5);
    rollout_file_free(&r);
    world_close(&world);
}

static const char *const *form(int i) {
    static const char *const forms[][5] = {{NULL},
                                           {"model.T=1", NULL},
                                           {"model.T=3", NULL},
                                           {"gnn.graph=hierarchical", NULL},
                                           {"gnn.graph=hierarchical", "gnn.feature_change=0.1", NULL},
                                           {"gnn.graph=hierarchical", "model.T=3", NULL},
                                           {"gnn.graph=flat", NULL},
                                           {"gnn.graph=none", NULL}};
    return i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

// 2 steps (or none, with cameras that stand still), a file, and the steps that are left are the same 5 steps; with
// every form of model.
static void a_saved_rollout_goes_on(void **state) {
    (void)state;
    char path[256];
    Error err = {0};
    for (int cameras = 0; cameras < 2; cameras++) {
        World world;
        WorldShape shape = WORLD_PLAIN;
        shape.moving_cameras = cameras;
        world_open(&world, shape);
        snprintf(path, sizeof path, "%s/out.h5", world.folder);
        for (int i = 0; form(i); i++) {
            RolloutFile whole, part, again;
            world_model(&world, form(i), true);
            assert_status_ok(world_rollout(&world, 1, 2, 5, &whole, &err), err);
            assert_status_ok(world_rollout(&world, 1, 2, cameras ? 2 : 0, &part, &err), err);
            assert_status_ok(rollout_file_write(&part, path, &err), err);
            assert_status_ok(rollout_file_read(path, &again, &err), err);
            assert_status_ok(rollout_simulate(&world.workspace, &again, cameras ? 3 : 5, NULL, &err), err);
            size_t N = whole.sets[0].N, D = whole.sets[0].D;
            assert_int_equal(again.steps, 5);
            assert_int_equal(again.sets[0].N, N);
            assert_memory_equal(again.positions, whole.positions, 5 * 3 * N * sizeof(float));
            if (whole.features) assert_memory_equal(again.features, whole.features, 5 * D * N * sizeof(float));
            assert_int_equal(again.camera_frames, cameras ? 6 : 1);
            // Something moved, unless there is nothing to learn motion from.
            bool moves = vpd_has_dynamics(world.model);
            if (!moves) assert_true(world_motion(&whole, 0, 5) == 0);
            else assert_true(world_motion(&whole, 0, 1) > 1e-4 && world_motion(&whole, 4, 5) > 1e-4);
            // Planted: another seed of the random choices is another rollout.
            world.model->config.train.seed += 1;
            RolloutFile other;
            assert_status_ok(world_rollout(&world, 1, 2, 5, &other, &err), err);
            size_t bytes = 3 * (N < other.sets[0].N ? N : other.sets[0].N) * sizeof(float);
            assert_memory_not_equal(other.sets[0].positions, whole.sets[0].positions, bytes);
            rollout_file_free(&whole), rollout_file_free(&part), rollout_file_free(&again), rollout_file_free(&other);
        }
        world_close(&world);
    }
}

// What a function warned of, malloc'ed, and an open log for it.
typedef struct Heard {
    char *text;
    size_t length;
    Log log;
} Heard;

static Heard *hear(Heard *heard) {
    *heard = (Heard){0};
    heard->log = (Log){.out = open_memstream(&heard->text, &heard->length), .quiet = true};
    return heard;
}

static void assert_heard(Heard *heard, const char *expected) {
    assert_int_equal(fclose(heard->log.out), 0);
    if (expected ? !strstr(heard->text, expected) : heard->length > 0)
        fail_msg("expected the warning \"%s\", found \"%s\"", expected ? expected : "", heard->text);
    free(heard->text);
}

// The ball goes where it was recorded, whatever the weights say, and is free behind the end of the recording.
static void driven_as_recorded(void **state) {
    (void)state;
    static const char *const bodies[] = {"gnn.graph=bodies", NULL}, *const graph[] = {"gnn.graph=hierarchical", NULL};
    const IntList ball = {.count = 1, .v = {0}}, nothing = {.count = 1, .v = {7}};
    World world;
    Error err = {0};
    RolloutFile r, truth;
    world_open(&world, WORLD_PLAIN);
    world_model(&world, bodies, true);
    RolloutRequest request = {.history = {.episode = 0, .start = 2}, .driven = &ball, .steps = 8};
    assert_status_ok(rollout_run(&world.workspace, world.dataset, &request, &r, &err), err);
    assert_status_ok(truth_of_rollout(&r, dataset_episode(world.dataset, 0), &truth, &err), err);
    assert_int_equal(truth.steps, 5);
    assert_true(world_motion(&truth, 0, 5) > 0.1);
    size_t count = 0, N = r.sets[0].N;
    for (size_t step = 1; step <= 5; step++)
        for (size_t i = 0; i < N; i++) {
            if (r.sets[0].labels[i] != 1) continue;
            count++;
            for (size_t c = 0; c < 3; c++)
                assert_close((double)rollout_positions(&r, step)[3 * i + c],
                             (double)rollout_positions(&truth, step)[3 * i + c], 1e-5, 0);
        }
    assert_true(count > 50);
    assert_true(world_motion(&r, 5, 6) > 0);
    rollout_file_free(&truth);
    rollout_file_free(&r);
    request.driven = &nothing;
    assert_status_error(rollout_run(&world.workspace, world.dataset, &request, &r, &err), STATUS_BAD_INPUT, err,
                        "expected a driven object from 0 to 0, or from -1 (the last) to -1, found 7");
    request.driven = &ball;
    world_model(&world, graph, false);
    assert_status_error(rollout_run(&world.workspace, world.dataset, &request, &r, &err), STATUS_BAD_INPUT, err,
                        "only bodies can be driven");
    world_close(&world);
}

// An object without particles is named, and numbers count from the last object, too.
static void driven_objects_by_number(void **state) {
    (void)state;
    static const char *const bodies[] = {"gnn.graph=bodies", NULL};
    const IntList last = {.count = 1, .v = {-1}}, before = {.count = 1, .v = {-2}};
    World world;
    Error err = {0};
    RolloutFile r;
    Heard heard;
    world_open(&world, WORLD_PLAIN);
    world_model(&world, bodies, true);
    const EpisodeInfo *info = dataset_episode(world.dataset, 0);
    assert_status_ok(world_rollout(&world, 0, 2, 0, &r, &err), err);
    assert_status_ok(truth_drive(info, &last, &r, &hear(&heard)->log, &err), err);
    assert_heard(&heard, NULL);
    assert_true(r.drives.count >= 5 && r.drives.count % 5 == 0); // five steps of each piece of the ball
    assert_status_error(truth_drive(info, &before, &r, NULL, &err), STATUS_BAD_INPUT, err,
                        "expected a driven object from 0 to 0, or from -1 (the last) to -1, found -2");
    r.drives.count = 0;
    memset(r.sets[0].labels, 0, r.sets[0].N * sizeof *r.sets[0].labels);
    assert_status_ok(truth_drive(info, &last, &r, &hear(&heard)->log, &err), err);
    assert_heard(&heard, "object 0 is not driven, because it has no particles: no input view sees it at frame 2");
    assert_int_equal(r.drives.count, 0);
    rollout_file_free(&r);
    RolloutRequest request = {
        .history = {.episode = 0, .start = 2}, .driven = &last, .steps = 6, .warnings = &hear(&heard)->log};
    assert_status_ok(rollout_run(&world.workspace, world.dataset, &request, &r, &err), err);
    assert_heard(&heard, "ends 5 steps after frame 2: what is driven goes on by itself from there");
    rollout_file_free(&r);
    world_close(&world);
}

// A file may hold features of each step for a model that does not change them.
static void features_are_kept(void **state) {
    (void)state;
    static const char *const bodies[] = {"gnn.graph=bodies", NULL};
    World world;
    Error err = {0};
    world_open(&world, WORLD_PLAIN);
    for (int form = 0; form < 2; form++) {
        RolloutFile r;
        world_model(&world, form ? bodies : NULL, true);
        assert_status_ok(world_rollout(&world, 0, 1, 1, &r, &err), err);
        size_t numbers = r.sets[0].N * r.sets[0].D;
        assert_null(r.features);
        r.features = malloc(numbers * sizeof *r.features);
        for (size_t i = 0; i < numbers; i++) r.features[i] = (float)(i % 7);
        assert_status_ok(rollout_simulate(&world.workspace, &r, 40, NULL, &err), err);
        assert_memory_equal(r.features + 40 * numbers, r.features, numbers * sizeof *r.features);
        rollout_file_free(&r);
    }
    world_close(&world);
}

static void memory_stays_bounded(void **state) {
    (void)state;
    World world;
    RolloutFile r;
    Error err = {0};
    world_open(&world, WORLD_PLAIN);
    world_model(&world, NULL, true);
    assert_status_ok(world_rollout(&world, 0, 1, 3, &r, &err), err);
    size_t peak = tape_peak_bytes(&world.workspace.tape), blocks = tape_allocations(&world.workspace.tape);
    assert_status_ok(rollout_simulate(&world.workspace, &r, 20, NULL, &err), err);
    assert_int_equal(tape_peak_bytes(&world.workspace.tape), peak);
    assert_true(tape_allocations(&world.workspace.tape) <= blocks + 2); // joined once by the reset
    rollout_file_free(&r);
    world_close(&world);
}

static void odd_inputs_work(void **state) {
    (void)state;
    World world;
    RolloutFile r;
    Error err = {0};
    world_open(&world, (WorldShape){.F = 3, .V = 1, .H = 17, .W = 23, .episodes = 1, .no_mask = true});
    world_model(&world, (const char *const[]){"encoder.N=5000", "gnn.M=2000", NULL},
                true); // more than there are pixels
    assert_status_ok(world_rollout(&world, 0, 1, 2, &r, &err), err);
    assert_true(r.sets[0].N <= 17 * 23 && r.V == 1 && !r.sets[0].labels);
    rollout_file_free(&r);

    // A static scene: one frame, no time step, no dynamics.
    world_close(&world);
    world_open(&world, (WorldShape){.F = 1, .V = 2, .H = 16, .W = 16, .episodes = 1});
    world_model(&world, (const char *const[]){"model.T=1", NULL}, false);
    assert_status_ok(world_rollout(&world, 0, 0, 2, &r, &err), err);
    assert_true(r.time[0] < r.time[1] && r.time[1] < r.time[2]);
    rollout_file_free(&r);
    world_close(&world);
}

static void views_and_strides(void **state) {
    (void)state;
    World world;
    RolloutFile r;
    Error err = {0};
    IntList views = {.count = 2, .v = {2, 0}};
    world_open(&world, WORLD_PLAIN);
    world_model(&world, (const char *const[]){"data.time_step=0.3", NULL}, false);
    RolloutRequest request = {.history = {.episode = 0, .start = 3, .views = &views}, .steps = 2};
    assert_status_ok(rollout_run(&world.workspace, world.dataset, &request, &r, &err), err);
    assert_int_equal(r.frame_stride, 3);
    assert_close(r.time[1] - r.time[0], 0.3, 1e-9, 0);
    assert_memory_equal(r.heldout, ((uint8_t[]){0, 1, 0}), 3);
    rollout_file_free(&r);

    request.history.start = 2; // its history would begin before the video
    assert_status_error(rollout_run(&world.workspace, world.dataset, &request, &r, &err), STATUS_BAD_INPUT, err,
                        "start frame 2; expected 3 to 7");
    world_model(&world, NULL, false);
    request.history = (HistoryRequest){.start = 3, .views = &(IntList){.count = 1, .v = {3}}};
    assert_status_error(rollout_run(&world.workspace, world.dataset, &request, &r, &err), STATUS_BAD_INPUT, err,
                        "input view 3; expected different views from 0 to 2");
    request.history.views = &(IntList){.count = 2, .v = {1, 1}};
    assert_status_error(rollout_run(&world.workspace, world.dataset, &request, &r, &err), STATUS_BAD_INPUT, err,
                        "input view 1 is there twice");
    request.history = (HistoryRequest){.start = 8};
    assert_status_error(rollout_run(&world.workspace, world.dataset, &request, &r, &err), STATUS_BAD_INPUT, err,
                        "start frame 8; expected 1 to 7");
    world_close(&world);
}

// The stride brings the frames as near to the learned time step as it can. Bodies are seen at any rate up to 4 times
// slower; the paper's graph only at its own.
static void rates(void **state) {
    (void)state;
    static const struct {
        const char *learned, *graph;
        int stride; // 0: refused
    } cases[] = {
        {"data.time_step=0.1", "gnn.graph=bodies", 1},        {"data.time_step=0.14", "gnn.graph=bodies", 1},
        {"data.time_step=0.15", "gnn.graph=bodies", 2},       {"data.time_step=0.3003", "gnn.graph=bodies", 3},
        {"data.time_step=0.026", "gnn.graph=bodies", 1},      {"data.time_step=0.024", "gnn.graph=bodies", 0},
        {"data.time_step=0.025", "gnn.graph=bodies", 1},      {"data.time_step=0.02499", "gnn.graph=bodies", 1},
        {"data.time_step=0.9", "gnn.graph=bodies", 7}, // the first of 8 frames and the last
        {"data.time_step=1e6", "gnn.graph=bodies", 0},        {"data.time_step=0.201", "gnn.graph=hierarchical", 2},
        {"data.time_step=0.07", "gnn.graph=hierarchical", 0}, {"data.time_step=0.07", "gnn.graph=none", 1},
        {"data.time_step=0", "gnn.graph=bodies", 1},
    };
    World world;
    Error err = {0};
    world_open(&world, WORLD_PLAIN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int stride;
        world_model(&world, (const char *const[]){cases[i].graph, cases[i].learned, NULL}, false);
        const EpisodeInfo *info = dataset_episode(world.dataset, 0);
        if (cases[i].stride) {
            assert_status_ok(history_stride(world.model, info, &stride, &err), err);
            assert_int_equal(stride, cases[i].stride);
        } else {
            assert_status_error(history_stride(world.model, info, &stride, &err), STATUS_BAD_INPUT, err,
                                "found one every 0.1 s");
        }
    }
    world_close(&world);
}

// How bodies move depends on the time step that was learned, but for a difference of 1 %.
static void bodies_are_moved_at_their_rate(void **state) {
    (void)state;
    static const char *const learned[] = {"data.time_step=0.1", "data.time_step=0.1005", "data.time_step=0.08"};
    World world;
    RolloutFile r[3];
    Error err = {0};
    world_open(&world, WORLD_PLAIN);
    for (int i = 0; i < 3; i++) {
        world_model(&world, (const char *const[]){"gnn.graph=bodies", learned[i], NULL}, true);
        assert_status_ok(world_rollout(&world, 0, 2, 2, &r[i], &err), err);
    }
    size_t bytes = 3 * r[0].sets[0].N * sizeof(float);
    assert_memory_equal(rollout_positions(&r[0], 2), rollout_positions(&r[1], 2), bytes);
    assert_memory_equal(rollout_positions(&r[0], 0), rollout_positions(&r[2], 0), bytes);
    assert_memory_not_equal(rollout_positions(&r[0], 2), rollout_positions(&r[2], 2), bytes);
    assert_close(r[2].time_step, WORLD_STEP, 1e-9, 0);
    for (int i = 0; i < 3; i++) rollout_file_free(&r[i]);
    world_close(&world);
}

static void episodes_by_name(void **state) {
    (void)state;
    World world;
    Error err = {0};
    int episode;
    char file[256];
    world_open(&world, WORLD_PLAIN);
    assert_status_ok(dataset_find_episode(world.dataset, NULL, &episode, &err), err);
    assert_int_equal(episode, 2); // the test episode
    assert_status_ok(dataset_find_episode(world.dataset, "000001", &episode, &err), err);
    assert_int_equal(episode, 1);
    assert_status_ok(dataset_find_episode(world.dataset, "0", &episode, &err), err);
    assert_int_equal(episode, 0);
    assert_status_ok(dataset_find_episode(world.dataset, "data.h5:000002", &episode, &err), err);
    assert_int_equal(episode, 2);
    for (int i = 0; i < 5; i++) {
        const char *wrong[] = {"3", "-1", "", "x", "other.h5:000002"};
        assert_status_error(dataset_find_episode(world.dataset, wrong[i], &episode, &err), STATUS_BAD_INPUT, err,
                            "expected a name such as 000000, or a number from 0 to 2");
    }
    // Two files with equal names.
    dataset_close(world.dataset);
    snprintf(file, sizeof file, "%s/more.h5", world.folder);
    assert_status_ok(scene_write(file, &world.scene, 1, &err), err);
    assert_status_ok(dataset_open(world.folder, &world.dataset, &err), err);
    assert_status_error(dataset_find_episode(world.dataset, "000000", &episode, &err), STATUS_BAD_INPUT, err,
                        "2 episodes have the name 000000; name the file too, as in");
    assert_status_ok(dataset_find_episode(world.dataset, "more.h5:000000", &episode, &err), err);
    assert_int_equal(episode, 3);
    // What messages call an episode names it, and no other whose file ends in the same way.
    EpisodeLabel label = dataset_episode_label(world.dataset, 3);
    assert_string_equal(label.text, "more.h5:000000");
    assert_status_ok(dataset_find_episode(world.dataset, label.text, &episode, &err), err);
    assert_int_equal(episode, 3);
    for (int i = 0; i < 2; i++) {
        const char *origin[] = {"/elsewhere/more.h5", "data.h5"};
        assert_status_ok(dataset_find_origin(world.dataset, origin[i], "000000", &episode, &err), err);
        assert_int_equal(episode, i ? 0 : 3);
    }
    assert_status_ok(dataset_find_origin(world.dataset, "gone.h5", "000002", &episode, &err), err);
    assert_int_equal(episode, 2);
    assert_status_error(dataset_find_origin(world.dataset, "gone.h5", "000000", &episode, &err), STATUS_BAD_INPUT, err,
                        "2 episodes have the name 000000");
    assert_status_error(dataset_find_episode(world.dataset, "ore.h5:000000", &episode, &err), STATUS_BAD_INPUT, err,
                        "no episode ore.h5:000000");
    world_close(&world);
}

static void what_goes_wrong(void **state) {
    (void)state;
    World world;
    RolloutFile r;
    Error err = {0};
    WorldShape shape = WORLD_PLAIN;
    shape.no_depth = true;
    world_open(&world, shape);
    world_model(&world, NULL, false);
    assert_status_error(world_rollout(&world, 0, 1, 2, &r, &err), STATUS_BAD_INPUT, err,
                        "data.h5:/episodes/000000, frame 1: no valid depth in any input image");
    world_close(&world);

    world_open(&world, WORLD_PLAIN);
    world_model(&world, NULL, false);
    assert_status_ok(world_rollout(&world, 0, 1, 1, &r, &err), err);
    // Weights that are not numbers: the steps before stay.
    for (size_t i = 0; i < world.model->parameters.size; i++) world.model->parameters.values[i] = NAN;
    assert_status_error(rollout_simulate(&world.workspace, &r, 3, NULL, &err), STATUS_FAILED, err,
                        "not finite at step 2");
    assert_int_equal(r.steps, 1);
    // A rollout of another model.
    world_model(&world, (const char *const[]){"model.D=7", NULL}, false);
    assert_status_error(rollout_simulate(&world.workspace, &r, 3, NULL, &err), STATUS_BAD_INPUT, err,
                        "expected 1 input set of 7 features, found 1 of 6");
    DrawScene scene;
    assert_status_error(draw_load(&world.workspace, &r, 0, &scene, &err), STATUS_BAD_INPUT, err,
                        "expected 7 features per particle, as the model draws, found 6");
    // A signal between two steps.
    world_model(&world, NULL, false);
    stop_request(SIGTERM);
    assert_status_error(rollout_simulate(&world.workspace, &r, 3, NULL, &err), STATUS_INTERRUPTED, err, "SIGTERM");
    stop_clear();
    assert_status_ok(rollout_simulate(&world.workspace, &r, 3, NULL, &err), err);
    rollout_file_free(&r);
    world_close(&world);
}

static void sessions(void **state) {
    (void)state;
    World world;
    Session session;
    RolloutFile r;
    Error err = {0};
    char path[256], other[256];
    world_open(&world, WORLD_PLAIN);
    world_model(&world, NULL, true);
    snprintf(path, sizeof path, "%s/a.h5", world.folder);
    snprintf(other, sizeof other, "%s/b.h5", world.folder);
    CheckpointMeta meta = {.config = world.model->config, .step = 7, .best_score = NAN};
    CheckpointBlocks blocks = {.ema = calloc(world.model->parameters.size, sizeof(real))};
    assert_status_ok(checkpoint_save(path, &world.model->parameters, &blocks, &meta, &err), err);
    SessionOptions options = {.checkpoint = path, .device = "cpu", .threads = 1};

    // Averaged weights (zeros here) unless raw ones are asked for; a rollout remembers which.
    assert_status_ok(session_open(&session, &options, &err), err);
    assert_true(session.model->parameters.values[0] == 0 && session.meta.step == 7);
    session_close(&session);
    options.raw = true;
    assert_status_ok(session_open(&session, &options, &err), err);
    assert_true(session.model->parameters.values[0] == world.model->parameters.values[0]);
    assert_status_ok(world_rollout(&world, 0, 1, 1, &r, &err), err);
    session_sign(&session, &r);
    session_close(&session);
    options = (SessionOptions){.device = "cpu", .threads = 1};
    assert_status_ok(session_open_for(&session, &options, &r, "out.h5", &err), err);
    assert_true(session.raw && session.model->parameters.values[0] == world.model->parameters.values[0]);
    size_t features = r.sets[0].D;
    r.sets[0].D = 0; // of the simulator: a viewer shows it beside the model's
    assert_status_ok(session_check(&session, &r, "out.h5", &err), err);
    r.sets[0].D = features;
    session_close(&session);

    // Other weights, and weights that are gone.
    meta.step = 8;
    assert_status_ok(checkpoint_save(other, &world.model->parameters, &blocks, &meta, &err), err);
    options.checkpoint = other;
    assert_status_error(session_open_for(&session, &options, &r, "out.h5", &err), STATUS_BAD_INPUT, err,
                        "out.h5: expected the checkpoint");
    assert_null(session.model);
    options.checkpoint = NULL;
    assert_int_equal(remove(path), 0);
    assert_status_error(session_open_for(&session, &options, &r, "out.h5", &err), STATUS_BAD_INPUT, err,
                        "does not exist; give the checkpoint with --checkpoint");
    r.checkpoint[0] = 0;
    assert_status_error(session_open_for(&session, &options, &r, "out.h5", &err), STATUS_BAD_INPUT, err,
                        "names no checkpoint");
    r.sets[0].D = 0;
    assert_status_error(session_open_for(&session, &options, &r, "out.h5", &err), STATUS_BAD_INPUT, err,
                        "out.h5: its particles have no features, as those of \"vpd sim run\"");
    r.sets[0].D = features;
    options.checkpoint = world.data;
    assert_status_error(session_open(&session, &options, &err), STATUS_BAD_INPUT, err, "data.h5");
    options.checkpoint = other, options.device = "cuda";
    assert_status_error(session_open(&session, &options, &err), STATUS_BAD_INPUT, err, "--device cuda");
    // A config that leaves lengths open.
    meta.config.gnn.length_scale = 0;
    assert_status_ok(checkpoint_save(path, &world.model->parameters, &blocks, &meta, &err), err);
    options = (SessionOptions){.checkpoint = path};
    assert_status_error(session_open(&session, &options, &err), STATUS_BAD_INPUT, err,
                        "gnn.length_scale: expected a length above 0 m");
    free(blocks.ema);
    rollout_file_free(&r);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untrained_stands_still),
        cmocka_unit_test(a_saved_rollout_goes_on),
        cmocka_unit_test(driven_as_recorded),
        cmocka_unit_test(driven_objects_by_number),
        cmocka_unit_test(features_are_kept),
        cmocka_unit_test(memory_stays_bounded),
        cmocka_unit_test(odd_inputs_work),
        cmocka_unit_test(views_and_strides),
        cmocka_unit_test(rates),
        cmocka_unit_test(bodies_are_moved_at_their_rate),
        cmocka_unit_test(episodes_by_name),
        cmocka_unit_test(what_goes_wrong),
        cmocka_unit_test(sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
