// SPDX-License-Identifier: Apache-2.0
// Augmentation by rotated and mirrored worlds (train.turn).
#ifndef VPD_TRAIN_TURN_H
#define VPD_TRAIN_TURN_H

#include "model/config.h"

#include <stdint.h>

// A rotation by any angle about the axis train->turn, and a mirror image in every second case: out (3,3), orthogonal.
// Gravity along the axis is unaffected. train->turn is not TURN_NONE.
void turn_at_random(const TrainConfig *train, long step, int episode, uint64_t in_batch, double out[9]);

#endif
