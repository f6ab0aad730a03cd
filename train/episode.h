// SPDX-License-Identifier: Apache-2.0
// The loss of one episode (docs/model.md, "Losses"): encode the history, roll out, draw rays of the training views at
// every step, and compare with the video.
#ifndef VPD_TRAIN_EPISODE_H
#define VPD_TRAIN_EPISODE_H

#include "train/loss.h"
#include "train/step_clock.h"

typedef struct EpisodeInput {
    const Observation
        *frames; // T + rollout frames: the history, then what is to be predicted; all views but the held-out ones
    const int *input_views; // positions in frames->views that the encoder sees
    int input_view_count;
    int rollout;      // steps
    bool motion_only; // without encoder and renderer
    VideoFrame first; // the first of the frames, by which their motion is kept
    SceneKey key;
    double scale;     // the loss is multiplied by this before backward (1 / batch)
    StepClock *clock; // NULL: nobody asks what takes how long
} EpisodeInput;

// Parts of the loss on the device, until the tape is reset.
typedef struct LossValues {
    const real *read;
    size_t moved, particles; // rows of the last dx, particles of the present set
} LossValues;

// Records on the tape and runs backward into the parameters' gradients. The tape is reset first.
Status train_episode(Tape *tape, const Vpd *model, LossWorkspace *workspace, const EpisodeInput *input,
                     LossValues *values, Error *err);
// Waits for the device and reads them.
Status loss_read(Tape *tape, const LossValues *values, LossParts *parts, Error *err);

#endif
