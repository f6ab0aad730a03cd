// SPDX-License-Identifier: Apache-2.0
// What changes during a run, as functions of the step alone (steps count from 0): a resumed run needs no other state.
// A run has two phases: train.motion_steps steps of motion alone, then the others, with images. Learning rate and
// rollouts go through their whole schedule in each.
#ifndef VPD_TRAIN_SCHEDULE_H
#define VPD_TRAIN_SCHEDULE_H

#include "model/config.h"
#include "nn/optimizer.h"

bool schedule_has_images(const TrainConfig *train, long step);
// Steps of the phase that `step` lies in, before it.
long schedule_phase_step(const TrainConfig *train, long step);

// Learning rate of step `step` of a phase of `steps`: linear warm-up, rate * (step + 1) / warmup for step < warmup,
// then half a cosine from `rate` at step = warmup down to `rate_end`, which the last step (steps - 1) reaches.
double schedule_rate(const TrainConfig *train, long step);

// Rollout length of step `step`: the last entry of train.rollout whose share (train.rollout_from) of the phase has
// begun.
long schedule_rollout(const TrainConfig *train, long step);

// The longest rollout of the whole run: how many frames after the history an episode must have.
long schedule_longest_rollout(const TrainConfig *train);

// What the optimiser of a run is made with.
OptimizerConfig schedule_optimizer(const TrainConfig *train);

#endif
