// SPDX-License-Identifier: Apache-2.0
// Bodies that meet: their boxes and trees, particles and edges that touch, and sums of what they feel.
#include "sim/cpu/functions.h"
#include "sim/touching.h"

#include <math.h>
#include <string.h>

enum {
    ROWS_OF_A_TURN = 16, // threads take so many in turns, since bodies touch in few places
    PIERCED_MOST = 62    // faces along one edge that are told apart
};

static real *box_of(const SimTouching *t, size_t body) { return (real *)t->box + body * SIM_RECORD; }

// A body that was at rest and moves now may fold through itself: what was found to be outside of it may be inside.
static void forget(const SimTouching *t, const SimBody *body) {
    for (size_t i = 0; i < t->points * SIM_TOUCHES; i++)
        if (sim_is_of(body, false, t->guess[i])) t->clear[i] = 0;
}

static void forget_lists(const SimTouching *t, int32_t row, int32_t rows) {
    for (int32_t i = row * SIM_TOUCHES; i < (row + rows) * SIM_TOUCHES; i++)
        t->listed[i].element[0] = -1, t->listed[i].until[SIM_LISTED] = -INFINITY;
}

// Adds how far a particle of the body has moved at most since the call before, in either direction of time; without the
// call before, nothing is known of it.
static void note_motion(const SimTouching *t, size_t b, const real *box, double speed, bool jump) {
    const SimBody *body = &t->body[b];
    const double turned = 1.001 + 2 * t->angle[b]; // a rigid body's way bends within the step
    double far = 0;                                // positions are rounded in each step
    for (int i = 0; i < 3; i++) far = fmax(far, fmax(fabs((double)box[i]), fabs((double)box[SIM_QUAD + i])));
    const bool rests = speed == 0 && t->speed[b] == 0;
    if (!jump) t->moved[b] += turned * t->dt * fmax(t->speed[b], speed) + far * (sizeof(real) == 8 ? 1e-15 : 2e-7);
    if (!jump && t->still[b] && !rests && !body->rigid) forget(t, body);
    t->speed[b] = speed;
    t->still[b] = rests && !jump;
    if (!jump) return;
    t->moved[b] = 0, t->fitted[b] = -INFINITY;
    forget_lists(t, body->point, body->points);
    forget_lists(t, (int32_t)t->points + body->edge, body->edges);
    for (int32_t i = body->point * SIM_TOUCHES; i < (body->point + body->points) * SIM_TOUCHES; i++) t->clear[i] = 0;
}

void CPU_FN(sim_body_boxes)(const SimTouching *t, const void *state, bool jump, int thread, int threads) {
    for (size_t b = (size_t)thread; b < t->bodies; b += (size_t)threads) {
        const int32_t *point = t->point + t->body[b].point;
        real *box = box_of(t, b), fastest = 0;
        for (int c = 0; c < 3; c++) box[c] = INFINITY, box[SIM_QUAD + c] = -INFINITY;
        for (int32_t i = 0; i < t->body[b].points; i++) {
            const real *x = sim_place(state, point[i]), *v = x + SIM_QUAD, square = num_dot(v, v);
            for (int c = 0; c < 3; c++) {
                box[c] = num_min(x[c], box[c]);
                box[SIM_QUAD + c] = num_max(x[c], box[SIM_QUAD + c]);
            }
            fastest = square > fastest ? square : fastest;
        }
        note_motion(t, b, box, sqrt((double)fastest), jump);
    }
}

static void list_near(const SimTouching *t, size_t b) {
    const SimBody *body = &t->body[b];
    const real *box = box_of(t, b), *all = box_of(t, 0), reach = (real)t->reach;
    int32_t nears = 0;
    for (int32_t other = body->first; other < body->first + body->bodies; other++)
        if (sim_boxes_meet(box, all + (size_t)other * SIM_RECORD, reach) && sim_may_meet(t, (int32_t)b, other))
            t->near[b * t->most + (size_t)nears++] = other;
    t->nears[b] = nears;
}

// Level by level from the faces or edges on; nodes that hold none stay empty.
static void fit_tree(SimTree tree, const real *records) {
    int32_t first = tree.groups, filled = tree.count; // of the nodes of a level
    while (first > 0) {
        first = (first - 1) / SIM_BRANCHES;
        filled = (filled + SIM_BRANCHES - 1) / SIM_BRANCHES;
        for (int32_t i = 0; i < filled; i++) sim_fit_group(&tree, records, first + i);
    }
}

