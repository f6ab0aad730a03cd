// SPDX-License-Identifier: Apache-2.0
// What no camera sees of a body (docs/model.md, "Mirror images"): the mirror image of what is seen of it, if it is
// symmetric about a point. Silhouettes tell the point, and what is seen through the image refutes it. Host memory.
#ifndef VPD_MOTION_MIRROR_H
#define VPD_MOTION_MIRROR_H

#include "encoder/unproject.h"
#include "motion/motion_field.h"

#include <stdint.h>

// Adds mirror images of the field's points of bodies behind all others, each with its body's motion. `now`: the points
// of the observation's last frame, body (now->count): the body of each, or -1; extent: X, metres.
Status mirror_add(const Observation *observation, const PointCloud *now, const int32_t *body, double extent,
                  MotionField *field, Error *err);

#endif
