// SPDX-License-Identifier: Apache-2.0
// The face of a body that is nearest to a particle, by a tree of boxes, and the side on which the particle is. For
// single numbers; the same on CPU and GPU.
//
// Each node of the tree has SIM_BRANCHES children: those of node i are 4i+1 .. 4i+4, and node 0 is the root. Nodes
// groups, groups+1, .. are the body's faces, which lie along a Morton curve; behind the last face they are empty. Its
// sharp edges have a tree of their own, for sim/crossing.h. Group
// i holds the boxes of the children of node i, side by side: low x of the four, low y, low z, high x, high y, high z.
// An empty box has its low corner above its high one.
#ifndef VPD_SIM_NEAREST_H
#define VPD_SIM_NEAREST_H

#include "sim/backend.h"
#include "sim/touch.h"

enum { SIM_STACK = 48 }; // a level leaves three boxes on it, and a body of 2^28 faces has 14 levels

typedef struct SimNearest {
    int32_t face; // of all faces; -1: none
    int on;       // sim_touch_nearest
} SimNearest;

// Whether particles of body a may touch body b of the same scene. What has no inside may touch itself.
SIM_ELEMENT bool sim_may_meet(const SimTouching *t, int32_t a, int32_t b) {
    const SimBody *self = &t->body[a], *other = &t->body[b];
    for (int32_t r = t->apart_of[a]; r < t->apart_of[a + 1]; r++)
        if (t->apart[r] == b) return false;
    if (a == b) return self->faces && !self->closed && self->moves && t->reach > 0;
    return (self->moves || other->moves) && (self->faces || other->faces);
}

// Squared distances to the four boxes of a group; 0 inside, but for rounding.
SIM_ELEMENT void sim_group_squares(const real *group, const real x[3], real square[SIM_BRANCHES]) {
    for (int c = 0; c < SIM_BRANCHES; c++) square[c] = 0;
    for (int i = 0; i < 3; i++) {
        const real *low = group + i * SIM_BRANCHES, *high = low + 3 * SIM_BRANCHES;
        for (int c = 0; c < SIM_BRANCHES; c++) { // without a branch, so that the four are one vector
            const real off = (real_fabs(x[i] - low[c]) + real_fabs(x[i] - high[c]) - (high[c] - low[c])) / 2;
            square[c] += off * off;
        }
    }
}

// Distances of particles from a body in this box are right to so many metres, where they matter.
SIM_ELEMENT real sim_rounding(const SimTouching *t, const real *box) {
    real size = (real)t->reach;
    for (int i = 0; i < 3; i++) size += box[SIM_QUAD + i] - box[i];
    return size * (sizeof(real) == 8 ? NUM(1e-13) : NUM(1e-5));
}

// Metres by which the boxes of a body's trees may be off.
SIM_ELEMENT real sim_stale(const SimTouching *t, const SimBody *body) {
    return t->fitted ? (real)(t->moved[body - t->body] - t->fitted[body - t->body]) : 0;
}

// The square of a distance that is longer by `more`, whose square is given.
SIM_ELEMENT real sim_beyond(real square, real more) {
    const real far = num_sqrt(square) + more;
    return far * far;
}

SIM_ELEMENT bool sim_box_holds(const real *box, real reach, const real x[3]) {
    bool inside = true;
    for (int i = 0; i < 3; i++) inside = inside && x[i] >= box[i] - reach && x[i] <= box[SIM_QUAD + i] + reach;
    return inside;
}

SIM_ELEMENT bool sim_boxes_meet(const real *a, const real *b, real reach) {
    bool meet = true;
    for (int i = 0; i < 3; i++) meet = meet && a[i] <= b[SIM_QUAD + i] + reach && b[i] <= a[SIM_QUAD + i] + reach;
    return meet;
}

SIM_ELEMENT const real *sim_place(const real *records, int32_t vertex) { return records + (size_t)vertex * SIM_RECORD; }

// Squared distance and nearest point of a face. It is not inlined on a CPU, where copies of it could round differently:
// a search and a list of near faces (SimListed) must choose the same face.
#ifdef __CUDACC__
SIM_ELEMENT
#else
static __attribute__((noinline, unused))
#endif
real sim_face_square(const int32_t *face, const real *records, const real x[3], int *on) {
    real square;
    *on = sim_touch_nearest(x, sim_place(records, face[0]), sim_place(records, face[1]), sim_place(records, face[2]),
                            &square);
    return square;
}

