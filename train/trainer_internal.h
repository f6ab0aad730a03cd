// SPDX-License-Identifier: Apache-2.0
// Shared by trainer.c and trainer_*.c alone.
#ifndef VPD_TRAIN_TRAINER_INTERNAL_H
#define VPD_TRAIN_TRAINER_INTERNAL_H

#include "files/checkpoint.h"
#include "model/memory.h"
#include "nn/optimizer.h"
#include "ranks/gradients.h"
#include "train/episode.h"
#include "train/run_folder.h"
#include "train/trainer.h"
#include "train/windows.h"

// An episode of a batch, as the loader holds it.
typedef struct BatchItem {
    Observation observation;
    double turn[9];
} BatchItem;
// Of several processes: seconds since the last line of the log.
typedef struct RankWork {
    double worked; // in which this one computed
    double waited; // in which this one waited for sums of gradients
    double sums;   // from the first message with gradients to the last
    double sent;   // bytes
    long steps;
    double begun;  // clock_now() at the start of the step; after its backward pass the seconds since
    double *watch; // (ranks) in which each computed, in the steps that warnings of slow ranks look at
    long watched;  // those steps
    bool warned;
} RankWork;

typedef struct Trainer {
    Config config;
    const TrainOptions *options;
    Device *device;
    TrainData data;
    Vpd *model;
    Optimizer optimizer;
    Tape tape;
    LossWorkspace workspace;
    Windows windows;        // of the motion phase with gnn.graph=bodies
    BatchItem *items;       // (train.batch)
    EpisodeInput *episodes; // (train.batch) of the phase with pictures
    PlacedBatch placed;     // these with their particles
    long placed_step;       // the step that they are for; -1: none
    Status placed_status;   // whether they could be placed, and the error
    Error placed_error;
    Ranks *ranks;
    Gradients *gradients; // sums over the ranks; NULL: one process
    RankWork work;
    RunLog run_log;
    RunFolder folder;
    long step;            // optimiser steps done
    double best, seconds; // best score so far; time spent before this session
    long saved;           // step of the newest checkpoint; -1: none
    bool found_best;      // this step is the best, and no checkpoint says so yet
    bool evaluated;       // evaluation and pictures due at this step are done
    DataRecord record;    // identity of the data, for checkpoints
    MemoryEstimate memory;
    double started;
    double logged, waited; // clock_now() and data.waited at the last line of the log
    double show_after;     // clock_now() from which a rollout may be shown again
    long shown;            // step of the rollout that was shown last; -1: none
    LossParts parts;       // of the last step
    double plan;           // seconds that the rest of the run takes
} Trainer;

// ---- start (trainer_build.c)

// With open data: logs how much memory the run needs; an error if it cannot fit.
Status trainer_check_memory(Trainer *t, Error *err);

// Lengths from the data, model, initial weights, optimiser.
Status trainer_build(Trainer *t, Error *err);

// Takes config and lengths of the folder's latest checkpoint. The data file and the length of training may change.
Status trainer_resume_config(Trainer *t, CheckpointFound *found, CheckpointMeta *meta, Error *err);
// Whether every step and the final evaluation are done.
bool trainer_is_complete(const Trainer *t, const CheckpointMeta *meta);
// An error if the data are not those that the checkpoint was trained on.
Status trainer_check_data(const Trainer *t, const CheckpointMeta *meta, const char *path, Error *err);
Status trainer_resume_weights(Trainer *t, const char *path, Error *err);

// Opens the motion cache: in the run's folder, or in memory for a dry run.
Status trainer_open_motion(Trainer *t, Error *err);

// Makes the windows, if a step that is left needs them.
Status trainer_open_windows(Trainer *t, Error *err);

// ---- several processes (trainer_ranks.c); alone these do nothing

// With the folder open: an error unless all ranks have the same options, build, device and data.
Status trainer_join(Trainer *t, Error *err);
// Before the first step: an error unless all have the same step and weights.
Status trainer_join_weights(Trainer *t, Error *err);
// The gradients of a step become sums over the ranks.
Status trainer_sum_gradients(Trainer *t, Error *err);
// The same for its losses.
Status trainer_sum_parts(Trainer *t, LossParts *parts, Error *err);
// With a line of the log: figures of the ranks, and a warning of a slow one.
void trainer_log_ranks(Trainer *t);

// ---- output (trainer_save.c)

double trainer_spent(const Trainer *t); // seconds, including earlier sessions
Status trainer_save(Trainer *t, Error *err);
// Adds to the error of a stopped run what is saved and how to continue.
Status trainer_tell_stopped(const Trainer *t, Error *err);
// Writes what is due after a step: a line of the log, evaluation, pictures, a checkpoint. `rate`: steps per second.
Status trainer_leave_behind(Trainer *t, double norm, double rate, Error *err);
// Does what a viewer wants between two steps. Time that it waits does not count as the run's.
Status trainer_obey(Trainer *t, Error *err);
// Evaluation and pictures at the end of a run, then the checkpoint that marks it complete.
Status trainer_finish(Trainer *t, Error *err);

#endif