// Trees are fitted anew where particles may have moved by so much of their body's size. Until then searches go as much
// farther.
#define STALE 2e-3

void CPU_FN(sim_body_trees)(const SimTouching *t, const void *state, int thread, int threads) {
    for (size_t b = (size_t)thread; b < t->bodies; b += (size_t)threads) {
        const real *box = box_of(t, b);
        double size = 0;
        list_near(t, b);
        for (int c = 0; c < 3; c++) size += (double)(box[SIM_QUAD + c] - box[c]);
        if (!t->nears[b] || t->moved[b] - t->fitted[b] < STALE * size) continue;
        fit_tree(sim_face_tree(t, &t->body[b]), state);
        fit_tree(sim_edge_tree(t, &t->body[b]), state);
        t->fitted[b] = t->moved[b];
    }
}

static void exchange(SimListed *list, int k) {
    const int32_t element = list->element[0];
    const double until = list->until[0];
    list->element[0] = list->element[k], list->until[0] = list->until[k];
    list->element[k] = element, list->until[k] = until;
}

// Looks at faces that were near in an earlier step and may be the nearest now; in the tree only where another one may.
static SimNearest look(const SimTouching *t, const SimBody *body, const real *box, const real *records,
                       const SimSearch *search, size_t row, double moved) {
    SimListed *list = t->listed + row;
    const bool known = search->guess >= 0 || search->own; // else the list is of another body
    const double sure = moved + 2 * (double)sim_rounding(t, box);
    real best = search->within * search->within;
    double distance = (double)search->within;
    SimNearest out = {-1, 0};
    for (int k = 0; known && k < SIM_LISTED && list->element[k] >= 0; k++) {
        const int32_t face = list->element[k];
        if (distance < list->until[k] - sure) continue;
        int on;
        const real square = sim_face_square(t->face + 3 * face, records, search->x, &on);
        list->until[k] = sqrt((double)square) + moved;
        if (!(square < best || (square == best && face < out.face))) continue;
        if (search->own && !sim_face_opposes(t->face + 3 * face, records, search->own)) continue;
        best = square;
        distance = sqrt((double)best);
        out = (SimNearest){face, on};
        if (!search->own) exchange(list, k);
    }
    if (known && distance < list->until[SIM_LISTED] - sure) return out;
    if (search->own) return sim_nearest(t, body, box, records, search);
    SimNear near[SIM_LISTED + 1] = {{0, {-1, 0}}};
    const int count = sim_nearest_ones(t, body, box, records, search, SIM_LISTED + 1, near);
    for (int k = 0; k <= SIM_LISTED; k++) {
        list->until[k] = moved + (k < count ? sqrt((double)near[k].square) : (double)search->within);
        if (k < SIM_LISTED) list->element[k] = k < count ? near[k].at.face : -1;
    }
    return near[0].at;
}

// How far the box of an edge of a body is from another one, along the axis along which it is farthest.
static real beside(const SimTouching *t, const real *records, int32_t edge, const real *around) {
    real box[SIM_RECORD], out = NUM(-INFINITY);
    sim_edge_box(records, t->edge + 4 * (size_t)edge, 2, box);
    for (int i = 0; i < 3; i++)
        out = num_max(out, num_max(box[i] - around[SIM_QUAD + i], around[i] - box[SIM_QUAD + i]));
    return out;
}

// Lists the edges of a body whose boxes are nearest to that of an edge, within `reach` metres, in their order.
static void list_edges(const SimTouching *t, const SimBody *body, const real *records, const real *around, real reach,
                       double moved, SimListed *list) {
    const real stale = sim_stale(t, body);
    SimNear near[SIM_LISTED + 1];
    int32_t f;
    int count = 0;
    SimWalk walk;
    sim_walk_begin(sim_edge_tree(t, body), around, reach + stale, &walk);
    while ((f = sim_walk_next(&walk)) >= 0) {
        const real away = beside(t, records, body->edge + f, around);
        if (!(away < reach)) continue;
        count = sim_keep_near((SimNear){away, {body->edge + f, 0}}, near, count, SIM_LISTED + 1);
        if (count > SIM_LISTED) reach = near[SIM_LISTED].square, walk.reach = reach + stale;
    }
    list->until[SIM_LISTED] = moved + (double)reach;
    for (int k = 0; k < SIM_LISTED; k++) {
        int at = k;
        if (k >= count) {
            list->element[k] = -1;
            break;
        }
        for (; at > 0 && list->element[at - 1] > near[k].at.face; at--)
            list->element[at] = list->element[at - 1], list->until[at] = list->until[at - 1];
        list->element[at] = near[k].at.face;
        list->until[at] = moved + (double)near[k].square;
    }
}

