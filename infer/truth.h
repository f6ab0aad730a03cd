// SPDX-License-Identifier: Apache-2.0
// Where the particles of a rollout would be if they moved as the recording says.
#ifndef VPD_INFER_TRUTH_H
#define VPD_INFER_TRUTH_H

#include "base/log.h"
#include "base/options.h"
#include "datasets/dataset.h"
#include "files/rollout_file.h"

// A copy of the rollout in which the particles of each object (by label) follow its true poses, and the others stand
// still. It has no more steps than the recording has frames for. Data without poses of objects, particles without
// labels and an edited rollout are STATUS_BAD_INPUT. Free *out with rollout_file_free.
Status truth_of_rollout(const RolloutFile *rollout, const EpisodeInfo *info, RolloutFile *out, Error *err);

// Numbers of an episode's objects from 0 on; those that are asked for may be negative, and count from behind: -1 is the
// last. A number that no object has is STATUS_BAD_INPUT.
Status truth_objects(const EpisodeInfo *info, const IntList *asked, IntList *out, Error *err);

// The bodies of these objects (numbers as above) move in the coming steps as the recording says, as far as it goes. Of
// an object that has no particles nothing is known: a warning says so. Data without poses of objects, particles without
// labels or bodies, and a number that no object has are STATUS_BAD_INPUT.
Status truth_drive(const EpisodeInfo *info, const IntList *objects, RolloutFile *rollout, const Log *log, Error *err);

#endif
