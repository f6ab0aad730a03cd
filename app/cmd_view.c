// SPDX-License-Identifier: Apache-2.0
// `vpd view`: shows particles in the browser, edits them and simulates on. A server on this machine's loopback address
// runs until it is stopped.
#include "app/commands.h"
#include "app/model_flags.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "base/stop.h"
#include "datasets/dataset.h"
#include "datasets/h5.h"
#include "files/rollout_file.h"
#include "view/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 20 };

static const Flag flags[] = {
    {.name = "episode", .value = "E", .help = "of DATA, by name or number (default: the first test episode)"},
    {.name = "start", .value = "F", .help = "present frame of the episode (default: the earliest)"},
    {.name = "steps", .value = "N", .help = "steps to predict of the episode (default 20)"},
    {.name = "port", .value = "P", .help = "first port that is tried (default 8317)"},
    FLAG_RAW,
    FLAG_DEVICE,
    {0},
};

// A data set, a list of them, or a folder that is neither a run's nor one of checkpoints.
static bool looks_like_data(const char *path) {
    char latest[FILE_PATH_SIZE], format[64] = "";
    if (dataset_is_list(path)) return true;
    if (!file_is_folder(path)) {
        h5_read_format(path, format, sizeof format, NULL);
        return !strcmp(format, "vpd-dataset");
    }
    return !file_is_run(path) && file_join(latest, sizeof latest, path, "latest", NULL) == STATUS_OK &&
           !file_exists(latest);
}

// Rollout files, at most a model and a data set.
static Status sort_arguments(const CommandLine *line, const char **rollouts, LiveOptions *out, Error *err) {
    out->rollouts = rollouts;
    for (int i = 0; i < line->argument_count; i++) {
        const char *path = line->arguments[i];
        bool is_rollout = false;
        Status status = rollout_file_detect(path, &is_rollout, err);
        if (status != STATUS_OK) return command_explain_text(path, status, err);
        bool is_data = !is_rollout && looks_like_data(path);
        if (is_rollout && out->rollout_count < LIVE_SCENES_MAX) rollouts[out->rollout_count++] = path;
        else if (!is_rollout && !is_data && !out->model) out->model = path;
        else if (!is_rollout && !out->dataset) out->dataset = path;
        else return command_unexpected(line, i, err);
    }
    if (out->rollout_count == 0 && !out->model)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: a data set alone has nothing to show; give a model too (vpd view RUN DATA)",
                         out->dataset);
    if (out->rollout_count == 0 && !out->dataset)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: a model alone has nothing to show; give it a data set too (vpd view RUN DATA), or a "
                         "rollout",
                         out->model);
    return STATUS_OK;
}

static Status read_options(const CommandLine *line, LiveOptions *out, int *port, Error *err) {
    out->episode = command_text(line, "episode", NULL);
    out->start = -1;
    out->steps = STEPS;
    out->device = command_text(line, "device", NULL);
    out->threads = line->threads;
    out->raw = command_has(line, "raw");
    Status status = command_small_int(line, "start", 0, 1000000000, &out->start, err);
    if (status == STATUS_OK) status = command_small_int(line, "steps", 0, LIVE_STEPS_MAX, &out->steps, err);
    if (status == STATUS_OK) status = command_small_int(line, "port", 1, 65535, port, err);
    return status;
}

static int place_of_episode(const void *dataset, const char *episode) {
    int place;
    Error err;
    return dataset_find_episode(dataset, episode, &place, &err) == STATUS_OK ? place : -1;
}

// The labels of its episodes, in memory that run_view frees.
static Status list_episodes(LiveOptions *out, Dataset **dataset, Error *err) {
    Status status = dataset_open(out->dataset, dataset, err);
    const int count = status == STATUS_OK ? dataset_episode_count(*dataset) : 0;
    out->place = place_of_episode;
    out->context = *dataset;
    out->episodes = calloc((size_t)count + 1, sizeof *out->episodes);
    for (int i = 0; i < count && out->episodes; i++) out->episodes[i] = strdup(dataset_episode_label(*dataset, i).text);
    return status == STATUS_OK && !out->episodes ? error_set(err, STATUS_FAILED, "out of memory") : status;
}

