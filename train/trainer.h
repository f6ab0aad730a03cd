// SPDX-License-Identifier: Apache-2.0
// A training run: data and config in; a folder with the resolved config, metrics, sample pictures and checkpoints out.
//   FOLDER/config.yaml  metrics.jsonl  events.out.tfevents.*  pictures/  checkpoints/step_00001000.h5 .. latest best
//   FOLDER/motion.bin (train/motion_cache.h)
// The same seed, config, machine and number of threads give the same losses bit for bit, also across a stop and a
// resume.
#ifndef VPD_TRAIN_TRAINER_H
#define VPD_TRAIN_TRAINER_H

#include "base/log.h"
#include "model/vpd.h"
#include "train/run_log.h"
#include "train/train_data.h"

// What the program adds to a run; each may be NULL. The model holds the averaged weights during these calls.
typedef struct TrainHooks {
    void *owner;
    // Whether the data have what `evaluate` and `draw` need, before the first step.
    Status (*check)(void *owner, const Vpd *model, const TrainData *data, Error *err);
    // Validation after `step` steps: *score is what "best" means, smaller is better.
    Status (*evaluate)(void *owner, const Vpd *model, const TrainData *data, long step, RunLog *log, double *score,
                       Error *err);
    // Sample renderings into `folder`.
    Status (*draw)(void *owner, const Vpd *model, const TrainData *data, long step, const char *folder, RunLog *log,
                   Error *err);
} TrainHooks;

typedef struct TrainOptions {
    bool resume;  // go on from the folder's latest checkpoint; a complete run is left as it is
    bool dry_run; // a few steps that leave nothing behind: weights, memory, time per step
    const Log *log;
    FILE *lines;          // each line of metrics.jsonl goes there as well; NULL: not
    RunListener listener; // hears each line, and may end the run after a step: its checkpoint is written
    TrainHooks hooks;
} TrainOptions;

// What train_run did.
typedef struct TrainSummary {
    size_t weights, particles; // particles of the last step that was logged, or of a dry run's
    long step;                 // optimiser steps of the run, earlier sessions included
    double best_score, loss;   // NaN: none
    double seconds;            // of the run, earlier sessions included
    double tape_mib;           // peak of what a step keeps
    double memory_mib;         // of all that the run needs, estimated
    double seconds_per_step;   // of a dry run: the fastest
    bool stopped;              // the listener ended the run before its last step
    Config config;             // with the lengths that the data gave
} TrainSummary;

// config->train.out names the folder; no two runs go on in one (train/run_folder.h). The checkpoint of the last whole
// step is written before evaluation begins, and after a signal (STATUS_INTERRUPTED).
Status train_run(const Config *config, Device *device, const TrainOptions *options, TrainSummary *summary, Error *err);

// What is said about a run's config; each pointer may be NULL.
typedef struct RunConfigRequest {
    const char *file;         // a config file
    const char *const *pairs; // (pair_count) "key=value", in order
    size_t pair_count;
    const char *out, *data, *init; // train.out, data.path, train.init
    bool resume;                   // start from the config of the run in train.out
} RunConfigRequest;

// Later ones win: defaults, the preset, the run's own config (with `resume`), `file`, `pairs`, then out, data and init.
// The result is checked and resolved.
Status run_config_read(const RunConfigRequest *request, Config *out, Error *err);

// The summary as `vpd train --json` prints it last. NULL when memory ran out.
json_t *train_summary_json(const Config *config, bool dry_run, const TrainSummary *summary);

#endif
