// SPDX-License-Identifier: Apache-2.0
// The motion seen in the input: how far some hundred points of a frame move in one input time step (docs/model.md,
// "Scene flow"). A value in host memory, which rollout files store, edits change and training caches on disk.
#ifndef VPD_MOTION_MOTION_FIELD_H
#define VPD_MOTION_MOTION_FIELD_H

#include "base/error.h"
#include "nn/real.h"

#include <stddef.h>

// Starts as {0}: no motion known. An observation's field has points of its last frame and their displacement since the
// frame before. Near point j, the motion at x is motion_j + gradient_j (x - position_j).
typedef struct MotionField {
    size_t count;
    real *position; // (count, 3) metres, world
    real *colour;   // (count, 3) rgb in [0,1]
    real *motion;   // (count, 3) metres per input time step
    real *gradient; // (count, 9) d motion / d position, row-major; 0 without registration
    real *body;     // (count) number of the body it belongs to, from 0; -1: it stands still
    real *mirrored; // (count) 1: no camera sees it; it is the mirror image of a point of its body (motion/mirror.h)
} MotionField;

enum { MOTION_FIELD_WIDTH = 20 }; // numbers per point

// A field whose arrays follow each other in `memory` (count, MOTION_FIELD_WIDTH).
MotionField motion_field_in(real *memory, size_t count);

// `count` points, all numbers 0, in one block that begins at `position`. *out is overwritten, not freed.
Status motion_field_create(size_t count, MotionField *out, Error *err);
void motion_field_free(MotionField *field); // accepts {0}
// Copies the points of `from` to the first ones of `to`, which has as many or more.
void motion_field_put(const MotionField *from, MotionField *to);
// The body at x, whose colour is c: that of the nearest point of a body that is seen, where rgb counts as
// `colour_length` metres; -1 if nothing moves.
int motion_field_body(const MotionField *field, double colour_length, const double x[3], const real c[3]);
// Where x was one time step ago if it belongs to this body, by the body's point nearest to x.
void motion_field_before(const MotionField *field, int body, const double x[3], double before[3]);
// A copy in its own memory. *out is overwritten, not freed.
Status motion_field_copy(const MotionField *from, MotionField *out, Error *err);

#endif
