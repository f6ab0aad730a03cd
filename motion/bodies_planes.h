// SPDX-License-Identifier: Apache-2.0
// The large planes of what stands still in a frame, such as floor and walls: things stand out of them. Host memory.
#ifndef VPD_MOTION_BODIES_PLANES_H
#define VPD_MOTION_BODIES_PLANES_H

#include "encoder/unproject.h"

enum { PLANES_MOST = 8 };

typedef struct Planes {
    size_t count;
    double normal[PLANES_MOST][3], offset[PLANES_MOST]; // normal . x = offset, metres
    double within[PLANES_MOST];                         // metres: what is so near to a plane belongs to it
} Planes;

// From the points of a cloud without a flag.
Planes planes_find(const PointCloud *cloud, double extent);
// Whether there are planes, and x lies in none of them.
bool planes_outside(const Planes *planes, const real *x);

#endif
