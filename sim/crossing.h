// SPDX-License-Identifier: Apache-2.0
// Where sharp edges of closed bodies cross: particles touch triangles, and a plank that lies across a box has none in
// it. For single numbers; the same on CPU and GPU.
#ifndef VPD_SIM_CROSSING_H
#define VPD_SIM_CROSSING_H

#include "sim/nearest.h"

#define SIM_MUCH NUM(1.25) // a way out that is longer by this factor is much longer

// Means of the two materials, as at a plane.
SIM_ELEMENT SimContact sim_touch_contact(const SimTouching *t, int32_t vertex, int32_t other) {
    const real *a = (const real *)t->contact + SIM_MATERIAL * t->material[vertex],
               *b = (const real *)t->contact + SIM_MATERIAL * t->material[other];
    SimContact out;
    out.k_e = (a[0] + b[0]) / 2;
    out.k_d = (a[1] + b[1]) / 2;
    out.k_f = (a[2] + b[2]) / 2;
    out.mu = (a[3] + b[3]) / 2;
    out.margin = (a[4] + b[4]) / 2;
    out.ramp = 1 / num_max((a[5] + b[5]) / 2, NUM(1e-30));
    return out;
}

// Metres through the thinner of two closed bodies.
SIM_ELEMENT real sim_thinner(const SimTouching *t, int32_t a, int32_t b) {
    return num_min((real)t->body[a].thin, (real)t->body[b].thin);
}

// Whether edges of body a look for those of body b, or the other way round: a plank may lie on more boxes than an edge
// has touches, so the body whose longest edge is shorter looks.
SIM_ELEMENT bool sim_looks_for_edges(const SimTouching *t, int32_t a, int32_t b) {
    const SimBody *self = &t->body[a], *other = &t->body[b];
    if (!self->edges || !other->edges) return false;
    return self->longest < other->longest || (self->longest == other->longest && a < b);
}

// Whether n, across an edge, points out of the body there: its faces do not rise above the plane across n, but for 11
// degrees, since flat surfaces that are pressed on each other bend.
SIM_ELEMENT bool sim_points_out(const real n[3], const real edge[3], const real *at, const real *third[2]) {
    const real level = NUM(0.2);
    for (int k = 0; k < 2; k++) {
        real to[3];
        num_sub(third[k], at, to);
        num_add_scaled(-num_dot(edge, to) / num_dot(edge, edge), edge, to); // the third corner may be far along it
        const real above = num_dot(n, to);
        if (above > 0 && above * above > level * level * num_dot(to, to)) return false;
    }
    return true;
}

// Whether the way out over an edge, `gap` metres long, is not much longer than those over its two faces, for another
// edge whose ends and third corners are given. Over a face the lowest of these must come out; where that is shorter,
// the particle there is what is pushed out.
SIM_ELEMENT bool sim_is_way_out(real gap, const real edge[3], const real *at, const real *third[2],
                                const real *corner[4]) {
    for (int k = 0; k < 2; k++) {
        real to[3], normal[3], from[3], low = 0;
        num_sub(third[k], at, to);
        num_cross(edge, to, normal); // outwards, of the second face inwards
        for (int j = 0; j < 4; j++) {
            num_sub(corner[j], at, from);
            low = num_min(low, (k ? NUM(-1) : NUM(1)) * num_dot(normal, from));
        }
        if (!(SIM_MUCH * SIM_MUCH * low * low >= gap * gap * num_dot(normal, normal))) return false;
    }
    return true;
}

// The outward normals of an edge's two faces, of length 1.
SIM_ELEMENT void sim_edge_normals(const real *records, const int32_t *e, real out[2][3]) {
    const real *at = sim_place(records, e[0]);
    real along[3], to[2][3];
    num_sub(sim_place(records, e[1]), at, along);
    for (int k = 0; k < 2; k++) num_sub(sim_place(records, e[2 + k]), at, to[k]);
    num_cross(along, to[0], out[0]);
    num_cross(to[1], along, out[1]);
    for (int k = 0; k < 2; k++) {
        const real over = 1 / num_max(num_sqrt(num_dot(out[k], out[k])), NUM(1e-30));
        for (int i = 0; i < 3; i++) out[k][i] *= over;
    }
}

