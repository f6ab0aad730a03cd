// SPDX-License-Identifier: Apache-2.0
// What one particle or edge does with the bodies that it touches, on CPU and GPU: finds them, and has forces or
// adjoints.
#ifndef VPD_SIM_TOUCHING_H
#define VPD_SIM_TOUCHING_H

#include "sim/crossing.h"

// Vertices of a touch in the order of sim/touch.h: the particle, and the face's corners; or the ends of two edges.
SIM_ELEMENT void sim_touch_vertices(const SimTouching *t, size_t row, const SimTouch *touch, int32_t out[4]) {
    if (touch->on == SIM_TOUCH_EDGES) {
        const int32_t *e = t->edge + 4 * (row - t->points), *f = t->edge + 4 * (size_t)touch->face;
        out[0] = e[0], out[1] = f[0], out[2] = f[1], out[3] = e[1];
        return;
    }
    out[0] = t->point[row];
    for (int j = 0; j < 3; j++) out[1 + j] = t->face[3 * touch->face + j];
}

SIM_ELEMENT void sim_touch_places(const real *records, const int32_t vertex[4], real x[4][3], real v[4][3]) {
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) {
            x[j][i] = sim_place(records, vertex[j])[i];
            v[j][i] = sim_place(records, vertex[j])[SIM_QUAD + i];
        }
}

// The normal of a body's surface at one of its vertices, of length 1.
SIM_ELEMENT void sim_own_normal(const SimTouching *t, const real *records, int32_t vertex, real out[3]) {
    for (int i = 0; i < 3; i++) out[i] = 0;
    for (int32_t r = t->ring_of[vertex]; r < t->ring_of[vertex + 1]; r++)
        sim_add_normal(t->face + 3 * (t->ring[r] / 3), records, t->ring[r] % 3, true, out);
    const real length = num_sqrt(num_dot(out, out));
    for (int i = 0; i < 3; i++) out[i] /= num_max(length, NUM(1e-30));
}

// True only where sim_own_normal points against a normal; most are told so, without angles. A face that is turned
// against it weighs at least the sine of its angle, and any other one pi at most.
SIM_ELEMENT bool sim_surely_against(const SimTouching *t, const real *records, int32_t vertex, const real normal[3]) {
    const real thin = NUM(1e-6); // squared sine of an angle that rounding may hide
    real against = 0, along = 0; // squares of the most that one face weighs
    int others = 0;
    for (int32_t r = t->ring_of[vertex]; r < t->ring_of[vertex + 1]; r++) {
        const int32_t *face = t->face + 3 * (t->ring[r] / 3);
        const int corner = t->ring[r] % 3;
        real b[3], c[3], across[3];
        num_sub(sim_place(records, face[(corner + 1) % 3]), sim_place(records, vertex), b);
        num_sub(sim_place(records, face[(corner + 2) % 3]), sim_place(records, vertex), c);
        num_cross(b, c, across);
        const real turned = num_dot(normal, across), area = num_dot(across, across),
                   sides = num_dot(b, b) * num_dot(c, c);
        if (!(area > thin * sides)) return false;
        if (turned < 0) against = num_max(against, turned * turned / sides);
        else along = num_max(along, turned * turned / area), others++;
    }
    return against > 10 * (real)(others * others) * along + NUM(1e-4);
}

typedef struct SimMeeting {
    int32_t vertex[4]; // of the particle, and the face's corners
    SimNearest nearest;
    real side;
    SimTouchPoint at;
} SimMeeting;

SIM_ELEMENT void sim_meet(const SimTouching *t, const SimBody *body, const real *records, size_t point,
                          SimNearest nearest, SimMeeting *out) {
    const SimTouch touch = {nearest.face, (int16_t)nearest.on, 0, 0};
    real places[4][3], rates[4][3];
    out->nearest = nearest;
    out->side = sim_side(t, body, records, sim_place(records, t->point[point]), nearest);
    sim_touch_vertices(t, point, &touch, out->vertex);
    sim_touch_places(records, out->vertex, places, rates);
    sim_touch_point(nearest.on, out->side, places, &out->at);
}

