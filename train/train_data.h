// SPDX-License-Identifier: Apache-2.0
// Training data: the training episodes of a data set, checked against the config, and a reproducible stream of
// (episode, start frame) for the loader.
#ifndef VPD_TRAIN_TRAIN_DATA_H
#define VPD_TRAIN_TRAIN_DATA_H

#include "base/log.h"
#include "datasets/loader.h"
#include "model/config.h"
#include "ranks/ranks.h"

// Views of one episode: the training views (all except held-out ones), and which of them the encoder sees.
typedef struct TrainEpisode {
    int episode; // in the data set
    int *views;  // (view_count) indices in the episode
    int view_count;
    int *input_views; // (input_view_count) positions in `views`
    int input_view_count;
    int stride;      // every stride-th frame is shown (episode_stride)
    double *changes; // (F) cumulative number of pixels whose depth changes from each frame to the next; or NULL
} TrainEpisode;

typedef struct TrainData {
    Dataset *dataset;
    Loader *loader;
    const Config *config;
    TrainEpisode *episodes;
    int episode_count;
    double time_step;  // seconds between frames of most episodes; 0 if they are single frames
    double waited;     // seconds that train_data_next waited for the loader
    Ranks *ranks;      // the processes of the run, or NULL
    size_t first, end; // this rank's episodes of each batch
} TrainData;

// Opens config->data.path, for this rank's episodes of each batch. Errors: episodes too short for the history and the
// longest rollout, uneven time steps, input views that do not exist. Warns of actions, which the model does not use.
Status train_data_open(const Config *config, Ranks *ranks, const Log *log, TrainData *out, Error *err);
// Chooses the frames of each episode that come nearest to one every `step` seconds; before, all are taken.
void train_data_set_step(TrainData *data, double step);
void train_data_close(TrainData *data); // accepts {0}

// Counts the pixels whose depth changes by more than gnn.moving_threshold, for train.busy_starts. Reads every training
// episode once; ranks divide them.
Status train_data_count_changes(TrainData *data, const Log *log, Error *err);
// Starts the stream at an optimiser step: this rank's episodes of its batch, then of the next. `config` and `data` must
// outlive it.
Status train_data_start(TrainData *data, long step, Error *err);
// Next item; `frames` is valid until train.batch more calls.
Status train_data_next(TrainData *data, const Frames **frames, const TrainEpisode **episode, Error *err);

// History frames of up to `count` training episodes, for lengths_derive and the mean background; the caller frees each.
Status train_data_samples(const TrainData *data, int count, Frames *out, Error *err);

#endif
