// SPDX-License-Identifier: Apache-2.0
// Pixels of a frame that may show moving bodies, as points with normals in a grid (motion/bodies.h). Host memory.
#ifndef VPD_MOTION_BODIES_SURFACE_H
#define VPD_MOTION_BODIES_SURFACE_H

#include "motion/bodies.h"
#include "motion/bodies_planes.h"
#include "nn/choose.h"

#define SURFACE_COLOUR 0.1 // of the colour length: shading does not move with a body
#define SURFACE_CELL 0.015 // times X, at least

// Points `first` to `last` - 1 of a grid's order: those of a cell and of the two beside it in x. last 0: an empty slot.
typedef struct Run {
    uint64_t key; // of the cell in the middle
    int32_t first, last;
} Run;

// Pixels of a frame that move or are near to such, in a grid.
typedef struct Surface {
    size_t count, first_still; // moving ones come first
    size_t all;                // with those that are left out of the search, which come last: only x, c and pixel
    real *x, *c, *normal;      // (count, 3); colours in metres
    double *flat;              // (count) 0 to 1: how flat the surface is there
    int32_t *label, *pixel;    // (count)
    bool *outside;             // (count) of the planes of what stands still
    Keyed *order;              // (count) points sorted by cell, and by index in a cell
    double *row;               // (count, 6) x and c in that order
    Run *run;                  // (runs) hash table of cells with points in them or beside them in x
    size_t runs;               // a power of two
    double cell;
} Surface;

Surface surface_make(size_t most);          // of points
bool surface_ready(const Surface *surface); // there was memory
void surface_free(Surface *surface);
// Moving pixels of a cloud, then others that are near to them or outside the planes, and their normals. Where many lie
// in one cell some are left out.
void surface_fill(Surface *surface, const PointCloud *cloud, const Planes *planes, BodyLengths lengths);
// Sorts the points into cells of this edge.
void surface_grid(Surface *surface, double cell);

// The 27 cells around a place are nine runs, numbered by z, then y. Their points, or NULL if there are none.
enum { RUNS = 9, RUN_MIDDLE = 4 };
typedef struct Around {
    int64_t cell[3];
    uint64_t key;
} Around;

Around surface_around(const Surface *surface, const real *x);
const Run *surface_run(const Surface *surface, const Around *around, int number);

// Goes through the points of the 27 cells around a place:
//   for (Walk w = walk_begin(s, x); walk_next(&w);) .. w.index
typedef struct Walk {
    const Surface *s;
    Around around;
    int next; // run
    int32_t at, last, index;
} Walk;

static inline Walk walk_begin(const Surface *s, const real *x) {
    return (Walk){.s = s, .around = surface_around(s, x)};
}

// False at the end.
static inline bool walk_next(Walk *w) {
    while (w->at == w->last) {
        if (w->next == RUNS) return false;
        const Run *run = surface_run(w->s, &w->around, w->next++);
        if (run) w->at = run->first, w->last = run->last;
    }
    w->index = w->s->order[w->at++].index;
    return true;
}

static inline double squared(double x) { return x * x; }

// The squared distance of two points in position and colour.
static inline double surface_apart2(const Surface *s, size_t i, size_t j) {
    return squared_distance(s->x + 3 * i, s->x + 3 * j) + squared_distance(s->c + 3 * i, s->c + 3 * j);
}

#endif
