// SPDX-License-Identifier: Apache-2.0
// What the motion in each training episode depends on, for train/motion_cache.h.
#ifndef VPD_TRAIN_MOTION_EPISODES_H
#define VPD_TRAIN_MOTION_EPISODES_H

#include "train/motion_cache.h"
#include "train/train_data.h"

// One for each episode of the data set, malloc'ed; those that are not trained on have no frames. An episode's hash
// covers all that its file says of it but the pixels, its input views, and size and time of modification of the file.
// It knows nothing of the file's name and of other episodes, unless these are the same in all that: then names of files
// in the data set tell them apart.
Status motion_episodes(const TrainData *data, MotionEpisode **out, Error *err);

#endif
