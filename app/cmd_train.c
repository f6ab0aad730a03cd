// SPDX-License-Identifier: Apache-2.0
// `vpd train`: learns a model from the training episodes of a data set.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/result.h"
#include "app/train_hooks.h"
#include "base/clock.h"
#include "base/stop.h"
#include "model/config.h"
#include "train/trainer.h"

static const Flag flags[] = {
    {.name = "out", .value = "FOLDER", .help = "folder of the run (train.out)", .letter = 'o'},
    {.name = "data", .value = "PATH", .help = "data set (data.path)", .letter = 'd'},
    FLAG_SET,
    {.name = "resume", .help = "go on from the folder's latest checkpoint"},
    {.name = "init", .value = "CHECKPOINT", .help = "start from the weights of another run (train.init)"},
    {.name = "dry-run", .help = "print weights, memory, time per step and ETA; leave nothing behind"},
    {.name = "device", .value = "DEVICE", .help = "auto, cpu, cuda or cuda:NUMBER (default auto)"},
    {.name = "json", .help = "each line of metrics.jsonl on stdout, too, and at the end what was done"},
    {0},
};

static OptionTable options(void) { return config_options; }

static Status set_text(Config *config, const CommandLine *line, const char *flag, const char *key, Error *err) {
    const char *value = command_text(line, flag, NULL);
    return value ? options_set(config_options, config, key, value, err) : STATUS_OK;
}

// Config file, then --set in order, then the flags that are short for options.
static Status read_config(const CommandLine *line, Config *config, Error *err) {
    const char *pair;
    config_defaults(config);
    Status status = config_load(config, command_argument(line, 0), err);
    for (int i = 0; status == STATUS_OK && (pair = command_repeated(line, "set", i)); i++)
        status = config_set(config, 1, &pair, err);
    if (status == STATUS_OK) status = set_text(config, line, "out", "train.out", err);
    if (status == STATUS_OK) status = set_text(config, line, "data", "data.path", err);
    if (status == STATUS_OK) status = set_text(config, line, "init", "train.init", err);
    return status == STATUS_OK ? config_resolve(config, err) : status;
}

// A dry run's estimate, "name value" a line.
static Status tell_dry_run(const CommandLine *line, const Config *config, const TrainSummary *s, Error *err) {
    char eta[64];
    double all = s->seconds_per_step * (double)config->train.steps;
    if (command_has(line, "json"))
        return result_json(line,
                           json_pack("{s:b s:[] s:I s:I s:o s:o s:o}", "dry_run", true, "written", "weights",
                                     (json_int_t)s->weights, "particles", (json_int_t)s->particles, "tape_mib",
                                     json_finite(s->tape_mib), "seconds_per_step", json_finite(s->seconds_per_step),
                                     "eta_seconds", json_finite(all)),
                           err);
    clock_format(all, eta, sizeof eta);
    printf("weights %zu\nparticles %zu\ntape_mib %.1f\nseconds_per_step %.4f\neta %s\n", s->weights, s->particles,
           s->tape_mib, s->seconds_per_step, eta);
    return STATUS_OK;
}

static Status tell(const CommandLine *line, const Config *config, const TrainSummary *s, Error *err) {
    const char *folder = config->train.out;
    json_t *object = json_pack("{s:[s] s:I s:o s:o s:I s:o}", "written", folder, "step", (json_int_t)s->step, "loss",
                               json_finite(s->loss), "best_score", json_finite(s->best_score), "weights",
                               (json_int_t)s->weights, "run_seconds", json_finite(s->seconds));
    return result_tell(line, object, RESULT_NOTE, err, "%s: step %ld; next: vpd eval %s DATA", folder, s->step, folder);
}

static Status run_train(const CommandLine *line, Error *err) {
    Config config;
    Device *device = NULL;
    Status status = read_config(line, &config, err);
    if (status == STATUS_OK) status = stop_install(err);
    if (status == STATUS_OK) status = command_open_device(line, &device, err);
    TrainOptions train = {.resume = command_has(line, "resume"),
                          .dry_run = command_has(line, "dry-run"),
                          .log = &line->log,
                          .lines = command_has(line, "json") ? stdout : NULL,
                          .hooks = train_hooks()};
    TrainSummary summary;
    if (status == STATUS_OK) status = train_run(&config, device, &train, &summary, err);
    if (status == STATUS_OK) status = (train.dry_run ? tell_dry_run : tell)(line, &config, &summary, err);
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
    .details = "A stopped run goes on with --resume, bit for bit. SIGINT and SIGTERM save a checkpoint first.",
    .run = run_train,
};