// The face of `body` that is nearest to a particle, in a row of SimTouching.guess. Both bodies have moved so many
// metres. A search with `own` follows one without.
typedef SimNearest SimLook(const SimTouching *t, const SimBody *body, const real *box, const real *records,
                           const SimSearch *search, size_t row, double moved);

SIM_ELEMENT SimNearest sim_look_anew(const SimTouching *t, const SimBody *body, const real *box, const real *records,
                                     const SimSearch *search, size_t row, double moved) {
    (void)row, (void)moved;
    return sim_nearest(t, body, box, records, search);
}

// Of two solids, no surface is pushed the way it looks: where blocks of one size are stacked, corners lie in the sides
// of the block below, and must go up. So a face that is turned like the particle's own surface gives way to the nearest
// one that is turned against it, if that is less than an eighth of the thinner body away.
SIM_ELEMENT void sim_meet_against(const SimTouching *t, int32_t self, int32_t other, const real *records, size_t point,
                                  SimLook look, size_t row, double moved, SimMeeting *meeting) {
    const real *box = (const real *)t->box + (size_t)other * SIM_RECORD;
    const SimBody *body = &t->body[other];
    real own[3];
    if (sim_surely_against(t, records, t->point[point], meeting->at.normal)) return;
    sim_own_normal(t, records, t->point[point], own);
    if (num_dot(meeting->at.normal, own) < NUM(0.3)) return;
    const SimSearch search = {sim_place(records, t->point[point]), NULL, sim_thinner(t, self, other) / 8, -1, own};
    const SimNearest nearest = look(t, body, box, records, &search, row, moved);
    if (nearest.face >= 0) sim_meet(t, body, records, point, nearest, meeting);
}

// Whether a face, or an edge, is one of a body.
SIM_ELEMENT bool sim_is_of(const SimBody *body, bool edge, int32_t element) {
    const int32_t at = element - (edge ? body->edge : body->face);
    return at >= 0 && at < (edge ? body->edges : body->faces);
}

// The one of SIM_TOUCHES places from `first` on in SimTouching.guess that is kept for body `other`, by a particle or an
// edge of body `self` in the box `around`. Where there is none, one is taken from a body that is not near any more.
SIM_ELEMENT size_t sim_kept_for(const SimTouching *t, size_t first, bool edge, int32_t self, int32_t other,
                                const real *around) {
    for (size_t i = first; i < first + SIM_TOUCHES; i++)
        if (sim_is_of(&t->body[other], edge, t->guess[i])) return i;
    for (size_t i = first; i < first + SIM_TOUCHES; i++) {
        bool used = false;
        for (int32_t k = 0; k < t->nears[self] && t->guess[i] >= 0; k++) {
            const int32_t near = t->near[(size_t)self * t->most + (size_t)k];
            used = used || (sim_is_of(&t->body[near], edge, t->guess[i]) &&
                            sim_boxes_meet(around, (const real *)t->box + (size_t)near * SIM_RECORD, (real)t->reach));
        }
        if (!used) return i;
    }
    return first + (size_t)(other % SIM_TOUCHES);
}

