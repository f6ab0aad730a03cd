// SPDX-License-Identifier: Apache-2.0
// The model's input from an episode: T frames of the input views, spaced as nearly as it can be by the time step that
// it learned.
//   history_read: data set, episode, present frame  ->  frames start - (T-1) stride, .., start - stride, start
#ifndef VPD_INFER_HISTORY_H
#define VPD_INFER_HISTORY_H

#include "base/log.h"
#include "datasets/dataset.h"
#include "model/vpd.h"

typedef struct HistoryRequest {
    int episode;
    int start;            // the present frame, step 0
    const IntList *views; // input views; NULL or empty: those of the config, or else all that are not held out
} HistoryRequest;

// Frames of the episode per step of the model: those that come nearest to the time step that it learned
// (data.time_step), of those with which the episode has a whole history. STATUS_BAD_INPUT if a model with dynamics
// cannot move what they show (vpd_moves_at).
Status history_stride(const Vpd *model, const EpisodeInfo *info, int *stride, Error *err);
// The earliest frame with a complete history.
int history_first_start(const Vpd *model, int stride);

// Warns where an episode is unlike what the model learned from: its cameras say that up is more than 45 degrees from
// the model's (train.turn), its frames come more than 1.5 times as often or seldom, or it is more than 3 times as wide
// or narrow as the model's extent (its bounds, or the points of frame 0 in the input views `wanted`; nothing is said if
// that frame cannot be read).
void history_warn(const Vpd *model, const Dataset *dataset, int episode, const IntList *wanted, const Log *log);

// (T,V,H,W) of the input views; the last is the present one. The stride is that of history_stride.
Status history_read(const Vpd *model, const Dataset *dataset, const HistoryRequest *request, Frames *out, Error *err);

#endif
