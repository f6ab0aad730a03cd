// SPDX-License-Identifier: Apache-2.0
// Bodies do not go into surfaces that stand still, or into each other (docs/model.md, "The motion of a body").
#ifndef VPD_BODIES_OUTSIDE_H
#define VPD_BODIES_OUTSIDE_H

#include "bodies/body_inputs.h"

// Of some patches the one nearest to x whose plane is within reach, and the distance from that plane, negative behind
// it; NULL: none. *sign turns its normal to the side of the middle of x's body.
const SurfacePatch *surface_near(size_t count, const SurfacePatch *patches, const real *middle, const real *x,
                                 real reach, real *distance, real *sign);

// Changes the motions (bodies): apart where two that have a hull would be deeper in each other than they are, each by
// half; then along the normals of surfaces, until no node or point of a hull is deeper behind one than it is, or than
// three times the median roughness of the patches.
void bodies_stay_outside(const BodySet *set, const BodyScales *scales, RigidMotion *motion);

#endif
