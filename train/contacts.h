// SPDX-License-Identifier: Apache-2.0
// How much the motion of bodies changes at each frame, from scene flow: bodies that meet something. Training draws
// start frames by it (train.contact_starts), as contact is rare and what is hard to learn.
#ifndef VPD_TRAIN_CONTACTS_H
#define VPD_TRAIN_CONTACTS_H

#include "train/motion_cache.h"
#include "train/train_data.h"

// Fills the episodes' `contacts` from the motion of every frame, which stays in the cache. Does nothing where
// train.contact_starts is 0.
Status contacts_measure(TrainData *data, Tape *tape, const Vpd *model, MotionCache *cache, const Log *log, Error *err);

// Sum over the points of `now` that move of |u - u'|^2, u' the motion of the point of `before` that came nearest: m^2.
double contacts_between(const MotionField *before, const MotionField *now);

#endif
