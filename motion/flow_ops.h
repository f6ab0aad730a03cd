// SPDX-License-Identifier: Apache-2.0
// Arguments of the scene-flow kernels (motion/flow.c); all arrays are in device memory. A motion is a row of
// RIGID_MOTION numbers, about the position of its query (motion/rigid.h).
#ifndef VPD_MOTION_FLOW_OPS_H
#define VPD_MOTION_FLOW_OPS_H

#include "nn/device.h"

#include <stddef.h>

// out[p] = surface normal: the unit direction of least extent of the k neighbours of point p, including itself.
typedef struct FlowNormalsArgs {
    size_t count, k;
    const int32_t *index; // (count, k); -1 ends a row
    const real *x;        // (.., 3)
    real *out;            // (count, 3)
} FlowNormalsArgs;

// out[q * pairs + j] = x[q * pairs + j] moved by the motion of query of[q].
typedef struct FlowPlaceArgs {
    size_t queries, pairs;
    const int32_t *of; // (queries), with stride `of_stride`; NULL: q itself
    size_t of_stride;
    const real *motion; // (queries, 12)
    const real *centre; // (queries, 3)
    const real *x;      // (queries * pairs, 3)
    real *out;          // (queries * pairs, 3)
} FlowPlaceArgs;

// Gathers window points: out[q * pairs + j] = scale value[index[q * k + j * every]], rows of 3.
typedef struct FlowPairPointsArgs {
    size_t queries, k, every, pairs; // pairs <= (k + every - 1) / every
    const int32_t *index;            // (queries, k), no entry is -1
    const real *value;               // (.., 3)
    real scale;
    real *out; // (queries * pairs, 3)
} FlowPairPointsArgs;

// Window points at their moved positions, and the nearest points of the target surface.
typedef struct FlowPairs {
    size_t queries, pairs;
    const real *place;                  // (queries * pairs, 3)
    const int32_t *match;               // (queries * pairs)
    const real *distance2;              // (queries * pairs)
    const real *target;                 // (.., 3)
    const real *normal;                 // (.., 3)
    double plane_scale, distance_scale; // metres
} FlowPairs;

// One Gauss-Newton step of each motion, with pairs weighted by the square of their fit.
typedef struct FlowStepArgs {
    FlowPairs pairs;
    double point, damping; // weight of point-to-point distance; m^2
    const real *centre;    // (queries, 3)
    real *motion;          // (queries, 12)
} FlowStepArgs;

// Sets `best` and `chosen` for queries whose mean fit is larger than *best.
typedef struct FlowVoteArgs {
    FlowPairs pairs;
    const int32_t *of; // (queries), with stride `of_stride`: the query whose motion was tried
    size_t of_stride;
    real *best;      // (queries) the largest mean fit so far
    int32_t *chosen; // (queries)
} FlowVoteArgs;

// out[q] = the motion of query of[q], about the centre of q.
typedef struct FlowAdoptArgs {
    size_t queries;
    const int32_t *of;
    const real *centre, *motion;
    real *out;
} FlowAdoptArgs;

// With from_u: motion[q] = no rotation, t = from_u[q]. Without it: u[q] = t, g[q] = R - 1.
typedef struct FlowMotionArgs {
    size_t queries;
    const real *from_u; // (queries, 3) or NULL
    real *motion;       // (queries, 12); read when from_u is NULL
    real *u, *g;        // (queries, 3), (queries, 9)
} FlowMotionArgs;

#endif
