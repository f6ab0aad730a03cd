// SPDX-License-Identifier: Apache-2.0
// The loss of one episode (docs/model.md, "Losses"): encode the history, predict the rollout, render rays of the
// training views at every step, and compare with the video.
#ifndef VPD_TRAIN_EPISODE_H
#define VPD_TRAIN_EPISODE_H

#include "train/loss.h"
#include "train/step_clock.h"

typedef struct EpisodeInput {
    const Observation *frames; // T + rollout frames, the history first; all views except held-out ones
    const int *input_views;    // positions in frames->views of the views that the encoder sees
    int input_view_count;
    int rollout;      // number of steps
    VideoFrame first; // the first frame's place in the data set, by which motion is cached
    SceneKey key;
    double scale;     // factor on the loss before the backward pass (1 / batch)
    StepClock *clock; // NULL: parts are not timed
} EpisodeInput;

// Values of the loss on the device, valid until the tape is reset.
typedef struct LossValues {
    const real *read;
    size_t moved, particles; // rows of the last dx; number of present particles
} LossValues;

// Resets the tape, runs the forward pass, and adds the parameters' gradients in a backward pass.
Status train_episode(Tape *tape, const Vpd *model, LossWorkspace *workspace, const EpisodeInput *input,
                     LossValues *values, Error *err);
// Waits for the device and reads the values.
Status loss_read(Tape *tape, const LossValues *values, LossParts *parts, Error *err);

#endif