// A call of the library that ends would forget a request to stop that it has seen; while this watch lasts, it does not.
static void wait_for_stop(Server *server) {
    sigset_t none;
    sigemptyset(&none);
    stop_watch_begin(&none);
    for (int i = 0; !stop_requested(); i++) {
        usleep(50000);
        if (i % 20 == 0) server_tidy(server);
    }
    stop_watch_end();
}

// Without a data set, a folder of runs, or a run.
static bool shows_runs(const CommandLine *line) {
    return line->argument_count == 1 && file_is_folder(line->arguments[0]);
}

// Rollouts and runs are shown as they are: flags that say how an episode is predicted would have no effect.
static Status refuse_flags(const CommandLine *line, const LiveOptions *options, Error *err) {
    static const char *const of_episode[] = {"episode", "start", "steps", NULL};
    static const char *const of_model[] = {"episode", "start", "steps", "raw", "device", NULL};
    const char *wanted = "a model and a data set alone (vpd view RUN DATA)";
    char found[FILE_PATH_SIZE + 32];
    if (shows_runs(line)) {
        snprintf(found, sizeof found, "%s alone", line->arguments[0]);
        return command_refuse(line, of_model, wanted, found, err);
    }
    if (options->rollout_count == 0) return STATUS_OK;
    snprintf(found, sizeof found, "the rollout %s", options->rollouts[0]);
    return command_refuse(line, of_episode, wanted, found, err);
}

static Status show(const CommandLine *line, LiveOptions *options, Dataset **dataset, Live **live, Watch **watch,
                   int *port, Error *err) {
    const char *rollouts[LIVE_SCENES_MAX];
    Status status = STATUS_OK;
    if (!shows_runs(line)) status = sort_arguments(line, rollouts, options, err);
    if (status == STATUS_OK) status = refuse_flags(line, options, err);
    if (status == STATUS_OK) status = read_options(line, options, port, err);
    if (status == STATUS_OK && options->dataset && options->rollout_count == 0)
        status = list_episodes(options, dataset, err);
    if (status == STATUS_OK && shows_runs(line)) status = watch_create(line->arguments[0], false, watch, err);
    else if (status == STATUS_OK) status = live_create(options, live, err);
    options->rollouts = NULL; // they end here
    return status;
}

static Status run_view(const CommandLine *line, Error *err) {
    Live *live = NULL;
    Watch *watch = NULL;
    Server *server = NULL;
    LiveOptions options = {0};
    Dataset *dataset = NULL;
    int port = SERVER_PORT;
    Status status = show(line, &options, &dataset, &live, &watch, &port, err);
    if (status == STATUS_OK) status = server_start(live, watch, port, &server, err);
    if (status == STATUS_OK) {
        server_tell(server, stdout);
        printf("Ctrl-C ends it.\n");
        fflush(stdout);
        wait_for_stop(server);
    }
    server_stop(server);
    watch_free(watch);
    live_free(live);
    for (int i = 0; options.episodes && options.episodes[i]; i++) free(options.episodes[i]);
    free(options.episodes);
    dataset_close(dataset);
    return status;
}

const Command command_view = {
    .name = "view",
    .summary = "show, edit and simulate particles in the browser",
    .arguments = "RUN|FOLDER|CHECKPOINT|ROLLOUT|PARTICLES [DATA|ROLLOUT ..]",
    .min_arguments = 1,
    .max_arguments = LIVE_SCENES_MAX + 1,
    .flags = flags,
    .details = "vpd view RUN DATA           predicts the start of an episode and shows it\n"
               "vpd view A.h5 [B.h5 ..]     shows rollouts; the checkpoint that the first names simulates its edits\n"
               "vpd view CHECKPOINT A.h5    the same with a checkpoint that lies elsewhere\n"
               "vpd view A.h5 DATA          compares with what was recorded\n"
               "vpd view RUN, FOLDER        shows a training run, or compares the runs in a folder\n"
               "The page is for this machine alone: open the printed address, which has a secret token.",
    .run = run_view,
};
