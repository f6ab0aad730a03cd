// SPDX-License-Identifier: Apache-2.0
// Particles of past sets are not present particles. Each is owned by one present particle: edits apply to present
// particles and to the past ones that they own.
#ifndef VPD_FILES_ROLLOUT_TIES_H
#define VPD_FILES_ROLLOUT_TIES_H

#include "files/rollout_file.h"
#include "nn/device.h"

// Finds owners that the file lacks: the present particle nearest in position and colour, with the same label if both
// have labels. Owners in the file are kept.
Status rollout_tie(RolloutFile *file, Device *device, Error *err);

// Median support radius of the present particles in metres; 0 without radii.
double rollout_median_radius(const RolloutFile *file);

#endif
