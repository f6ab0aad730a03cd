// SPDX-License-Identifier: Apache-2.0
// The moving bodies of one or more scenes ("windows"), as points on their surfaces at two times, and what stands around
// them. Windows do not see each other: many of them are one batch. Host memory, which grows and is kept.
#ifndef VPD_BODIES_BODY_SET_H
#define VPD_BODIES_BODY_SET_H

#include "base/error.h"
#include "bodies/rigid_motion.h"

// A piece of a surface that stands still: the plane through `position`, as far as `radius` from it. The solid is on the
// side away from the body that looks at it.
typedef struct SurfacePatch {
    real position[3], normal[3]; // metres; a unit vector of either sign
    real radius;                 // metres; INFINITY: a whole plane
    real rough;                  // of its points: their root mean square distance from a plane, metres
} SurfacePatch;

// Starts as {0}. The nodes of a body, its hull, the bodies of a window and its patches follow each other.
typedef struct BodySet {
    size_t windows, bodies, nodes, hulls, patches;
    size_t *first_body, *first_patch; // (windows + 1)
    size_t *first_node;               // (bodies + 1)
    real *before, *now;               // (nodes, 3) metres: one time step ago, and at present
    real *normal;                     // (nodes, 3) of the body's surface, outwards
    size_t *first_hull;               // (bodies + 1)
    const RigidMotion **given;        // (bodies) how a body moves that is driven; NULL: it is free
    real *hull;          // (hulls, 3) metres, at present: more points that surfaces hold, not seen or not nodes
    SurfacePatch *patch; // (patches)
    size_t room[5];      // for windows, bodies, nodes, hulls, patches
} BodySet;

void body_set_free(BodySet *set); // accepts {0}
void body_set_clear(BodySet *set);

// A window without bodies and patches; what is added then belongs to it.
Status body_set_add_window(BodySet *set, Error *err);
// A body of `count` > 0 points whose positions the caller fills in at rows *row, ..; normals are 0.
Status body_set_add_body(BodySet *set, size_t count, size_t *row, Error *err);
// More points (count, 3) of the body that was added last.
Status body_set_add_hull(BodySet *set, size_t count, const real *point, Error *err);
// At most BODY_PATCHES for each window.
Status body_set_add_patch(BodySet *set, SurfacePatch patch, Error *err);

enum { BODY_NODES = 32, BODY_PATCHES = 512 };

// A body given by `count` > 0 points of its surface, now and one time step ago. At most BODY_NODES of them, as far from
// each other as possible, become its nodes; node n is point chosen[n] (BODY_NODES; may be NULL).
Status body_set_add_points(BodySet *set, size_t count, const real *now, const real *before, size_t *chosen, Error *err);
// At most BODY_NODES of these points, as far from each other as possible, become hull of the body that was added last.
Status body_set_add_spread(BodySet *set, size_t count, const real *point, Error *err);
// Patches at the first BODY_PATCHES of `count` points of surfaces that stand still, which should be in random order. A
// patch is the plane through the points near it.
Status body_set_add_surface(BodySet *set, size_t count, const real *point, Error *err);

// The present becomes the past, and body b moves by motion[b] (bodies).
void body_set_move(BodySet *set, int threads, const RigidMotion *motion);

#endif
