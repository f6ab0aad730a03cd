// SPDX-License-Identifier: Apache-2.0
// Metrics of a run, as JSON lines (FOLDER/metrics.jsonl) and TensorBoard events (FOLDER/events.out.tfevents.*):
//
//     {"step":120,"kind":"train","loss":0.0213,"rate":0.0007,"steps_per_second":3.1}
//
// A line's step is the number of optimiser steps done. Every line is flushed. A resumed run removes the lines after its
// step, and a last line cut by a crash, so that no step appears twice; TensorBoard's file likewise.
//
//     run_log_begin(&log, "train", step);
//     run_log_number(&log, "loss", loss);
//     status = run_log_end(&log, err);
#ifndef VPD_TRAIN_RUN_LOG_H
#define VPD_TRAIN_RUN_LOG_H

#include "base/image.h"
#include "train/tensorboard.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

// Called with each line of the log, as compact JSON, after it is written; returning true asks the run to end. `line`
// may be NULL.
typedef struct RunListener {
    void *owner;
    bool (*line)(void *owner, const char *json);
} RunListener;

typedef struct RunLog {
    FILE *lines;
    RunListener listener;
    bool asked_to_end; // the listener asked to end the run
    char path[4096];   // of metrics.jsonl
    TensorBoard events;
    json_t *line; // between begin and end
    char kind[32];
    long step;
    Error problem; // first error since run_log_begin; run_log_end returns it
} RunLog;

// A new run must not mix its lines with those of another. It is an error if the folder has metrics already.
Status run_log_check_new(const char *folder, Error *err);

// Creates the folder if missing. resumed_step < 0: a new run; it is an error if the folder has metrics already. If not
// `evaluated`, lines of kind "eval" of that step are removed too, because they will be repeated.
Status run_log_open(RunLog *log, const char *folder, long resumed_step, bool evaluated, Error *err);
void run_log_close(RunLog *log); // accepts {0}

// A number becomes "key": value in the line and the scalar "kind/key" in TensorBoard. NaN and infinities are null in
// the line.
void run_log_begin(RunLog *log, const char *kind, long step);
void run_log_number(RunLog *log, const char *key, double value);
void run_log_integer(RunLog *log, const char *key, long long value);
// A list; in TensorBoard the scalars "kind/key/0", ..
void run_log_numbers(RunLog *log, const char *key, size_t count, const double *values);
void run_log_text(RunLog *log, const char *key, const char *text); // in the line only
Status run_log_end(RunLog *log, Error *err);

// A picture for TensorBoard (8-bit, 1 to 4 channels).
Status run_log_picture(RunLog *log, long step, const char *tag, const Image *image, Error *err);

#endif
