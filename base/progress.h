// SPDX-License-Identifier: Apache-2.0
// How far a long job is, with rate and time left: one line redrawn on a terminal, else a plain line now and then.
//
//     train   1200/20000   6%   3.1 steps/s   1 h 41 min left   loss 0.0213
#ifndef VPD_BASE_PROGRESS_H
#define VPD_BASE_PROGRESS_H

#include "base/log.h"

#include <stddef.h>

typedef struct Progress {
    const Log *log;            // NULL or quiet: nothing is shown
    const char *what, *unit;   // "train", "steps"
    size_t first, done, total; // total 0: unknown; first: where a resumed job began
    double started, shown;     // clock_now() of the start and of the last line
    double mark_time, rate;    // smoothed units per second, and when it was last brought up to date
    size_t mark_done;
    double interval; // seconds between two lines; grows when not on a terminal
} Progress;

void progress_start(Progress *progress, const Log *log, const char *what, const char *unit, size_t done, size_t total);

// `detail` (may be NULL) stands behind the time left. Cheap: usually only reads the clock.
void progress_update(Progress *progress, size_t done, const char *detail);

// A last line with the time the job took.
void progress_end(Progress *progress, const char *detail);

// The line for the clock standing at `now`.
void progress_format(const Progress *progress, double now, const char *detail, char *out, size_t size);

#endif
