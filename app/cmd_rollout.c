// SPDX-License-Identifier: Apache-2.0
// `vpd rollout`: what a model sees at the start of an episode, and how it thinks it goes on.
#include "app/commands.h"
#include "app/model_flags.h"
#include "base/stop.h"
#include "infer/rollout.h"

enum { STEPS_MAX = 100000 };

static const Flag flags[] = {
    {.name = "episode", .value = "E", .help = "name or number (default: the first test episode)"},
    {.name = "start", .value = "F", .help = "present frame, the last one the model sees (default: the earliest)"},
    {.name = "steps", .value = "N", .help = "steps to predict (default: to the end of the video)"},
    {.name = "out", .value = "FILE.h5", .help = "rollout file to write", .letter = 'o'},
    FLAG_INPUT_VIEWS,
    FLAG_RAW,
    FLAG_DEVICE,
    {0},
};

// What was not given: the earliest start, and as many steps as there is video.
static Status choose(const CommandLine *line, const Session *session, const Dataset *dataset, RolloutRequest *request,
                     Error *err) {
    HistoryRequest *history = &request->history;
    int stride = 1;
    long start, steps;
    Status status = history_find_episode(dataset, command_text(line, "episode", NULL), &history->episode, err);
    if (status != STATUS_OK) return status;
    const EpisodeInfo *info = dataset_episode(dataset, history->episode);
    status = history_stride(session->model, session->meta.time_step, info, &stride, err);
    start = history_first_start(session->model, stride);
    if (status == STATUS_OK) status = command_int(line, "start", 0, 1000000000, &start, err);
    steps = start < info->F ? (info->F - 1 - start) / stride : 0;
    if (steps < 1) steps = 1;
    if (status == STATUS_OK) status = command_int(line, "steps", 1, STEPS_MAX, &steps, err);
    history->start = (int)start;
    request->steps = (int)steps;
    return status;
}

static Status roll_out(const CommandLine *line, const Session *session, const Dataset *dataset, IntList views,
                       RolloutFile *rollout, Error *err) {
    RolloutRequest request = {.history = {.time_step = session->meta.time_step, .views = &views}, .log = &line->log};
    RolloutWorkspace workspace = {0};
    Status status = choose(line, session, dataset, &request, err);
    if (status != STATUS_OK) return status;
    rollout_workspace_init(&workspace, session->model);
    status = rollout_run(&workspace, dataset, &request, rollout, err);
    rollout_workspace_free(&workspace);
    if (status == STATUS_OK) session_sign(session, rollout);
    return status;
}

static Status run_rollout(const CommandLine *line, Error *err) {
    Session session = {0};
    Dataset *dataset = NULL;
    RolloutFile rollout = {0};
    IntList views = {0};
    const char *out;
    Status status = command_required(line, "out", &out, err);
    if (status == STATUS_OK) status = command_int_list(line, "input-views", 0, 65535, &views, err);
    if (status == STATUS_OK) status = stop_install(err);
    if (status == STATUS_OK) status = command_open_session(line, command_argument(line, 0), &session, err);
    if (status == STATUS_OK) status = dataset_open(command_argument(line, 1), &dataset, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status == STATUS_OK) status = roll_out(line, &session, dataset, views, &rollout, err);
    if (status == STATUS_OK) status = rollout_file_write(&rollout, out, err);
    if (status == STATUS_OK)
        printf("%s: episode %s from frame %d, %zu particles, %zu step%s of %.4g s\n", out, rollout.episode,
               rollout.first_frame, rollout.sets[0].N, rollout.steps, rollout.steps == 1 ? "" : "s", rollout.time_step);
    rollout_file_free(&rollout);
    dataset_close(dataset);
    session_close(&session);
    return status;
}

const Command command_rollout = {
    .name = "rollout",
    .summary = "let a trained model predict how an episode goes on",
    .arguments = "CHECKPOINT DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .flags = flags,
    .details = "CHECKPOINT is a file, or a run's folder (its best, else its latest checkpoint). The model sees the "
               "frames up to F;\n"
               "steps beyond the video are predicted all the same. \"vpd render FILE.h5\" draws what was written.",
    .run = run_rollout,
};
