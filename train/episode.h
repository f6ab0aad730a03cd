// SPDX-License-Identifier: Apache-2.0
// The loss of a batch of episodes (docs/model.md, "Losses"): choose particles and encode their histories, predict the
// rollouts, render rays of the training views at every step, and compare with the video. It is the mean over the
// episodes.
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

// Episodes whose particles are chosen, in the host memory of a workspace.
typedef struct PlacedBatch {
    EpisodeBatch input;
    SceneInput *inputs; // (count)
    Scene *scenes;      // (count)
} PlacedBatch;

// Chooses the particles of a batch. Those of the batch before are gone. This is work of the CPU, so it can be done
// while a GPU has the batch before. But motion that is not known yet is measured by the model's device.
Status train_place(const Vpd *model, LossWorkspace *workspace, const EpisodeBatch *batch, PlacedBatch *out, Error *err);

// Values of the loss on the device, valid until the tape is reset.
typedef struct LossValues {
    const real *read;
    size_t episodes, total;  // here, and of the batch
    size_t moved, particles; // rows of the last dx, and present particles, of all episodes
} LossValues;

// Resets the tape, runs the forward pass, and adds the parameters' gradients in a backward pass.
// Images of all episodes are one call of the encoder. The scenes of `placed` move on, so it serves once.
Status train_episodes(Tape *tape, const Vpd *model, LossWorkspace *workspace, const PlacedBatch *placed,
                      LossValues *values, Error *err);
// Waits for the device and reads the values.
Status loss_read(Tape *tape, const LossValues *values, LossParts *parts, Error *err);

#endif