// Looks at edges whose boxes were near in an earlier step; in the tree only where others may be near enough now.
static int32_t cross(const SimTouching *t, int32_t other, const real *records, const SimEdgeSearch *search,
                     SimTouch *touch, int32_t touches) {
    const SimBody *body = &t->body[other];
    const int32_t self = t->edge_body[search->edge];
    const real *box = box_of(t, (size_t)other), reach = num_max(search->deepest, (real)t->reach) + sim_rounding(t, box);
    const size_t at = sim_kept_for(t, SIM_TOUCHES * (t->points + search->edge), true, self, other, search->around);
    const double moved = t->moved[self] + t->moved[other], sure = moved + (double)reach;
    SimListed *list = t->listed + at;
    if (!sim_is_of(body, true, t->guess[at]) || !(list->until[SIM_LISTED] > sure)) {
        t->guess[at] = body->edge;
        list_edges(t, body, records, search->around, reach + sim_thinner(t, self, other) / 2, moved, list);
        if (!(list->until[SIM_LISTED] > sure)) return sim_touch_edges(t, other, records, search, touch, touches);
    }
    for (int k = 0; k < SIM_LISTED && list->element[k] >= 0 && touches < SIM_TOUCHES; k++) {
        if (list->until[k] > sure) continue;
        list->until[k] = moved + (double)beside(t, records, list->element[k], search->around);
        if (list->until[k] > sure) continue;
        touches += sim_edges_touch(t, records, search->edge, list->element[k], search->deepest, &touch[touches]);
    }
    return touches;
}

void CPU_FN(sim_touches)(const SimTouching *t, const void *state, const void *w, int thread, int threads) {
    const size_t turn = ROWS_OF_A_TURN * (size_t)threads;
    for (size_t first = ROWS_OF_A_TURN * (size_t)thread; first < t->rows; first += turn)
        for (size_t i = first; i < first + ROWS_OF_A_TURN && i < t->rows; i++) {
            sim_find_touches(t, state, i, look, cross);
            for (int32_t k = 0; k < t->touches[i]; k++) sim_touch_parts(t, state, w, i, (size_t)k);
        }
}

void CPU_FN(sim_touch_sums)(const SimTouching *t, const SimBack *back, size_t first, size_t last) {
    real *sum = back ? back->touch_sum : t->sum, *values = back ? back->touch_values : NULL;
    const size_t wide = back ? SIM_RECORD : SIM_QUAD, used = back ? SIM_QUAD + 3 : 3;
    memset(sum + first * wide, 0, (last - first) * wide * sizeof *sum);
    for (size_t i = 0; i < t->rows; i++)
        for (size_t k = 0; k < (size_t)t->touches[i]; k++) {
            const size_t row = SIM_TOUCHES * i + k;
            const real *part = (const real *)t->part + row * 4 * SIM_RECORD,
                       *slope = (const real *)t->slope + row * SIM_QUAD;
            int32_t vertex[4];
            sim_touch_vertices(t, i, &t->touch[row], vertex);
            for (size_t j = 0; j < 4; j++) {
                const size_t v = (size_t)vertex[j];
                if (v < first || v >= last) continue;
                for (size_t c = 0; c < used; c++) sum[v * wide + c] += part[j * SIM_RECORD + c];
                for (size_t c = 0; c < SIM_QUAD && back && j < 2; c++) values[v * SIM_QUAD + c] += slope[c] / 2;
            }
        }
}

// ---- how deep surfaces are in bodies, whether they touch or not

// Of a point, from the surface of a closed body; below 0 inside it, and infinite outside of its box.
static real gap_at(const SimTouching *t, const SimBody *body, const real *records, const real x[3]) {
    const real *box = box_of(t, (size_t)(body - t->body));
    for (int c = 0; c < 3; c++)
        if (!(x[c] >= box[c] && x[c] <= box[SIM_QUAD + c])) return NUM(INFINITY);
    const SimSearch search = {x, NULL, NUM(1e18), -1, NULL};
    const SimNearest nearest = sim_nearest(t, body, box, records, &search);
    if (nearest.face < 0) return NUM(INFINITY); // the state is not finite
    const int32_t *face = t->face + 3 * nearest.face;
    real places[4][3];
    SimTouchPoint p;
    for (int i = 0; i < 3; i++) {
        places[0][i] = x[i];
        for (int j = 0; j < 3; j++) places[1 + j][i] = sim_place(records, face[j])[i];
    }
    sim_touch_point(nearest.on, sim_side(t, body, records, x, nearest), places, &p);
    return p.gap;
}