// Ways into a body from an edge are numbered from 0, nearly against the normal of its second face, to SIM_WAYS - 1,
// nearly against that of its first. The first normal's share in a way is 1/2 in the middle, and so much more or less at
// both ends, since ways must not be along a face or outside. *cosine: of the normals.
SIM_ELEMENT real sim_way_spread(const real normal[2][3], real *cosine) {
    *cosine = num_dot(normal[0], normal[1]);
    return NUM(0.9) * (1 / (1 - num_min(*cosine, NUM(0))) - NUM(0.5));
}

// The number of the way against a direction out of the body, and between two ways their parts.
SIM_ELEMENT real sim_way_of(const real normal[2][3], const real out[3]) {
    real cosine;
    const real spread = sim_way_spread(normal, &cosine), first = num_dot(normal[0], out),
               second = num_dot(normal[1], out), share = (first - cosine * second) / ((first + second) * (1 - cosine)),
               way = ((share - NUM(0.5)) / spread + 1) / 2 * (SIM_WAYS - 1);
    return num_min(num_max(NUM(0), way), NUM(SIM_WAYS - 1)); // 0 where it is not a number
}

// Whether what is `deep` metres behind edge e, against the direction `out`, is still in the body. Arms and walls may be
// thinner than all of it.
SIM_ELEMENT bool sim_is_in_arm(const SimTouching *t, const real *records, const int32_t *e, const real out[3],
                               real deep) {
    const float *arm = t->arm + (e - t->edge) / 4 * SIM_WAYS;
    real normal[2][3], most = 0;
    for (int k = 0; k < SIM_WAYS; k++) most = num_max(most, (real)arm[k]);
    if (deep * most < 1) return true;
    sim_edge_normals(records, e, normal);
    const real way = sim_way_of(normal, out);
    const int k = way < SIM_WAYS - 1 ? (int)way : SIM_WAYS - 2;
    return deep * ((real)arm[k] + (way - (real)k) * ((real)arm[k + 1] - (real)arm[k])) < 1;
}

// Whether two edges cross: they are not nearly parallel, and nearest to each other before their ends, where the
// particle there does the work. Most do not, so here are no divisions.
SIM_ELEMENT bool sim_edges_cross(const real *a, const real *b, const real *c, const real *d) {
    const real end = NUM(1e-5), parallel = NUM(0.05); // sine
    real edge[2][3], from[3], across[3], turned[3];
    num_sub(b, a, edge[0]);
    num_sub(d, c, edge[1]);
    num_cross(edge[0], edge[1], across);
    const real square = num_dot(across, across);
    if (!(square > parallel * parallel * num_dot(edge[0], edge[0]) * num_dot(edge[1], edge[1]))) return false;
    num_sub(a, c, from);
    for (int k = 0; k < 2; k++) {
        num_cross(edge[1 - k], from, turned);
        const real t = num_dot(turned, across);
        if (!(t >= end * square && t <= (1 - end) * square)) return false;
    }
    return true;
}

