// SPDX-License-Identifier: Apache-2.0
// The rigid motion that takes one set of points nearest to another, in the least squares (Horn, Closed-form solution of
// absolute orientation using unit quaternions, 1987).
#ifndef VPD_BODIES_RIGID_MOTION_H
#define VPD_BODIES_RIGID_MOTION_H

#include "nn/real.h"

#include <stddef.h>

// y = rotation (x - from) + to
typedef struct RigidMotion {
    double rotation[9]; // row by row
    double from[3], to[3];
} RigidMotion;

// `from` and `to` (count, 3), count > 0. Of several best rotations (points on a line, one point), one of them.
RigidMotion rigid_motion_fit(size_t count, const real *from, const real *to);
void rigid_motion_apply(const RigidMotion *motion, const real x[3], real y[3]);
void rigid_motion_rotate(const RigidMotion *motion, real direction[3]);

#endif