SIM_ELEMENT void sim_fit_box(real *group, int child, const real *low, const real *high, int stride) {
    for (int i = 0; i < 3; i++) {
        real *at = group + i * SIM_BRANCHES + child;
        *at = num_min(low[i * stride], *at);
        at[3 * SIM_BRANCHES] = num_max(high[i * stride], at[3 * SIM_BRANCHES]);
    }
}

// The faces or edges of a body, and the boxes over them.
typedef struct SimTree {
    real *group;
    const int32_t *element; // the first; each has its vertices in front
    int32_t groups, count, corners, stride;
} SimTree;

// Groups of a tree over so many faces or edges.
SIM_ELEMENT int32_t sim_tree_groups(int32_t count) {
    int32_t groups = 0;
    for (int64_t leaves = 1; count && (leaves == 1 || leaves < count); leaves *= SIM_BRANCHES)
        groups = SIM_BRANCHES * groups + 1;
    return groups;
}

SIM_ELEMENT SimTree sim_face_tree(const SimTouching *t, const SimBody *body) {
    const SimTree tree = {(real *)t->group + (size_t)body->group * SIM_GROUP,
                          t->face + 3 * (size_t)body->face,
                          body->groups,
                          body->faces,
                          3,
                          3};
    return tree;
}

SIM_ELEMENT SimTree sim_edge_tree(const SimTouching *t, const SimBody *body) {
    const SimTree tree = {(real *)t->group + (size_t)body->edge_group * SIM_GROUP,
                          t->edge + 4 * (size_t)body->edge,
                          body->edge_groups,
                          body->edges,
                          2,
                          4};
    return tree;
}

// Fits the boxes of group `node` of a tree to the faces, edges or groups below.
SIM_ELEMENT void sim_fit_group(const SimTree *tree, const real *records, int32_t node) {
    real fitted[SIM_GROUP];
    for (int k = 0; k < SIM_GROUP; k++) fitted[k] = k < 3 * SIM_BRANCHES ? NUM(INFINITY) : NUM(-INFINITY);
    for (int c = 0; c < SIM_BRANCHES; c++) {
        const int32_t child = SIM_BRANCHES * node + 1 + c, f = child - tree->groups;
        const real *below = tree->group + (size_t)child * SIM_GROUP;
        for (int j = 0; j < SIM_BRANCHES && f < 0; j++)
            sim_fit_box(fitted, c, below + j, below + j + 3 * SIM_BRANCHES, SIM_BRANCHES);
        for (int j = 0; j < tree->corners && f >= 0 && f < tree->count; j++) {
            const real *x = sim_place(records, tree->element[f * tree->stride + j]);
            sim_fit_box(fitted, c, x, x, 1);
        }
    }
    for (int k = 0; k < SIM_GROUP; k++) tree->group[(size_t)node * SIM_GROUP + (size_t)k] = fitted[k];
}

typedef struct SimSearch {
    const real *x;    // of the particle
    const real *rest; // of it, where the body is its own: faces within `within` of it at rest do not count; else NULL
    real within;      // metres; farther faces do not count
    int32_t guess;    // a face of the body that may be near, which saves time and changes nothing; -1: none
    const real *own; // normal of the particle's own surface: faces that are not turned against it do not count; or NULL
} SimSearch;

// Adds the normal of face f, of length 1 or of the length of its angle at corner `at`.
SIM_ELEMENT void sim_add_normal(const int32_t *face, const real *records, int at, bool by_angle, real out[3]) {
    const real *a = sim_place(records, face[at]);
    real b[3], c[3], normal[3];
    num_sub(sim_place(records, face[(at + 1) % 3]), a, b);
    num_sub(sim_place(records, face[(at + 2) % 3]), a, c);
    num_cross(b, c, normal);
    const real area = num_sqrt(num_dot(normal, normal));
    num_add_scaled((by_angle ? num_atan2(area, num_dot(b, c)) : NUM(1)) / num_max(area, NUM(1e-30)), normal, out);
}

// Whether a face is turned against the normal of another surface, by more than 107 degrees.
SIM_ELEMENT bool sim_face_opposes(const int32_t *face, const real *records, const real *own) {
    real normal[3] = {0, 0, 0};
    sim_add_normal(face, records, 0, false, normal);
    return num_dot(normal, own) < NUM(-0.3);
}

// One of the faces that are nearest to a particle.
typedef struct SimNear {
    real square; // of the distance
    SimNearest at;
} SimNear;

// Puts a face among the `most` nearest, of which there are `count`; among equal ones the first is nearer. Returns how
// many there are then.
SIM_ELEMENT int sim_keep_near(SimNear found, SimNear *near, int count, int most) {
    int at = count < most ? count : most - 1;
    for (int k = 0; k < count; k++)
        if (near[k].at.face == found.at.face) return count; // a guess that is met in its place
    for (; at > 0 && (found.square < near[at - 1].square ||
                      (found.square == near[at - 1].square && found.at.face < near[at - 1].at.face));
         at--)
        near[at] = near[at - 1];
    near[at] = found;
    return count < most ? count + 1 : most;
}

