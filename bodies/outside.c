// SPDX-License-Identifier: Apache-2.0
#include "bodies/outside.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3 };                 // bodies and surfaces that a body may meet at once
static const double ROUGHNESSES = 3; // so deep behind a surface a point may be by the noise of its depth

// ---- surfaces

static double height_above(const SurfacePatch *patch, const real *x) {
    double along = 0;
    for (int c = 0; c < 3; c++) along += (double)((x[c] - patch->position[c]) * patch->normal[c]);
    return along;
}

// The same patch with its normal on the side of the middle.
static SurfacePatch turned_to(const SurfacePatch *patch, const real *middle) {
    SurfacePatch out = *patch;
    bool away = height_above(patch, middle) < 0;
    for (int c = 0; c < 3 && away; c++) out.normal[c] = -patch->normal[c];
    return out;
}

void surfaces_about(const BodySet *set, size_t window, const real *middle, const real *centre, double radius,
                    real reach, NearPatches *out) {
    out->reach = reach, out->count = 0, out->behind = false;
    radius *= 1.0001; // rounding
    for (size_t p = set->first_patch[window]; p < set->first_patch[window + 1]; p++) {
        const SurfacePatch patch = turned_to(&set->patch[p], middle);
        double along = height_above(&patch, centre),
               across = sqrt(fmax(squared_distance(centre, patch.position) - along * along, 0));
        if (across > radius + (double)patch.radius || along - radius >= (double)reach) continue;
        out->patch[out->count++] = patch;
        out->behind = out->behind || along < radius;
    }
}

const SurfacePatch *surface_near(const NearPatches *near, const real *x, real *distance) {
    const SurfacePatch *best = NULL;
    double least = INFINITY;
    *distance = near->reach;
    for (const SurfacePatch *patch = near->patch; patch < near->patch + near->count; patch++) {
        double d2 = squared_distance(x, patch->position), radius = (double)patch->radius;
        if (d2 >= least) continue;
        double along = height_above(patch, x);
        if (d2 - along * along > radius * radius || along >= (double)near->reach) continue;
        least = d2, best = patch, *distance = (real)along;
    }
    return best;
}

// How much deeper than now, and than `slack`, x is behind the nearest surface after the motion.
static double sinks(const NearPatches *near, const RigidMotion *motion, double slack, const real *x, double normal[3]) {
    real next[3], distance;
    rigid_motion_apply(motion, x, next);
    const SurfacePatch *patch = surface_near(near, next, &distance);
    if (!patch || distance >= 0) return 0;
    for (int c = 0; c < 3; c++) normal[c] = (double)patch->normal[c];
    return -(double)distance - fmax(slack, -height_above(patch, x));
}

// ---- other bodies

// A body now, or after a motion.
typedef struct Shape {
    const BodySet *set;
    size_t body;
    const RigidMotion *motion; // NULL: now
    double middle[3], radius;  // of a sphere around it, metres
} Shape;

static void place(const Shape *s, const real *x, double y[3]) {
    real moved[3] = {x[0], x[1], x[2]};
    if (s->motion) rigid_motion_apply(s->motion, x, moved);
    for (int c = 0; c < 3; c++) y[c] = (double)moved[c];
}

// Points of a body: its nodes, then its hull.
static size_t point_count(const BodySet *set, size_t b) {
    return set->first_node[b + 1] - set->first_node[b] + set->first_hull[b + 1] - set->first_hull[b];
}

static const real *point_of(const BodySet *set, size_t b, size_t i) {
    size_t nodes = set->first_node[b + 1] - set->first_node[b];
    return i < nodes ? set->now + 3 * (set->first_node[b] + i) : set->hull + 3 * (set->first_hull[b] + i - nodes);
}

static Shape shape_of(const BodySet *set, size_t b, const RigidMotion *motion) {
    Shape s = {.set = set, .body = b, .motion = motion};
    size_t count = point_count(set, b);
    double y[3], square = 0;
    for (size_t i = 0; i < count; i++) {
        place(&s, point_of(set, b, i), y);
        for (int c = 0; c < 3; c++) s.middle[c] += y[c] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double d2 = 0;
        place(&s, point_of(set, b, i), y);
        for (int c = 0; c < 3; c++) d2 += (y[c] - s.middle[c]) * (y[c] - s.middle[c]);
        square = fmax(square, d2);
    }
    s.radius = sqrt(square);
    return s;
}

// How far a shape goes in a direction.
static double extent(const Shape *s, const double direction[3]) {
    double most = -INFINITY, y[3];
    for (size_t i = 0, count = point_count(s->set, s->body); i < count; i++) {
        place(s, point_of(s->set, s->body, i), y);
        most = fmax(most, vector_dot(direction, y));
    }
    return most;
}

