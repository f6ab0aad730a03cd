// SPDX-License-Identifier: Apache-2.0
// The face of a body that is nearest to a particle, by a tree of boxes, and the side on which the particle is. For
// single numbers; the same on CPU and GPU.
//
// The faces of a body lie along a Morton curve. SIM_LEAF_FACES of them make a leaf; the tree is complete, so node i has
// the children 2i and 2i+1, the root is 1 and the leaves begin at `leaves`, a power of two. A node's box is a record:
// low corner, 0, high corner, 0; a box without faces has its low corner above its high one.
#ifndef VPD_SIM_NEAREST_H
#define VPD_SIM_NEAREST_H

#include "sim/backend.h"
#include "sim/touch.h"

enum { SIM_TREE_DEPTH = 32 };

typedef struct SimNearest {
    int32_t face; // of all faces; -1: none
    int on;       // sim_touch_nearest
} SimNearest;

// 0 inside the box.
SIM_ELEMENT real sim_box_square(const real *box, const real x[3]) {
    real square = 0;
    for (int i = 0; i < 3; i++) {
        const real off = num_max(num_max(box[i] - x[i], x[i] - box[SIM_QUAD + i]), NUM(0));
        square += off * off;
    }
    return square;
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

// Squared distance and nearest point of face f.
SIM_ELEMENT real sim_face_square(const int32_t *face, const real *records, const real x[3], int *on) {
    real square;
    *on = sim_touch_nearest(x, sim_place(records, face[0]), sim_place(records, face[1]), sim_place(records, face[2]),
                            &square);
    return square;
}

// The nearest face of `body`; among equal ones the first. `box` has the body's nodes; `guess` (-1: none) is a face of
// it that may be near, which saves time and changes nothing: boxes are left out only when they are farther than what is
// found by more than rounding can explain.
SIM_ELEMENT SimNearest sim_nearest(const SimTouching *t, const SimBody *body, const real *box, const real *records,
                                   const real x[3], int32_t guess) {
    SimNearest out = {-1, 0};
    int32_t stack[SIM_TREE_DEPTH], depth = 0;
    real best = NUM(3e38), limit = NUM(3e38), size = 0;
    for (int i = 0; i < 3; i++) size += box[SIM_RECORD + SIM_QUAD + i] - box[SIM_RECORD + i];
    const real rounding = size * (sizeof(real) == 8 ? NUM(1e-13) : NUM(1e-5));
    if (guess >= 0) {
        best = sim_face_square(t->face + 3 * guess, records, x, &out.on);
        limit = num_sqrt(best) + rounding;
        limit *= limit;
        out.face = guess;
    }
    stack[depth++] = 1;
    while (depth > 0) {
        const int32_t node = stack[--depth];
        if (sim_box_square(box + (size_t)node * SIM_RECORD, x) > limit) continue;
        if (node < body->leaves) {
            const real first = sim_box_square(box + (size_t)(2 * node) * SIM_RECORD, x),
                       second = sim_box_square(box + (size_t)(2 * node + 1) * SIM_RECORD, x);
            const int32_t near = second < first; // on top of the stack
            if ((near ? first : second) <= limit) stack[depth++] = 2 * node + 1 - near;
            if ((near ? second : first) <= limit) stack[depth++] = 2 * node + near;
            continue;
        }
        const int32_t begin = body->face + (node - body->leaves) * SIM_LEAF_FACES,
                      end = begin + SIM_LEAF_FACES < body->face + body->faces ? begin + SIM_LEAF_FACES
                                                                              : body->face + body->faces;
        for (int32_t f = begin; f < end; f++) {
            int on;
            const real square = sim_face_square(t->face + 3 * f, records, x, &on);
            if (!(square < best || (square == best && f < out.face))) continue;
            best = square;
            limit = num_sqrt(best) + rounding;
            limit *= limit;
            out = (SimNearest){f, on};
        }
    }
    return out;
}

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
