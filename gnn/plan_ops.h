// SPDX-License-Identifier: Apache-2.0
// The small gradient-free loops that a plan is made of (gnn/plan.c), on device memory.
#ifndef VPD_GNN_PLAN_OPS_H
#define VPD_GNN_PLAN_OPS_H

#include "gnn/edges.h"

// out[list[i]] = x[i], rows of 3.
typedef struct PlanScatterArgs {
    size_t count;
    const int32_t *list;
    const real *x;
    real *out;
} PlanScatterArgs;

// The one-hot mark of time t and the moving flag: out (count, stride).
typedef struct PlanMarkArgs {
    size_t count, stride, t;
    const real *m; // (count) or NULL; written to the last column
    bool has_flag;
    real *out;
} PlanMarkArgs;

// count[o] = edges that end in o; log_count[o * stride + column] = log(1 + count).
typedef struct PlanCountArgs {
    GnnEdges edges;
    int32_t *count;
    real *log_count;
    size_t stride, column;
} PlanCountArgs;

// Rows of two neighbour lists side by side; the second goes through `list` (entries of -1 stay).
typedef struct PlanJoinArgs {
    size_t rows, ka, kb;
    const int32_t *a, *b, *list;
    int32_t *out; // (rows, ka + kb)
} PlanJoinArgs;

// out[q] (k) = the first k of near[q] whose v differs from v_q by at least `least`, -1 where there are fewer.
typedef struct PlanContactArgs {
    size_t nodes, looked, k;
    const int32_t *near;  // (nodes, looked)
    const real *v;        // (nodes, 3)
    const real *x, *spin; // (nodes, 3) each
    real least;
    int32_t *out; // (nodes, k)
} PlanContactArgs;

// logit = -distance2 / (2 width^2)
typedef struct PlanLogitArgs {
    size_t count;
    const real *distance2;
    real width;
    real *logit;
} PlanLogitArgs;

// The rigid motion fitted to how the particles around each node moved, with weights P = softmax over a particle's edges
// of logit, its rotation damped: v_a is its velocity at x_a; 0 where the weights sum to less than 1e-6.
typedef struct PlanCarryArgs {
    GnnEdges edges;       // particles are groups, nodes the other ends
    const real *logit;    // (rows)
    const real *x, *past; // (groups, 3)
    const real *node;     // (others, 3) x_a
    real damping;         // m^2
    real *v, *spin;       // (others, 3) each
} PlanCarryArgs;

// Rows list[i] of spin (.., 3) = the rotation in a gradient of motion g (count, 9).
typedef struct PlanSpinArgs {
    size_t count;
    const int32_t *list;
    const real *g;
    real *spin;
} PlanSpinArgs;

// Rows list[i] of extra (.., 8) = [v/s (3), off/ell (3), |off|/ell, m], off = mean[i] - x_a shortened to 3 ell.
typedef struct PlanExtraArgs {
    size_t count;
    const int32_t *list; // (count) nodes
    const real *mean;    // (count, 3), or NULL: off = 0
    const real *x;       // (nodes, 3)
    const real *v;       // (nodes, 3) or NULL: 0
    real m, ell, s;
    real *extra;
} PlanExtraArgs;

// Bodies of particles that move: neighbours are joined where each moves as the other's motion would carry it, but for
// less than `least`. body[i]: the smallest row of i's body. -1 ends a row of neighbours, here and below.
typedef struct PlanBodiesArgs {
    size_t count, k;
    const int32_t *near;      // (count, k)
    const real *x, *w, *turn; // (count, 3) metres, metres per frame, radians per frame
    real least;               // metres per frame
    int32_t *body;            // (count)
} PlanBodiesArgs;

// Of the `looked` nearest of each particle (-1: no more) the first k of its own body, filled up with the particle
// itself, and the first of another body of at least `fewest` that has at least `plane` of its own body near it (-1:
// none).
typedef struct PlanSidesArgs {
    size_t count, looked, k, fewest, plane;
    const int32_t *near; // (count, looked)
    const int32_t *body; // (count)
    int32_t *other;      // (count)
    int32_t *own;        // (count, k)
} PlanSidesArgs;

// Where a body will soonest meet what its particles have for a target, a plane: with n the normal turned towards the
// mean of the body, d = x_j - target, w = w_j - target_w: gap = d . n, left = gap + w . n; of the particles with |d + w
// - left n| <= reach (which then lie within `reach` of the target along the plane) the one of least `left` is taken,
// ties by smaller row. Rows list[i] of out, from `column` on =
// [(x_j - x_a)/ell (3), n (3), gap/ell, left/s, |d - gap n|/ell, w/s (3)], gap and left within 3 ell of 0,
// the distance along the plane at most 3 ell. Where there is no such particle: 0, but gap and left, which are 3 ell.
typedef struct PlanMeetArgs {
    size_t count, particles, stride, column;
    const int32_t *list;  // (count) nodes
    const int32_t *row;   // (count) their particles
    const real *nodes;    // (.., 3)
    const int32_t *body;  // (particles) the smallest row of each one's body
    const real *x, *w;    // (particles, 3): metres, metres per frame
    const int32_t *meets; // (particles) row of each particle's target, -1 none; NULL: its own
    const real *target;   // (.., 3); NULL: there is none
    const real *normal;   // (.., 3), of either sign
    const real *target_w; // (.., 3); NULL: 0
    real ell, s, reach;   // metres
    real *out;
} PlanMeetArgs;

// out[i] = what the motion of particle list[i]'s nearest node that moves, v + spin x (x - x_a), gives at x_i; turn[i] =
// that spin. Where none of its nodes moves, the nearest counts.
typedef struct PlanMotionArgs {
    size_t count;
    const int32_t *list;  // (count) particles
    GnnEdges edges;       // groups: particles; other ends: nodes, nearest first
    const real *x;        // (count, 3) of the listed
    const real *node;     // (.., 3)
    const real *m;        // (..) moving flags of nodes
    const real *v, *spin; // (.., 3) of nodes
    real *out, *turn;     // (count, 3)
} PlanMotionArgs;

// Mean over channels of the standard deviation over nodes.
typedef struct PlanSpreadArgs {
    size_t nodes, channels;
    const real *h;
    real *spread; // (1)
} PlanSpreadArgs;

#endif
