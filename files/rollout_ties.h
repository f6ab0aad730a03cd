// SPDX-License-Identifier: Apache-2.0
// Particles of past sets and points of the motion field are others than the present particles. Each of them belongs to
// one present particle, its owner: edits say what happens to present particles, and what they own goes the same way.
#ifndef VPD_FILES_ROLLOUT_TIES_H
#define VPD_FILES_ROLLOUT_TIES_H

#include "files/rollout_file.h"
#include "nn/device.h"

// Finds the owners that the file does not tell: the present particle that is nearest in place, colour and moving flag,
// of the same label where both have labels. What the file tells stays.
Status rollout_tie(RolloutFile *file, Device *device, Error *err);

// Median radius of the present particles, metres; 0 where they have none.
double rollout_median_radius(const RolloutFile *file);

#endif
