// SPDX-License-Identifier: Apache-2.0
// The loss of a batch of episodes (docs/model.md, "Losses"): encode their histories, predict the rollouts, render rays
// of the training views at every step, and compare with the video. It is the mean over the episodes.
#ifndef VPD_TRAIN_EPISODE_H
#define VPD_TRAIN_EPISODE_H

#include "train/loss.h"
#include "train/step_clock.h"

typedef struct EpisodeInput {
    const Observation *frames; // T + rollout frames, the history first; all views except held-out ones
    const int *input_views;    // positions in frames->views of the views that the encoder sees
    int input_view_count;
    VideoFrame first; // the first frame's place in the data set, by which motion is cached
    SceneKey key;
    const char *file, *name; // of the episode, for errors; or NULL
} EpisodeInput;

typedef struct EpisodeBatch {
    size_t count;
    size_t total;                 // episodes of the batch, those of other processes too
    const EpisodeInput *episodes; // (count)
    int rollout;                  // number of steps
    StepClock *clock;             // NULL: parts are not timed
} EpisodeBatch;

// Values of the loss on the device, valid until the tape is reset.
typedef struct LossValues {
    const real *read;
    size_t episodes, total;  // here, and of the batch
    size_t moved, particles; // rows of the last dx, and present particles, of all episodes
} LossValues;

// Resets the tape, runs the forward pass, and adds the parameters' gradients in a backward pass. Images of all episodes
// are one call of the encoder.
Status train_episodes(Tape *tape, const Vpd *model, LossWorkspace *workspace, const EpisodeBatch *batch,
                      LossValues *values, Error *err);
// Waits for the device and reads the values.
Status loss_read(Tape *tape, const LossValues *values, LossParts *parts, Error *err);

#endif