// Whether two edges touch, and how; `deepest` metres inside each other at most.
SIM_ELEMENT bool sim_edges_touch(const SimTouching *t, const real *records, size_t edge, int32_t other, real deepest,
                                 SimTouch *out) {
    const int32_t *e = t->edge + 4 * edge, *f = t->edge + 4 * (size_t)other;
    const real *of_e[4], *of_f[4];
    for (int j = 0; j < 4; j++) of_e[j] = sim_place(records, e[j]), of_f[j] = sim_place(records, f[j]);
    const real *a = of_e[0], *b = of_e[1], *c = of_f[0], *d = of_f[1], **third_e = of_e + 2, **third_f = of_f + 2;
    const real x[4][3] = {{a[0], a[1], a[2]}, {c[0], c[1], c[2]}, {d[0], d[1], d[2]}, {b[0], b[1], b[2]}};
    real inwards[3], back = 0;
    SimTouchPoint p;
    if (!sim_edges_cross(a, b, c, d)) return false;
    sim_touch_crossing(1, x, &p);
    for (int i = 0; i < 3; i++) back += p.normal[i] * (third_f[0][i] + third_f[1][i] - 2 * c[i]);
    const real side = back > 0 ? NUM(-1) : NUM(1), gap = side * p.gap;
    if (!(gap < sim_touch_contact(t, e[0], f[0]).margin && gap > -deepest)) return false;
    for (int i = 0; i < 3; i++) p.normal[i] *= side, inwards[i] = -p.normal[i];
    if (!sim_points_out(p.normal, p.edge[1], c, third_f) || !sim_points_out(inwards, p.edge[0], a, third_e))
        return false;
    if (gap < 0 &&
        !(sim_is_way_out(gap, p.edge[1], c, third_f, of_e) && sim_is_way_out(gap, p.edge[0], a, third_e, of_f) &&
          sim_is_in_arm(t, records, e, inwards, -gap) && sim_is_in_arm(t, records, f, p.normal, -gap)))
        return false;
    *out = (SimTouch){other, SIM_TOUCH_EDGES, (int16_t)side, (float)gap};
    return true;
}

// How far each of the four boxes of a group is from a box, along the axis along which it is farthest; below 0 where
// they overlap.
SIM_ELEMENT void sim_group_beside(const real *group, const real *box, real beside[SIM_BRANCHES]) {
    for (int c = 0; c < SIM_BRANCHES; c++) beside[c] = NUM(-INFINITY);
    for (int i = 0; i < 3; i++) {
        const real *low = group + i * SIM_BRANCHES, *high = low + 3 * SIM_BRANCHES;
        for (int c = 0; c < SIM_BRANCHES; c++) { // without a branch, so that the four are one vector
            beside[c] = num_max(beside[c], low[c] - box[SIM_QUAD + i]);
            beside[c] = num_max(beside[c], box[i] - high[c]);
        }
    }
}

// Goes through the elements of a tree whose boxes come within `reach` metres of a box.
typedef struct SimWalk {
    SimTree tree;
    const real *around;
    real reach;
    int32_t stack[SIM_STACK], depth;
} SimWalk;

SIM_ELEMENT void sim_walk_begin(SimTree tree, const real *around, real reach, SimWalk *walk) {
    walk->tree = tree;
    walk->around = around;
    walk->reach = reach;
    walk->stack[0] = 0;
    walk->depth = 1;
}

// The next element, counted from the tree's first; -1: there is none.
SIM_ELEMENT int32_t sim_walk_next(SimWalk *walk) {
    while (walk->depth > 0) {
        const int32_t node = walk->stack[--walk->depth], f = node - walk->tree.groups;
        real beside[SIM_BRANCHES];
        if (f >= walk->tree.count) continue; // the state is not finite
        if (f >= 0) return f;
        sim_group_beside(walk->tree.group + (size_t)node * SIM_GROUP, walk->around, beside);
        for (int c = SIM_BRANCHES - 1; c >= 0; c--) { // the first is on top
            walk->stack[walk->depth] = SIM_BRANCHES * node + 1 + c;
            walk->depth += beside[c] <= walk->reach;
        }
    }
    return -1;
}

SIM_ELEMENT void sim_point_between(const real *a, const real *b, real way, real out[3]) {
    for (int i = 0; i < 3; i++) out[i] = a[i] + way * (b[i] - a[i]);
}

