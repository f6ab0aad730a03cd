// SPDX-License-Identifier: Apache-2.0
// The bodies of an observation's field (motion/observe.h), and points of what stands still beside them. Host memory.
#ifndef VPD_MOTION_OBSERVE_BODIES_H
#define VPD_MOTION_OBSERVE_BODIES_H

#include "encoder/unproject.h"
#include "motion/observe.h"

// Most points of a field that stand still, of no body; and most that are added for bodies.
enum { MOTION_STILL_POINTS = 512, MOTION_BODY_POINTS = 512 };

// Gives each point of a field of the last frame the number and the motion of its body (-1 and 0: it stands still). The
// frame's flags become those of bodies. Points of that frame follow, those with the smallest keys: some that do not
// move, hidden ones (motion/hidden.h) among them, and some of bodies, so that each body has as many. Mirror images of
// points of bodies come last (motion/mirror.h). Then a light is searched (motion/light.h).
Status observe_bodies(Tape *tape, const MotionOptions *options, RandomKey key, const Observation *observation,
                      PointCloud *now, const PointCloud *past, MotionSeen *seen, Error *err);

#endif
