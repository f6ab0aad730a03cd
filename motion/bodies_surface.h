// SPDX-License-Identifier: Apache-2.0
// Pixels of a frame that may show moving bodies, as points with normals in a grid (motion/bodies.h). Host memory.
#ifndef VPD_MOTION_BODIES_SURFACE_H
#define VPD_MOTION_BODIES_SURFACE_H

#include "motion/bodies.h"

#define SURFACE_COLOUR 0.1 // of the colour length: shading does not move with a body
#define SURFACE_CELL 0.015 // times X

// Pixels of a frame that move or are near to such, in a grid.
typedef struct Surface {
    size_t count, first_still; // moving ones come first
    real *x, *c, *normal;      // (count, 3); colours in metres
    double *flat;              // (count) 0 to 1: how flat the surface is there
    int32_t *label, *pixel;    // (count)
    int32_t *bucket, *next;    // (buckets), (count): lists of the grid's cells; -1 ends one
    uint64_t *key;             // (count) the point's cell
    size_t buckets;
    double cell;
} Surface;

Surface surface_make(size_t most);          // of points
bool surface_ready(const Surface *surface); // there was memory
void surface_free(Surface *surface);
// Moving pixels of a cloud, then others near to them, and their normals.
void surface_fill(Surface *surface, const PointCloud *cloud, BodyLengths lengths);

// Goes through the points of the 27 cells around a place:
//   for (Walk w = walk_begin(s, x); walk_next(&w);) .. w.index
typedef struct Walk {
    const Surface *s;
    int64_t cell[3];
    int step;
    int32_t index;
    uint64_t at;
} Walk;

Walk walk_begin(const Surface *surface, const real *x);
bool walk_next(Walk *walk); // false at the end

static inline double squared(double x) { return x * x; }

static inline double gap2(const real *a, const real *b) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += squared((double)a[c] - (double)b[c]);
    return sum;
}

#endif