// In the order of the way. A face that is left out makes two sections one, of which the middle is looked at.
static size_t list_pierced(const SimTouching *t, const SimBody *body, const real *records, const real *a, const real *b,
                           const real *around, real rounding, real way[PIERCED_MOST]) {
    size_t count = 0;
    int32_t f;
    SimWalk walk;
    sim_walk_begin(sim_face_tree(t, body), around, rounding + sim_stale(t, body), &walk);
    while (count < PIERCED_MOST && (f = sim_walk_next(&walk)) >= 0) {
        real at;
        if (!sim_pierces(walk.tree.element + 3 * f, records, a, b, rounding, &at)) continue;
        size_t i = count++;
        for (; i > 0 && way[i - 1] > at; i--) way[i] = way[i - 1];
        way[i] = at;
    }
    return count;
}

// Of an edge: the middles of the sections between the faces that it goes through, of one that goes through none its
// own.
static void lower_edge(const SimTouching *t, size_t e, const SimBody *body, const real *records, double *gap) {
    const int32_t *edge = t->edge + 4 * e;
    const real *box = box_of(t, (size_t)(body - t->body));
    const real *a = sim_place(records, edge[0]), *b = sim_place(records, edge[1]);
    real around[SIM_RECORD], way[PIERCED_MOST + 1], middle[3];
    sim_edge_box(records, edge, 2, around);
    if (!sim_boxes_meet(around, box, 0)) return;
    const size_t count = list_pierced(t, body, records, a, b, around, sim_rounding(t, box), way);
    way[count] = 1;
    for (size_t i = 0; i <= count; i++) {
        sim_point_between(a, b, ((i ? way[i - 1] : 0) + way[i]) / 2, middle);
        const double deep = (double)gap_at(t, body, records, middle);
        for (int j = 0; j < 2 && deep < 0; j++) gap[edge[j]] = fmin(gap[edge[j]], deep);
    }
}

// Of a face: its middle. Blocks that are equally high and stand on one plane have corners and edges that are on each
// other's surfaces, however deep they are in each other.
static void lower_face(const SimTouching *t, size_t f, const SimBody *body, const real *records, double *gap) {
    const int32_t *face = t->face + 3 * f;
    real middle[3];
    for (int c = 0; c < 3; c++)
        middle[c] =
            (sim_place(records, face[0])[c] + sim_place(records, face[1])[c] + sim_place(records, face[2])[c]) / 3;
    const double deep = (double)gap_at(t, body, records, middle);
    for (int j = 0; j < 3 && deep < 0; j++) gap[face[j]] = fmin(gap[face[j]], deep);
}

// Of a body: the middle of its particles, where that is inside it. Those at the very same place have nothing else that
// is inside each other.
static void lower_middle(const SimTouching *t, const SimBody *self, const SimBody *body, const real *records,
                         double *gap) {
    const int32_t *point = t->point + self->point;
    real middle[3] = {0, 0, 0};
    for (int32_t i = 0; i < self->points; i++)
        for (int c = 0; c < 3; c++) middle[c] += sim_place(records, point[i])[c] / (real)self->points;
    const double own = (double)gap_at(t, self, records, middle), deep = (double)gap_at(t, body, records, middle);
    if (own < 0 && deep < 0) gap[point[0]] = fmin(gap[point[0]], fmax(own, deep));
}

void CPU_FN(sim_surface_gaps)(const SimTouching *t, const void *state, double *gap) {
    for (size_t b = 0; b < t->bodies; b++) {
        const SimBody *self = &t->body[b];
        for (int32_t k = 0; k < t->nears[b]; k++) {
            const SimBody *other = &t->body[t->near[b * t->most + (size_t)k]];
            if (!other->closed || !self->closed) continue;
            for (int32_t e = 0; e < self->edges; e++) lower_edge(t, (size_t)(self->edge + e), other, state, gap);
            for (int32_t f = 0; f < self->faces; f++) lower_face(t, (size_t)(self->face + f), other, state, gap);
            lower_middle(t, self, other, state, gap);
        }
    }
}
