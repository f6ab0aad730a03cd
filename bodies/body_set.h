// SPDX-License-Identifier: Apache-2.0
// The moving bodies of one or more scenes ("windows"), as points on their surfaces at two times, and what stands around
// them. Windows do not see each other: many of them are one batch. Host memory, which grows and is kept.
#ifndef VPD_BODIES_BODY_SET_H
#define VPD_BODIES_BODY_SET_H

#include "base/error.h"
#include "bodies/rigid_motion.h"

// A piece of a surface that stands still: the plane through `position`, as far as `radius` from it.
typedef struct SurfacePatch {
    real position[3], normal[3]; // metres; a unit vector, away from the solid
    real radius;                 // metres; INFINITY: a whole plane
} SurfacePatch;

// Starts as {0}. The nodes of a body, the bodies of a window and its patches follow each other.
typedef struct BodySet {
    size_t windows, bodies, nodes, patches;
    size_t *first_body, *first_patch; // (windows + 1)
    size_t *first_node;               // (bodies + 1)
    real *before, *now;               // (nodes, 3) metres: one time step ago, and at present
    SurfacePatch *patch;              // (patches)
    size_t room[4];                   // for windows, bodies, nodes, patches
} BodySet;

void body_set_free(BodySet *set); // accepts {0}
void body_set_clear(BodySet *set);

// A window without bodies and patches; what is added then belongs to it.
Status body_set_add_window(BodySet *set, Error *err);
// A body of `count` > 0 points whose positions the caller fills in at rows *row, ...
Status body_set_add_body(BodySet *set, size_t count, size_t *row, Error *err);
Status body_set_add_patch(BodySet *set, SurfacePatch patch, Error *err);

// The present becomes the past, and body b moves by motion[b] (bodies).
void body_set_move(BodySet *set, const RigidMotion *motion);

#endif
