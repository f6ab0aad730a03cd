// SPDX-License-Identifier: Apache-2.0
// The large planes of what stands still in a frame, such as floor and walls: things stand out of them. Host memory.
#ifndef VPD_MOTION_BODIES_PLANES_H
#define VPD_MOTION_BODIES_PLANES_H

#include "base/vector.h"
#include "encoder/unproject.h"

enum { PLANES_MOST = 8 };

typedef struct Plane {
    double normal[3], offset; // normal . x = offset, metres
    double within;            // metres: what is so near to the plane belongs to it
} Plane;

typedef struct Planes {
    size_t count;
    Plane plane[PLANES_MOST];
} Planes;

// From the points of a cloud without a flag.
Planes planes_find(const PointCloud *cloud, double extent);
// The number of the first plane that x belongs to; -1: none.
int32_t planes_of(const Planes *planes, const real *x);

// Whether there are planes, and x belongs to none of them.
static inline bool planes_outside(const Planes *planes, const real *x) {
    return planes->count > 0 && planes_of(planes, x) < 0;
}

// Metres above a plane, in the direction of its normal.
static inline double plane_height(const Plane *plane, const double x[3]) {
    return vector_dot(plane->normal, x) - plane->offset;
}

#endif
