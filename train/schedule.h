// SPDX-License-Identifier: Apache-2.0
// What changes during a run, as functions of the step alone (counted from 0), so that a resumed run needs no other
// state. A run has two phases: train.motion_steps steps of motion alone, then steps with images. Learning rate and
// rollout length run through their whole schedule in each phase.
#ifndef VPD_TRAIN_SCHEDULE_H
#define VPD_TRAIN_SCHEDULE_H

#include "model/config.h"
#include "nn/optimizer.h"

bool schedule_has_images(const TrainConfig *train, long step);
// Index of `step` within its phase.
long schedule_phase_step(const TrainConfig *train, long step);

// Learning rate of step `step` of a phase of `steps`: linear warm-up, rate * (step + 1) / warmup for step < warmup,
// then half a cosine from `rate` at step = warmup down to `rate_end` at the last step (steps - 1).
double schedule_rate(const TrainConfig *train, long step);

// Rollout length of step `step`: the last entry of train.rollout whose start (train.rollout_from, a share of the phase)
// has been reached.
long schedule_rollout(const TrainConfig *train, long step);

// The longest rollout of the whole run: the number of frames that an episode needs after the history.
long schedule_longest_rollout(const TrainConfig *train);

// The optimiser's options.
OptimizerConfig schedule_optimizer(const TrainConfig *train);

#endif
