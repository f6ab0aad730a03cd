// SPDX-License-Identifier: Apache-2.0
// Shared by trainer.c and the trainer_*.c files; nobody else includes it.
#ifndef VPD_TRAIN_TRAINER_INTERNAL_H
#define VPD_TRAIN_TRAINER_INTERNAL_H

#include "files/checkpoint.h"
#include "model/memory.h"
#include "nn/optimizer.h"
#include "train/episode.h"
#include "train/run_folder.h"
#include "train/trainer.h"

typedef struct Trainer {
    Config config;
    const TrainOptions *options;
    Device *device;
    TrainData data;
    Vpd *model;
    Optimizer optimizer;
    Tape tape;
    LossWorkspace workspace;
    RunLog run_log;
    RunFolder folder;
    long step;            // optimiser steps done
    double best, seconds; // best score so far; time spent before this session
    long saved;           // the step of the newest checkpoint; -1: there is none
    bool found_best;      // at this step, and no checkpoint says so yet
    bool evaluated;       // what was due at this step: evaluation and pictures
    DataRecord record;    // of the data
    MemoryEstimate memory;
    double started;
    double logged, waited; // clock_now() and data.waited at the last line of the log
    LossParts parts;       // of the last step
    double fast_step;      // seconds of a dry run's fastest
} Trainer;

// ---- beginning (trainer_build.c): lengths from the data, the model, weights to start from, the optimiser

Status trainer_build(Trainer *t, Error *err);

// ---- memory (trainer_memory.c)

// Refuses what cannot fit and says what will be needed; the data are open.
Status trainer_check_memory(Trainer *t, Error *err);

// ---- going on (trainer_resume.c)

// Config and lengths of the folder's latest checkpoint; the data and how long to train may be new.
Status trainer_resume_config(Trainer *t, CheckpointFound *found, CheckpointMeta *meta, Error *err);
// Whether every step and the last evaluation are done already.
bool trainer_is_complete(const Trainer *t, const CheckpointMeta *meta);
// Whether the checkpoint's model sees frames at another rate than these data have; false when either is unknown.
bool trainer_other_time_step(const Trainer *t, const CheckpointMeta *meta);
// The data must be those that the checkpoint was trained on.
Status trainer_check_data(const Trainer *t, const CheckpointMeta *meta, const char *path, Error *err);
Status trainer_resume_weights(Trainer *t, const char *path, Error *err);

// Opens the cache of motion, in the run's folder; of a dry run in memory.
Status trainer_open_motion(Trainer *t, Error *err);

// ---- what a run leaves behind (trainer_save.c)

double trainer_spent(const Trainer *t); // seconds, earlier sessions included
Status trainer_save(Trainer *t, Error *err);
// Adds to the error of a run that was stopped what is saved and how it goes on.
Status trainer_tell_stopped(const Trainer *t, Error *err);
// What is due after a step: a line of the log, evaluation, pictures, a checkpoint. `rate`: steps per second.
Status trainer_leave_behind(Trainer *t, double norm, double rate, Error *err);
// The evaluation and the pictures that end a run, for one whose steps are all done; then the checkpoint that says so.
Status trainer_finish(Trainer *t, Error *err);

#endif
