// SPDX-License-Identifier: Apache-2.0
// `vpd rollout`: encodes the start of an episode and predicts how it goes on.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "infer/rollout.h"

#include <string.h>

enum { STEPS_MAX = 100000 };

static const Flag flags[] = {
    {.name = "episode", .value = "E", .help = "name or number (default: the first test episode)"},
    {.name = "start", .value = "F", .help = "present frame, the last one the model sees (default: the earliest)"},
    {.name = "steps",
     .value = "N",
     .help = "steps to predict (default: to the end of the video; 0: only the particles of the input)"},
    {.name = "output",
     .value = "FILE.h5",
     .help = "rollout file to write",
     .letter = 'o',
     .writes = "vpd-rollout vpd-particles"},
    FLAG_INPUT_VIEWS,
    FLAG_RAW,
    FLAG_DEVICE,
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

// Defaults: the earliest start, and steps to the end of the video.
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
    if (status == STATUS_OK) status = command_int(line, "steps", 0, STEPS_MAX, &steps, err);
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

// From the frames of a data set.
static Status start_rollout(const CommandLine *line, const char *out, Session *session, RolloutFile *rollout,
                            Error *err) {
    Dataset *dataset = NULL;
    IntList views = {0};
    Status status = command_int_list(line, "input-views", 0, 65535, &views, err);
    if (status == STATUS_OK) status = command_open_session(line, command_argument(line, 0), session, err);
    if (status == STATUS_OK) status = dataset_open(command_argument(line, 1), &dataset, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status == STATUS_OK) status = roll_out(line, session, dataset, views, rollout, err);
    dataset_close(dataset);
    return status;
}

// From particles: --steps more from the last step of a rollout file.
static Status continue_rollout(const CommandLine *line, const char *out, Session *session, RolloutFile *rollout,
                               Error *err) {
    static const char *const of_data[] = {"episode", "start", "input-views", "raw"};
    const char *path = command_argument(line, 1);
    SessionOptions options = session_options(line, command_argument(line, 0), false);
    RolloutWorkspace workspace = {0};
    long steps = 0;
    for (size_t i = 0; i < sizeof of_data / sizeof *of_data; i++)
        if (command_has(line, of_data[i]) || command_text(line, of_data[i], NULL))
            return error_set(err, STATUS_BAD_INPUT, "--%s: needs a data set, found the particles of %s", of_data[i],
                             path);
    if (!command_text(line, "steps", NULL))
        return error_set(err, STATUS_BAD_INPUT,
                         "--steps: give the number of steps by which the rollout %s is to be continued", path);
    Status status = command_int(line, "steps", 1, STEPS_MAX, &steps, err);
    if (status == STATUS_OK) status = rollout_file_read(path, rollout, err);
    if (status == STATUS_OK) status = session_open_for(session, &options, rollout, path, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status != STATUS_OK) return status;
    rollout_workspace_init(&workspace, session->model);
    status = rollout_simulate(&workspace, rollout, (size_t)steps, &line->log, err);
    rollout_workspace_free(&workspace);
    return status;
}

static Status tell(const CommandLine *line, const char *out, const RolloutFile *r, Error *err) {
    json_t *object = json_pack("{s:[s] s:s s:i s:I s:I s:o s:s}", "written", out, "episode", r->episode, "first_frame",
                               r->first_frame, "particles", (json_int_t)r->sets[0].N, "steps", (json_int_t)r->steps,
                               "time_step", json_finite(r->time_step), "checkpoint", r->checkpoint);
    return result_tell(line, object, RESULT_STDOUT, err,
                       "%s: episode %s from frame %d, %zu particles, %zu step%s of %.4g s", out, r->episode,
                       r->first_frame, r->sets[0].N, r->steps, r->steps == 1 ? "" : "s", r->time_step);
}

static Status run_rollout(const CommandLine *line, Error *err) {
    Session session = {0};
    RolloutFile rollout = {0};
    bool particles = false;
    const char *out;
    Status status = command_required(line, "output", &out, err);
    if (status == STATUS_OK) status = rollout_file_detect(command_argument(line, 1), &particles, err);
    if (status == STATUS_OK)
        status = (particles ? continue_rollout : start_rollout)(line, out, &session, &rollout, err);
    if (status == STATUS_OK) status = rollout_file_write(&rollout, out, err);
    if (status == STATUS_OK) status = tell(line, out, &rollout, err);
    rollout_file_free(&rollout);
    session_close(&session);
    return command_explain_swap(line, status, err);
}

const Command command_rollout = {
    .name = "rollout",
    .summary = "let a trained model predict how an episode goes on",
    .arguments = "CHECKPOINT DATA|ROLLOUT",
    .min_arguments = 2,
    .max_arguments = 2,
    .flags = flags,
    .details = "CHECKPOINT is a file, or a run's folder (its best, else its latest checkpoint). The model sees the "
               "frames up to F\nand can predict beyond the end of the video. With a ROLLOUT or a particle file, "
               "--steps more are predicted from its last\nstep, with the same result as one longer rollout. "
               "\"vpd render FILE.h5\" draws what was\nwritten.",
    .run = run_rollout,
};