static void try_direction(const Shape *a, const Shape *b, const double direction[3], double *depth, double out[3]) {
    const double back[3] = {-direction[0], -direction[1], -direction[2]};
    double overlap = extent(a, direction) + extent(b, back);
    if (overlap < *depth) *depth = overlap, memcpy(out, direction, 3 * sizeof *out);
}

static void try_normals(const Shape *a, const Shape *b, const Shape *of, double sign, double *depth, double out[3]) {
    for (size_t i = of->set->first_node[of->body]; i < of->set->first_node[of->body + 1] && *depth > 0; i++) {
        real normal[3];
        memcpy(normal, of->set->normal + 3 * i, sizeof normal);
        if (of->motion) rigid_motion_rotate(of->motion, normal);
        const double direction[3] = {sign * (double)normal[0], sign * (double)normal[1], sign * (double)normal[2]};
        if (vector_dot(direction, direction) > 0) try_direction(a, b, direction, depth, out);
    }
}

// How deep the convex hulls of two shapes are in one another, at most; 0 where they are apart. `out`: the direction
// from a to b in which they come apart first, of the normals of both and the line between their middles.
static double depth_of(const Shape *a, const Shape *b, double out[3]) {
    double depth = INFINITY, between[3];
    for (int c = 0; c < 3; c++) between[c] = b->middle[c] - a->middle[c];
    double length = sqrt(vector_dot(between, between));
    if (length >= a->radius + b->radius) return 0;
    for (int c = 0; c < 3 && length > 0; c++) between[c] /= length;
    if (length > 0) try_direction(a, b, between, &depth, out);
    try_normals(a, b, a, 1, &depth, out);
    try_normals(a, b, b, -1, &depth, out);
    return fmax(depth, 0);
}

static void leave_each_other(const BodySet *set, size_t a, size_t b, RigidMotion *motion) {
    double out[3] = {0}, was[3];
    Shape next_a = shape_of(set, a, &motion[a]), next_b = shape_of(set, b, &motion[b]);
    double depth = depth_of(&next_a, &next_b, out);
    if (!(depth > 0) || !isfinite(depth)) return;
    Shape now_a = shape_of(set, a, NULL), now_b = shape_of(set, b, NULL);
    depth -= depth_of(&now_a, &now_b, was);
    for (int c = 0; c < 3 && depth > 0; c++) {
        motion[a].to[c] -= depth / 2 * out[c];
        motion[b].to[c] += depth / 2 * out[c];
    }
}

// ---- a body and what stands still

static int by_size(const void *a, const void *b) {
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

// Surfaces are mostly smooth, so the median roughness is noise of depth.
static double slack_of(const BodySet *set, size_t window) {
    real rough[BODY_PATCHES];
    size_t count = 0;
    for (size_t p = set->first_patch[window]; p < set->first_patch[window + 1]; p++)
        rough[count++] = set->patch[p].rough;
    qsort(rough, count, sizeof *rough, by_size);
    return count ? ROUGHNESSES * (double)rough[(count - 1) / 2] : 0;
}

static void leave_surfaces(const BodySet *set, size_t window, size_t b, real reach, double slack, RigidMotion *motion) {
    Shape shape = shape_of(set, b, motion);
    NearPatches near;
    const real now[3] = {(real)motion->from[0], (real)motion->from[1], (real)motion->from[2]},
               next[3] = {(real)shape.middle[0], (real)shape.middle[1], (real)shape.middle[2]};
    surfaces_about(set, window, now, next, shape.radius, reach, &near);
    double most = near.behind;
    for (int round = 0; round < ROUNDS && most > 0; round++) {
        double out[3] = {0}, normal[3] = {0};
        most = 0;
        for (size_t i = 0, count = point_count(set, b); i < count; i++) {
            double depth = sinks(&near, motion, slack, point_of(set, b, i), normal);
            if (depth > most) most = depth, memcpy(out, normal, sizeof out);
        }
        for (int c = 0; c < 3; c++) motion->to[c] += most * out[c];
    }
}

static bool has_hull(const BodySet *set, size_t b) { return set->first_hull[b + 1] > set->first_hull[b]; }

void bodies_stay_outside(const BodySet *set, const BodyScales *scales, int threads, RigidMotion *motion) {
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (set->windows > 1)
    for (size_t w = 0; w < set->windows; w++) {
        size_t first = set->first_body[w], last = set->first_body[w + 1];
        for (size_t a = first; a < last; a++)
            for (size_t b = a + 1; b < last && has_hull(set, a); b++)
                if (has_hull(set, b) && !set->given[a] && !set->given[b]) leave_each_other(set, a, b, motion);
        double slack = slack_of(set, w);
        for (size_t b = first; b < last; b++)
            if (!set->given[b]) leave_surfaces(set, w, b, scales->reach, slack, &motion[b]);
    }
}
