// SPDX-License-Identifier: Apache-2.0
// `vpd train`: learns a model from the training episodes of a data set.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "app/train_view.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "infer/train_hooks.h"
#include "model/config.h"
#include "train/trainer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

static const Flag flags[] = {
    {.name = "output", .value = "FOLDER", .help = "folder of the run (train.out)", .letter = 'o'},
    {.name = "data", .value = "PATH", .help = "data set (data.path)", .letter = 'd'},
    FLAG_SET,
    {.name = "resume", .help = "continue from the folder's latest checkpoint, with the run's own config"},
    {.name = "init", .value = "CHECKPOINT", .help = "start from the weights of another run (train.init)"},
    {.name = "dry-run", .help = "check data and memory, print the options, time per step and ETA; write nothing"},
    {.name = "device", .value = "DEVICE", .help = "auto, cpu, cuda or cuda:NUMBER (default auto)"},
    {.name = "view", .help = "show the run in the browser while it runs: curves, particles, pause, save, stop"},
    {.name = "port", .value = "P", .help = "of --view: first port that is tried (default 8317)"},
    FLAG_FORCE,
    {.name = "json", .help = "print each line of metrics.jsonl, and at the end what was done"},
    {0},
};

static OptionTable options(void) { return config_options; }

static Status read_config(const CommandLine *line, Config *config, Error *err) {
    const char **pairs = calloc((size_t)line->given_count + 1, sizeof *pairs);
    RunConfigRequest request = {.file = command_argument(line, 0),
                                .pairs = pairs,
                                .out = command_text(line, "output", NULL),
                                .data = command_text(line, "data", NULL),
                                .init = command_text(line, "init", NULL),
                                .resume = command_has(line, "resume")};
    if (!pairs) return error_set(err, STATUS_FAILED, "out of memory");
    while ((pairs[request.pair_count] = command_repeated(line, "set", (int)request.pair_count))) request.pair_count++;
    Status status = run_config_read(&request, config, err);
    free(pairs);
    return status;
}

// Options that differ from their defaults, with the source of each value.
static void print_options(const Config *config) {
    ConfigChange change;
    for (size_t i = 0; config_each_change(config, &i, &change);)
        printf("%-26s %s%s%s  (%s)\n", change.key, change.value, *change.unit ? " " : "", change.unit, change.origin);
}

// A run writes its config into its folder; that must not replace the config it was started with, nor another one.
static Status check_folder(const CommandLine *line, const Config *config, Error *err) {
    char path[FILE_PATH_SIZE];
    if (command_has(line, "resume") || !config->train.out[0]) return STATUS_OK;
    Status status = file_join(path, sizeof path, config->train.out, "config.yaml", err);
    return status == STATUS_OK ? output_check(line, path, "config", err) : status;
}

// A dry run's estimate, "name value" a line.
static Status tell_dry_run(const CommandLine *line, const Config *config, const TrainSummary *s, Error *err) {
    char eta[64];
    if (command_has(line, "json")) return result_json(line, train_summary_json(config, true, s), err);
    clock_format(s->plan_seconds, eta, sizeof eta);
    printf("weights %zu\nparticles %zu\ntape_mib %.1f\nmemory_mib %.0f\nseconds_per_step %.4f\neta %s\n", s->weights,
           s->particles, s->tape_mib, s->memory_mib, s->step_seconds, eta);
    print_options(&s->config);
    return STATUS_OK;
}

static Status tell(const CommandLine *line, const Config *config, const TrainSummary *s, Error *err) {
    const char *folder = config->train.out;
    return result_tell(line, train_summary_json(config, false, s), RESULT_NOTE, err,
                       "%s: step %ld; next: vpd eval %s DATA", folder, s->step, folder);
}

static Status open_view(const CommandLine *line, const Config *config, TrainView *out, Error *err) {
    int port = SERVER_PORT;
    Status status = command_small_int(line, "port", 1, 65535, &port, err);
    if (status != STATUS_OK || !command_has(line, "view") || command_has(line, "dry-run")) return status;
    return train_view_open(config->train.out, port, out, err);
}

// A reader that closes the pipe ("| head") requests a stop, as a signal does; other failures end the run, and the
// program reports them at its end.
static bool print_line(void *owner, const char *json) {
    (void)owner;
    errno = 0;
    if (puts(json) >= 0 && fflush(stdout) == 0) return false;
    if (errno != EPIPE) return true;
    stop_request(SIGPIPE);
    return false;
}

static Status run_train(const CommandLine *line, Error *err) {
    Config config;
    Device *device = NULL;
    TrainView view = {0};
    bool speaks = ranks_rank(line->ranks) == 0;
    Status status = read_config(line, &config, err);
    if (status == STATUS_OK && speaks) status = check_folder(line, &config, err);
    if (status == STATUS_OK) status = command_open_device(line, &device, err);
    if (status == STATUS_OK && speaks) status = open_view(line, &config, &view, err);
    TrainOptions train = {.resume = command_has(line, "resume"),
                          .dry_run = command_has(line, "dry-run"),
                          .ranks = line->ranks,
                          .log = &line->log,
                          .listener.line = command_has(line, "json") && speaks ? print_line : NULL,
                          .hooks = train_hooks(&line->log),
                          .watcher = train_view_watcher(&view)};
    TrainSummary summary;
    if (status == STATUS_OK) status = train_run(&config, device, &train, &summary, err);
    if (status == STATUS_OK && speaks) status = (train.dry_run ? tell_dry_run : tell)(line, &config, &summary, err);
    train_view_close(&view);
    device_close(device);
    return status;
}

const Command command_train = {
    .name = "train",
    .summary = "learn a model from RGB-D video",
    .arguments = "[CONFIG.yaml]",
    .max_arguments = 1,
    .flags = flags,
    .options = options,
    .spreads = true,
    .details = "A stopped run continues with --resume, bit for bit. Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 stop it after "
               "a checkpoint; so does the reader of --json when it ends. \"mpirun -n 4 vpd train ..\" "
               "divides each\nbatch over processes (docs/cluster.md).",
    .run = run_train,
};
