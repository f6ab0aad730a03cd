// SPDX-License-Identifier: Apache-2.0
// What the model is given of an episode: its T input frames, of the input views, at the time step that it learned.
//   history_read: data set, episode, present frame  ->  frames start - (T-1) stride, .., start - stride, start
#ifndef VPD_INFER_HISTORY_H
#define VPD_INFER_HISTORY_H

#include "datasets/dataset.h"
#include "model/vpd.h"

typedef struct HistoryRequest {
    int episode;
    int start;        // the present frame, step 0
    double time_step; // seconds between two frames that the model learned; 0: unknown
    const IntList
        *views; // input views; NULL or empty: those of the config, and if it has none all that are not held out
} HistoryRequest;

// An episode by its name, FILE:NAME or number in the data set; NULL: the first test episode, else the first for
// validation, else the first. Unknown or ambiguous ones are STATUS_BAD_INPUT.
Status history_find_episode(const Dataset *dataset, const char *text, int *episode, Error *err);

// Frames of the episode per step of the model. An episode whose frames do not fall on the learned time step by a whole
// stride is STATUS_BAD_INPUT, unless the model cannot move anything.
Status history_stride(const Vpd *model, double time_step, const EpisodeInfo *info, int *stride, Error *err);
// The earliest frame that has its history before it.
int history_first_start(const Vpd *model, int stride);

// Indices of the input views in the episode into *views (V ints at most, malloc'ed).
Status history_views(const Vpd *model, const IntList *wanted, const EpisodeInfo *info, int **views, int *count,
                     Error *err);

// (T,V,H,W) of the input views; the last is the present one. The stride is that of history_stride.
Status history_read(const Vpd *model, const Dataset *dataset, const HistoryRequest *request, Frames *out, Error *err);

#endif
