// SPDX-License-Identifier: Apache-2.0
// A training run reads data and a config, and writes a folder with the resolved config, metrics, sample pictures and
// checkpoints:
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

// What a viewer of the run may want between two steps.
enum {
    TRAIN_SAVE = 1, // a checkpoint
    TRAIN_SHOW = 2, // a sample rollout (TrainHooks.show)
    TRAIN_WAIT = 4  // the run is paused: ask again
};

// `wish` is called after each step and may wait a little; it returns such bits. NULL: nobody looks. Losses and weights
// do not depend on it.
typedef struct TrainWatcher {
    void *owner;
    unsigned (*wish)(void *owner);
} TrainWatcher;

// Callbacks of the program; each may be NULL. The model has the averaged weights during these calls.
typedef struct TrainHooks {
    void *owner;
    // Called before the first step: whether the data have what `evaluate` and `draw` need.
    Status (*check)(void *owner, const Vpd *model, const TrainData *data, Error *err);
    // Validation after `step` steps. *score selects the "best" checkpoint; smaller is better.
    Status (*evaluate)(void *owner, const Vpd *model, const TrainData *data, long step, RunLog *log, double *score,
                       Error *err);
    // Draws samples into `folder`.
    Status (*draw)(void *owner, const Vpd *model, const TrainData *data, long step, const char *folder, RunLog *log,
                   Error *err);
    // Writes a sample rollout into `folder` for a viewer, if it can.
    void (*show)(void *owner, const Vpd *model, const TrainData *data, const char *folder);
} TrainHooks;

typedef struct TrainOptions {
    bool resume;  // continue from the folder's latest checkpoint; a complete run is left unchanged
    bool dry_run; // run a few steps without writing anything, to measure weights, memory and time
    Ranks *ranks; // the processes that share the work; NULL: this one alone
    const Log *log;
    RunListener listener; // called with each line; may end the run after a step, whose checkpoint is written
    TrainHooks hooks;
    TrainWatcher watcher;
} TrainOptions;

// Results of train_run.
typedef struct TrainSummary {
    size_t weights, particles; // particles of the last logged step, or of a dry run's
    long step;                 // optimiser steps of the run, including earlier sessions
    double best_score, loss;   // NaN: none
    double seconds;            // of the run, including earlier sessions
    double tape_mib;           // peak memory of the tape in a step
    double memory_mib;         // estimate of all memory that the run needs
    double plan_seconds;       // of a dry run: what the rest of the run will take
    double step_seconds;       // of that a step, on the average; 0: none is left
    bool stopped;              // whether the listener ended the run before its last step
    Config config;             // resolved, with the lengths derived from the data
} TrainSummary;

// Several processes give the same losses as one with the same batch, up to rounding; the same number of them gives the
// same bits. Rank 0 owns the folder, from which all resume.
// config->train.out names the folder; two runs cannot use one at a time (train/run_folder.h). The checkpoint of the
// last complete step is written before the final evaluation, and after a signal (STATUS_INTERRUPTED).
Status train_run(const Config *config, Device *device, const TrainOptions *options, TrainSummary *summary, Error *err);

// Sources of a run's config; each pointer may be NULL.
typedef struct RunConfigRequest {
    const char *file;         // a config file
    const char *const *pairs; // (pair_count) "key=value", in order
    size_t pair_count;
    const char *out, *data, *init; // train.out, data.path, train.init
    bool resume;                   // start from the config of the run in train.out
} RunConfigRequest;

// Later sources override earlier ones: defaults, the preset, the run's own config (with `resume`), `file`, `pairs`,
// then out, data and init. The result is checked and resolved.
Status run_config_read(const RunConfigRequest *request, Config *out, Error *err);

// The summary, which `vpd train --json` prints last. NULL if memory is short.
json_t *train_summary_json(const Config *config, bool dry_run, const TrainSummary *summary);

#endif
