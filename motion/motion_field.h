// SPDX-License-Identifier: Apache-2.0
// Motion that was seen: at some hundred points of a frame, how far each moves in one input time step (docs/model.md,
// "Scene flow"). A value in host memory: rollout files hold it, edits move it, training keeps it on disk.
#ifndef VPD_MOTION_MOTION_FIELD_H
#define VPD_MOTION_MOTION_FIELD_H

#include "base/error.h"
#include "nn/real.h"

#include <stddef.h>

// Starts as {0}: nothing was seen. The field of an observation stands at points of its last frame, and motion is what
// brought them there from the frame before. Around point j, motion at x is motion_j + gradient_j (x - position_j).
typedef struct MotionField {
    size_t count;
    real *position; // (count, 3) metres, world
    real *colour;   // (count, 3) rgb in [0,1]
    real *motion;   // (count, 3) metres per input time step
    real *gradient; // (count, 9) d motion / d position, row by row; 0 without registration
} MotionField;

enum { MOTION_FIELD_WIDTH = 18 }; // numbers of a point

// `count` points with all numbers 0, in one block of memory that begins at `position`. *out is overwritten, not freed.
Status motion_field_create(size_t count, MotionField *out, Error *err);
void motion_field_free(MotionField *field); // accepts {0}
// All of it in memory of its own. *out is overwritten, not freed.
Status motion_field_copy(const MotionField *from, MotionField *out, Error *err);

#endif
