// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_LAB_HULL_H
#define VPD_LAB_HULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HULL_POINTS = 64, HULL_TRIANGLES = 2 * HULL_POINTS };

typedef struct Hull {
    size_t corners, triangles; // 0: the points lie in a plane, or there are fewer than 4
    double corner[HULL_POINTS][3];
    int32_t triangle[HULL_TRIANGLES][3]; // outwards: a closed surface
} Hull;

// The convex hull of points (count,3). It begins as a tetrahedron and grows by the point that is farthest outside,
// until it has HULL_POINTS corners or no point is outside by more than a 500th of the points' extent.
void hull_make(const double *x, size_t count, Hull *out);
// Whether x is inside.
bool hull_holds(const Hull *hull, const double x[3]);
// Halves the longest edge until all are below `length` or there are HULL_POINTS corners.
void hull_refine(Hull *hull, double length);

#endif