// Writes the `most` nearest faces of `body`, which lies in `box`, nearest first; returns how many there are. Boxes are
// left out only when they are farther than what is found by more than rounding and old boxes can explain.
SIM_ELEMENT int sim_nearest_ones(const SimTouching *t, const SimBody *body, const real *box, const real *records,
                                 const SimSearch *search, int most, SimNear *near) {
    const real *groups = (const real *)t->group + (size_t)body->group * SIM_GROUP,
               unsure = sim_rounding(t, box) + sim_stale(t, body);
    int32_t stack[SIM_STACK], depth = 0;
    int count = 0;
    real farthest = search->within * search->within, square_of[SIM_STACK], limit = sim_beyond(farthest, unsure);
    square_of[depth] = 0;
    stack[depth++] = 0;
    square_of[depth] = 0; // a guess comes first, and once more in its place
    stack[depth] = body->groups + search->guess - body->face;
    depth += search->guess >= 0;
    while (depth > 0) {
        const int32_t node = stack[--depth];
        if (square_of[depth] > limit) continue;
        if (node < body->groups) {
            real square[SIM_BRANCHES];
            int first = 0; // on top of the stack
            sim_group_squares(groups + (size_t)node * SIM_GROUP, search->x, square);
            for (int c = 1; c < SIM_BRANCHES; c++) first = square[c] < square[first] ? c : first;
            for (int k = 1; k <= SIM_BRANCHES; k++) {
                const int c = (first + k) % SIM_BRANCHES;
                square_of[depth] = square[c];
                stack[depth] = SIM_BRANCHES * node + 1 + c;
                depth += square[c] <= limit;
            }
            continue;
        }
        const int32_t f = body->face + node - body->groups;
        if (f >= body->face + body->faces) continue; // the state is not finite
        int on, on_rest;
        const real square = sim_face_square(t->face + 3 * f, records, search->x, &on);
        if (!(square < farthest || (square == farthest && count == most && f < near[most - 1].at.face))) continue;
        if (search->rest && !(sim_face_square(t->face + 3 * f, (const real *)t->rest, search->rest, &on_rest) >
                              search->within * search->within))
            continue;
        if (search->own && !sim_face_opposes(t->face + 3 * f, records, search->own)) continue;
        const SimNear found = {square, {f, on}};
        count = sim_keep_near(found, near, count, most);
        if (count == most) farthest = near[most - 1].square;
        limit = sim_beyond(farthest, unsure);
    }
    return count;
}

// The nearest one; among equal ones the first.
SIM_ELEMENT SimNearest sim_nearest(const SimTouching *t, const SimBody *body, const real *box, const real *records,
                                   const SimSearch *search) {
    SimNear near = {0, {-1, 0}};
    sim_nearest_ones(t, body, box, records, search, 1, &near);
    return near.at;
}

// The side of sim/touch.h for a particle at x whose nearest face is known. At edges and corners of closed bodies it is
// that of the faces' mean normal, weighted by angle (Baerentzen and Aanaes 2005).
SIM_ELEMENT real sim_side(const SimTouching *t, const SimBody *body, const real *records, const real x[3],
                          SimNearest nearest) {
    const int32_t *face = t->face + 3 * nearest.face;
    const int base = nearest.on & 1 ? 0 : nearest.on & 2 ? 1 : 2;
    const int edge_end = nearest.on == 3 ? 1 : nearest.on == 5 || nearest.on == 6 ? 2 : -1;
    real normal[3] = {0, 0, 0}, from[3];
    num_sub(x, sim_place(records, face[base]), from);
    if (nearest.on == SIM_TOUCH_FACE) {
        if (body->closed) return 1;
        sim_add_normal(face, records, 0, false, normal);
        return num_dot(normal, from) < 0 ? NUM(-1) : NUM(1);
    }
    if (!body->closed) return 1;
    for (int32_t r = t->ring_of[face[base]]; r < t->ring_of[face[base] + 1]; r++) {
        const int32_t *other = t->face + 3 * (t->ring[r] / 3);
        const int32_t end = edge_end < 0 ? other[0] : face[edge_end];
        if (other[0] == end || other[1] == end || other[2] == end)
            sim_add_normal(other, records, t->ring[r] % 3, edge_end < 0, normal);
    }
    return num_dot(normal, from) < 0 ? NUM(-1) : NUM(1);
}

#endif
