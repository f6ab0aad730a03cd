// SPDX-License-Identifier: Apache-2.0
// Bodies among the points of a motion field: which points move as one, and how each body moved in the last time step.
// First the field's points are linked where each one's motion predicts the other's; then each body is registered as a
// whole, with all pixels that show it in the last two frames. Host memory.
#ifndef VPD_MOTION_BODIES_H
#define VPD_MOTION_BODIES_H

#include "encoder/unproject.h"
#include "motion/motion_field.h"

#include <stdint.h>

// A body whose points' mean is c now: a point at x was at R' (x - c) + c - t one time step before.
typedef struct Body {
    size_t count;   // points of the field
    real centre[3]; // c, metres
    real turn[9];   // R, row by row
    real shift[3];  // t, metres
    real residual;  // of the last registration, metres; 0 without one
    size_t pixels;  // that it was registered with
    bool bends;     // several motions that agree where they meet
} Body;

// Where a point of the body at x was one time step before.
void body_place_before(const Body *body, const real *x, double before[3]);

// Starts as {0}.
typedef struct Bodies {
    size_t points, count;
    int32_t *body; // (points) index in `list`, -1: of none
    Body *list;
} Bodies;

typedef struct BodyLengths {
    double extent;        // X, metres
    double colour_length; // lc, metres per unit of rgb
} BodyLengths;

void bodies_free(Bodies *bodies); // accepts {0}

// Number count / 2 of the sorted values; moves them. 0 without any.
double bodies_median(double *values, size_t count);

// *out is overwritten, not freed.
Status bodies_find(const MotionField *field, BodyLengths lengths, Bodies *out, Error *err);

enum { BODIES_RESTING = 32 }; // at most

// Registers each body with the moving points of the last frame and of the one before. body (now->count): the body of
// each point of the last frame, or -1. Numbers from bodies->count on are those of bodies at rest, BODIES_RESTING at
// most.
Status bodies_register(const MotionField *field, const PointCloud *now, const PointCloud *past, BodyLengths lengths,
                       Bodies *bodies, int32_t *body, Error *err);

// Gives each of the field's first bodies->points points the number of its body, or -1, and all points the motion of
// their body; none to those of no body, or of one at rest, whose numbers begin at bodies->count.
void bodies_put(const Bodies *bodies, MotionField *field);

#endif
