// SPDX-License-Identifier: Apache-2.0
// Bodies do not go into surfaces that stand still, or into each other (docs/model.md, "The motion of a body").
#ifndef VPD_BODIES_OUTSIDE_H
#define VPD_BODIES_OUTSIDE_H

#include "bodies/body_inputs.h"

// The patches of a window that the points of one body may be near to. Their normals point to the side of the middle.
typedef struct NearPatches {
    size_t count;
    SurfacePatch patch[BODY_PATCHES];
    real reach;  // in front of them, metres
    bool behind; // a point may be behind a patch
} NearPatches;

// Of a body with this middle, whose points are within `radius` of `centre`.
void surfaces_about(const BodySet *set, size_t window, const real *middle, const real *centre, double radius,
                    real reach, NearPatches *out);
// The patch nearest to x whose plane is within reach, and the distance from that plane, negative behind it; NULL: none,
// and the distance is `reach`.
const SurfacePatch *surface_near(const NearPatches *near, const real *x, real *distance);

// Changes the motions (bodies) of those that are free: apart where two that have a hull would be deeper in each other
// than they are, each by half; then along the normals of surfaces, until no node or point of a hull is deeper behind
// one than it is, or than three times the median roughness of the patches.
void bodies_stay_outside(const BodySet *set, const BodyScales *scales, int threads, RigidMotion *motion);

#endif