// 1 where the way from a to b goes out through a face, -1 where it goes in, 0 where it does not go through it, for
// points that are right to `rounding` metres. *way: where on the way (0 .. 1).
SIM_ELEMENT int sim_pierces(const int32_t *face, const real *records, const real *a, const real *b, real rounding,
                            real *way) {
    real normal[3] = {0, 0, 0}, from_a[3], from_b[3], at[3];
    int on;
    sim_add_normal(face, records, 0, false, normal);
    num_sub(a, sim_place(records, face[0]), from_a);
    num_sub(b, sim_place(records, face[0]), from_b);
    const real above = num_dot(normal, from_a), below = num_dot(normal, from_b);
    if (!(above * below < 0)) return 0;
    *way = above / (above - below);
    sim_point_between(a, b, *way, at);
    if (!(sim_face_square(face, records, at, &on) <= rounding * rounding)) return 0;
    return above < 0 ? 1 : -1;
}

// An edge that looks for edges of another body.
typedef struct SimEdgeSearch {
    size_t edge;
    const real *around; // its box
    real deepest;       // metres that edges may be inside each other
} SimEdgeSearch;

// Adds the touches of an edge with edges of body `other` to those that there are, the first of them first; returns how
// many there are then.
typedef int32_t SimCross(const SimTouching *t, int32_t other, const real *records, const SimEdgeSearch *search,
                         SimTouch *touch, int32_t touches);

SIM_ELEMENT int32_t sim_touch_edges(const SimTouching *t, int32_t other, const real *records,
                                    const SimEdgeSearch *search, SimTouch *touch, int32_t touches) {
    const SimBody *body = &t->body[other];
    const real reach = num_max(search->deepest, (real)t->reach) + sim_stale(t, body);
    int32_t f;
    SimWalk walk;
    sim_walk_begin(sim_edge_tree(t, body), search->around, reach, &walk);
    while (touches < SIM_TOUCHES && (f = sim_walk_next(&walk)) >= 0)
        touches += sim_edges_touch(t, records, search->edge, body->edge + f, search->deepest, &touch[touches]);
    return touches;
}

// The box around some of the vertices of an edge.
SIM_ELEMENT void sim_edge_box(const real *records, const int32_t *e, int vertices, real *box) {
    for (int i = 0; i < 3; i++) box[i] = box[SIM_QUAD + i] = sim_place(records, e[0])[i];
    for (int j = 1; j < vertices; j++)
        for (int i = 0; i < 3; i++) {
            const real x = sim_place(records, e[j])[i];
            box[i] = num_min(x, box[i]);
            box[SIM_QUAD + i] = num_max(x, box[SIM_QUAD + i]);
        }
}

// How deep an edge may be in a body: not much deeper than its faces, in the box `faces`, are in the body's box, and
// less than half of `thinner`, of both bodies, where far sides cross.
SIM_ELEMENT real sim_deepest(const SimTouching *t, real thinner, const real *box, const real *faces) {
    real way = thinner / (2 * SIM_MUCH);
    for (int i = 0; i < 3; i++) way = num_min(way, num_min(faces[SIM_QUAD + i] - box[i], box[SIM_QUAD + i] - faces[i]));
    return SIM_MUCH * num_max(way, NUM(0)) + sim_rounding(t, box);
}

// Writes the touches of edge `edge`, in row points + edge.
SIM_ELEMENT void sim_find_crossings(const SimTouching *t, const real *records, size_t edge, SimCross cross) {
    const int32_t self = t->edge_body[edge], *e = t->edge + 4 * edge;
    const real *boxes = (const real *)t->box;
    const size_t row = t->points + edge;
    real around[SIM_RECORD], faces[SIM_RECORD];
    int32_t touches = 0;
    sim_edge_box(records, e, 2, around);
    for (int32_t k = 0; k < t->nears[self] && touches < SIM_TOUCHES; k++) {
        const int32_t other = t->near[(size_t)self * t->most + (size_t)k];
        const real *box = boxes + (size_t)other * SIM_RECORD;
        if (!sim_looks_for_edges(t, self, other) || !sim_boxes_meet(around, box, (real)t->reach)) continue;
        sim_edge_box(records, e, 4, faces);
        const SimEdgeSearch search = {edge, around, sim_deepest(t, sim_thinner(t, self, other), box, faces)};
        touches = cross(t, other, records, &search, t->touch + SIM_TOUCHES * row, touches);
    }
    t->touches[row] = touches;
}

#endif
