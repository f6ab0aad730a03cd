// SPDX-License-Identifier: Apache-2.0
#include "bench/selftest_model.h"

#include "base/check.h"
#include "base/random.h"
#include "device/room_video.h"
#include "train/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- windows

enum { WINDOWS = 6, BALL = 40, FLOOR = 60 };

static double number(size_t i) {
    return 2 * (double)random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST}, i) - 1;
}

// A ball of 0.1 m that flies towards the other one and down.
static Status add_ball(BodySet *set, size_t ball, Error *err) {
    double side = ball % 2 ? 1 : -1;
    const double centre[3] = {0.12 * side, 0.02 * number(10 * ball), 0.15}, step[3] = {-0.02 * side, 0, -0.03};
    real now[3 * BALL], before[3 * BALL];
    for (size_t i = 0; i < BALL; i++) {
        double p[3], length = 1e-6;
        for (size_t c = 0; c < 3; c++) p[c] = number(1000 + 3 * (ball * BALL + i) + c), length += p[c] * p[c];
        for (size_t c = 0; c < 3; c++) {
            now[3 * i + c] = (real)(centre[c] + 0.1 * p[c] / sqrt(length));
            before[3 * i + c] = now[3 * i + c] - (real)step[c];
        }
    }
    return body_set_add_points(set, BALL, now, before, NULL, err);
}

static Status add_window(BodySet *set, size_t window, Error *err) {
    real floor[3 * FLOOR] = {0};
    for (size_t i = 0; i < FLOOR; i++)
        for (size_t c = 0; c < 2; c++) floor[3 * i + c] = (real)(0.6 * number(100000 + 2 * (window * FLOOR + i) + c));
    Status status = body_set_add_window(set, err);
    if (status == STATUS_OK) status = body_set_add_surface(set, FLOOR, floor, err);
    for (size_t ball = 0; ball < 2 && status == STATUS_OK; ball++) status = add_ball(set, 2 * window + ball, err);
    return status;
}

// Where a body's nodes are after some steps: turned about z, and lower.
static void places_after(const BodySet *set, size_t body, int steps, real *place) {
    double angle = 0.05 * steps;
    RigidMotion out = {.rotation = {cos(angle), -sin(angle), 0, sin(angle), cos(angle), 0, 0, 0, 1}};
    for (size_t c = 0; c < 3; c++) out.from[c] = (double)set->now[3 * set->first_node[body] + c];
    for (size_t c = 0; c < 3; c++) out.to[c] = out.from[c] + steps * (c == 2 ? -0.02 : 0.01 * number(50 + body));
    size_t first = set->first_node[body], count = set->first_node[body + 1] - first;
    for (size_t i = 0; i < count; i++) rigid_motion_apply(&out, set->now + 3 * (first + i), place + 3 * i);
}

static Status make_windows(Windows *w, const Vpd *model, Error *err) {
    Tracks *t = &w->tracks;
    BodySet *set = &t->set;
    Status status = STATUS_OK;
    for (size_t i = 0; i < WINDOWS && status == STATUS_OK; i++) status = add_window(set, i, err);
    w->scales = vpd_body_scales(model);
    t->longest = SELFTEST_WINDOW_STEPS;
    t->steps = malloc((set->bodies + 1) * sizeof *t->steps);
    t->place = malloc((set->nodes + 1) * 3 * SELFTEST_WINDOW_STEPS * sizeof *t->place);
    if (status == STATUS_OK && (!t->steps || !t->place))
        status = error_set(err, STATUS_FAILED, "out of memory for windows");
    for (size_t b = 0; b < set->bodies && status == STATUS_OK; b++) {
        t->steps[b] = SELFTEST_WINDOW_STEPS;
        for (int k = 0; k < SELFTEST_WINDOW_STEPS; k++) places_after(set, b, k + 1, tracks_places(t, b, (size_t)k));
    }
    return status == STATUS_OK ? windows_sort(w, err) : status;
}

static Status window_gradient(SelfTestModel *model, int step, LossParts *parts, Error *err) {
    Status status = windows_draw(&model->windows, &model->model->config.train, NULL, model->model->device->threads,
                                 step, SELFTEST_WINDOW_STEPS, err);
    if (status != STATUS_OK) return status;
    arena_reset(&model->model->device->scratch);
    return windows_learn(&model->windows, &model->tape, model->model, SELFTEST_WINDOW_STEPS, parts, err);
}

// ---- a model

Status selftest_open_model(SelfTestModel *model, Device *device, const Config *config, const Observation *frames,
                           Error *err) {
    const TrainConfig *t = &config->train;
    *model = (SelfTestModel){0};
    tape_init(&model->tape, device);
    Status status = vpd_create(config, device, &model->model, err);
    if (frames && status == STATUS_OK) {
        MotionEpisode episode = {0, (size_t)frames->V * (size_t)frames->H * (size_t)frames->W, frames->F};
        status = motion_cache_open(&model->workspace.motion, NULL, model->model, 1, &episode, NULL, err);
    }
    if (!frames && status == STATUS_OK) status = make_windows(&model->windows, model->model, err);
    OptimizerConfig options = schedule_optimizer(t);
    return status == STATUS_OK ? optimizer_create(&model->optimizer, &model->model->parameters, options, err) : status;
}

void selftest_close_model(SelfTestModel *model) {
    optimizer_free(&model->optimizer);
    windows_free(&model->windows);
    loss_workspace_free(&model->workspace);
    tape_free(&model->tape);
    vpd_free(model->model);
}

static Status episode_gradient(SelfTestModel *model, const Observation *frames, int step, LossParts *parts,
                               Error *err) {
    LossValues values;
    PlacedBatch placed;
    int views[SELFTEST_VIEWS];
    CHECK_EQ(frames->V, SELFTEST_VIEWS);
    EpisodeInput input[SELFTEST_EPISODES];
    step_bench_episodes(frames, views, step, SELFTEST_EPISODES, input);
    EpisodeBatch batch = {SELFTEST_EPISODES, SELFTEST_EPISODES, input, frames->F - (int)model->model->config.model.T,
                          NULL};
    Status status = train_place(model->model, &model->workspace, &batch, &placed, err);
    if (status == STATUS_OK)
        status = train_episodes(&model->tape, model->model, &model->workspace, &placed, &values, err);
    return status == STATUS_OK ? loss_read(&model->tape, &values, parts, err) : status;
}

Status selftest_gradient(SelfTestModel *model, const Observation *frames, int step, double *loss, Error *err) {
    LossParts parts = {0};
    parameters_zero_grad(&model->model->parameters);
    Status status =
        frames ? episode_gradient(model, frames, step, &parts, err) : window_gradient(model, step, &parts, err);
    *loss = parts.total;
    return status;
}

Status selftest_update(SelfTestModel *model, int step, Error *err) {
    double norm;
    return optimizer_step(&model->optimizer, schedule_rate(&model->model->config.train, step), &norm, err);
}

Status selftest_each_graph(SelfTest *test, int frames, int side, SelfTestGraph *compare, Error *err) {
    RoomVideo room;
    Status status = room_video_make(&room, frames, SELFTEST_VIEWS, side, side, err);
    for (int graph = 0; graph < STEP_GRAPHS && status == STATUS_OK; graph++)
        if (!test->model || !strcmp(test->model, step_graph_names[graph]))
            status = compare(test, (StepGraph)graph, &room.observation, err);
    room_video_free(&room);
    return status;
}
