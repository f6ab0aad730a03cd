// SPDX-License-Identifier: Apache-2.0
// Measures contact from scene flow: how much the motion of bodies changes at each frame. Training draws start frames
// with these weights (train.contact_starts), because contact is rare and hard to learn.
#ifndef VPD_TRAIN_CONTACTS_H
#define VPD_TRAIN_CONTACTS_H

#include "train/motion_cache.h"
#include "train/train_data.h"

// Fills the episodes' `contacts` from the motion of every frame, which is then in the cache. Does nothing if
// train.contact_starts is 0.
Status contacts_measure(TrainData *data, Tape *tape, const Vpd *model, MotionCache *cache, const Log *log, Error *err);

// Sum over the moving points of `now` of |u - u'|^2 in m^2, where u' is the motion of the moving point of `before` that
// arrived nearest to it.
double contacts_between(const MotionField *before, const MotionField *now);

#endif