// Writes the touches of particle `point`.
SIM_ELEMENT void sim_find_faces(const SimTouching *t, const real *records, size_t point, SimLook look) {
    const int32_t self = t->point_body[point];
    const real *x = sim_place(records, t->point[point]);
    const real around[SIM_RECORD] = {x[0], x[1], x[2], 0, x[0], x[1], x[2], 0};
    SimTouch *touch = t->touch + SIM_TOUCHES * point;
    int32_t count = 0;
    for (int32_t k = 0; k < t->nears[self] && count < SIM_TOUCHES; k++) {
        const int32_t other = t->near[(size_t)self * t->most + (size_t)k];
        const SimBody *body = &t->body[other];
        const real *box = (const real *)t->box + (size_t)other * SIM_RECORD;
        if (!body->faces || !sim_box_holds(box, (real)t->reach, x)) continue;
        const size_t row = sim_kept_for(t, SIM_TOUCHES * point, false, self, other, around);
        const bool known = sim_is_of(body, false, t->guess[row]);
        const double moved = t->clear ? t->moved[self] + t->moved[other] : 0;
        // Where a soft surface folds through itself, a particle far outside may be inside in the next step.
        if (known && t->clear && (body->rigid || !body->closed || t->still[other]) && moved < t->clear[row]) continue;
        // What has no inside is touched from as far as `reach`; looking twice as far tells how long it will not be.
        const SimSearch search = {x, other == self ? sim_place((const real *)t->rest, t->point[point]) : NULL,
                                  body->closed ? NUM(1e18) : 2 * (real)t->reach, known ? t->guess[row] : -1, NULL};
        const SimNearest nearest = look(t, body, box, records, &search, row, moved);
        t->guess[row] = nearest.face < 0 ? body->face : nearest.face;
        const double unsure = 2 * (double)sim_rounding(t, box);
        if (nearest.face < 0) {
            if (t->clear) t->clear[row] = moved + 0.99 * t->reach - unsure;
            continue;
        }
        SimMeeting met;
        sim_meet(t, body, records, point, nearest, &met);
        if (t->clear) t->clear[row] = moved + 0.99 * ((double)met.at.gap - t->reach) - unsure;
        if (body->closed && t->body[self].closed && met.at.gap <= sim_rounding(t, box))
            sim_meet_against(t, self, other, records, point, look, row, moved, &met);
        if (sim_touch_contact(t, met.vertex[0], met.vertex[1]).margin - met.at.gap > 0)
            touch[count++] =
                (SimTouch){met.nearest.face, (int16_t)met.nearest.on, (int16_t)met.side, (float)met.at.gap};
    }
    t->touches[point] = count;
}

// Writes the touches of a row: of a particle, or behind them of an edge.
SIM_ELEMENT void sim_find_touches(const SimTouching *t, const real *records, size_t row, SimLook look, SimCross cross) {
    if (row < t->points) sim_find_faces(t, records, row, look);
    else sim_find_crossings(t, records, row - t->points, cross);
}

// Writes the parts of touch k of a row: forces, or adjoints where w (vertices, SIM_QUAD) is given.
SIM_ELEMENT void sim_touch_parts(const SimTouching *t, const real *records, const real *w, size_t row, size_t k) {
    const size_t at = SIM_TOUCHES * row + k;
    const SimTouch touch = t->touch[at];
    real *part = (real *)t->part + at * 4 * SIM_RECORD, *slope = (real *)t->slope + at * SIM_QUAD;
    int32_t vertex[4];
    real x[4][3], v[4][3], wanted[4][3], first[4][3], second[4][3];
    sim_touch_vertices(t, row, &touch, vertex);
    sim_touch_places(records, vertex, x, v);
    const SimContact contact = sim_touch_contact(t, vertex[0], vertex[1]);
    SimContact gradient = {0, 0, 0, 0, 0, 0};
    if (w) {
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 3; i++) wanted[j][i] = w[(size_t)vertex[j] * SIM_QUAD + (size_t)i];
        sim_touch_adjoint(&contact, touch.on, touch.side, x, v, wanted, first, second, &gradient);
        slope[0] = gradient.k_e;
        slope[1] = gradient.k_d;
        slope[2] = gradient.k_f;
        slope[3] = gradient.mu;
    } else sim_touch_force(&contact, touch.on, touch.side, x, v, first);
    for (int j = 0; j < 4; j++) {
        part[j * SIM_RECORD + 3] = 0;
        for (int i = 0; i < 3; i++) {
            part[j * SIM_RECORD + i] = first[j][i];
            if (w) part[j * SIM_RECORD + SIM_QUAD + i] = second[j][i];
        }
    }
}

#endif
