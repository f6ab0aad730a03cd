// SPDX-License-Identifier: Apache-2.0
// A training run: data and config in; a folder with the resolved config, metrics, sample pictures and checkpoints out.
//   FOLDER/config.yaml  metrics.jsonl  events.out.tfevents.*  pictures/  checkpoints/step_00001000.h5 .. latest best
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
    // Validation after `step` steps: *score is what "best" means, smaller is better.
    Status (*evaluate)(void *owner, const Vpd *model, const TrainData *data, long step, RunLog *log, double *score,
                       Error *err);
    // Sample renderings into `folder`.
    Status (*draw)(void *owner, const Vpd *model, const TrainData *data, long step, const char *folder, RunLog *log,
                   Error *err);
} TrainHooks;

typedef struct TrainOptions {
    bool resume;  // go on from the folder's latest checkpoint
    bool dry_run; // a few steps that leave nothing behind: weights, memory, time per step
    const Log *log;
    FILE *lines; // each line of metrics.jsonl goes there as well; NULL: not
    TrainHooks hooks;
} TrainOptions;

// What train_run did.
typedef struct TrainSummary {
    size_t weights, particles; // particles of the last step that was logged, or of a dry run's
    long step;                 // optimiser steps of the run, earlier sessions included
    double best_score, loss;   // NaN: none
    double seconds;            // of the run, earlier sessions included
    double tape_mib;           // peak of what a step keeps
    double seconds_per_step;   // of a dry run: the fastest
} TrainSummary;

// config->train.out names the folder. STATUS_INTERRUPTED after a signal: the checkpoint of the last whole step is
// written.
Status train_run(const Config *config, Device *device, const TrainOptions *options, TrainSummary *summary, Error *err);

#endif
