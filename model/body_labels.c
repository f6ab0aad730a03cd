// SPDX-License-Identifier: Apache-2.0
#include "model/body_labels.h"

#include "motion/plane_fit.h"
#include "nn/knn.h"

#include <math.h>
#include <string.h>

enum {
    LISTED = 48, // particles near to one that are looked at
    BESIDE = 12, // the nearest of these, itself included, whose bodies it may be of
    SURFACE = 8, // particles of a body to which it is compared
    FEWEST = 4,  // a body with fewer is not one of those that it may be of
    CLOSEST = 3, // particles that its distance from a body is measured to
    ROUNDS = 2
};
static const double DISTANCE = 0.2;    // weight of that distance, beside the height above the body
static const double DISPUTE = 0.0015;  // times X: a particle is disputed if two bodies are so much alike
static const double HUE = 0.05;        // and their hues so far apart: pieces of one thing may share a rim
static const double STANDS_OUT = 5e-4; // times X: the least height of a particle that is no longer floor,
static const double PLANE = 0.0025;    // times X: up to which a particle may have been taken for floor (appendix D.4),
static const double HEIGHTS = 4;       // or so many times that of those around it

// ---- particles near to each other

// Some of the particles of all scenes, scene by scene, in the tape's memory.
typedef struct Group {
    size_t count, scenes;
    int32_t *first;      // (scenes + 1) where each scene begins
    real *x;             // (count, 3)
    const real **colour; // (count) rgb of each
    int32_t **body;      // (count) where the number of its body stands
} Group;

static Group group_make(Tape *tape, size_t scenes, size_t room) {
    return (Group){.scenes = scenes,
                   .first = tape_context(tape, (scenes + 1) * sizeof(int32_t)),
                   .x = tape_context(tape, (3 * room + 1) * sizeof(real)),
                   .colour = tape_context(tape, (room + 1) * sizeof(real *)),
                   .body = tape_context(tape, (room + 1) * sizeof(int32_t *))};
}

static void group_add(Group *group, const real *x, const real *colour, int32_t *body) {
    memcpy(group->x + 3 * group->count, x, 3 * sizeof *x);
    group->colour[group->count] = colour;
    group->body[group->count++] = body;
}

// Those of bodies, or those that stand still, of scenes with bodies. bodies (scenes): their numbers of bodies.
static Group group_of(Tape *tape, size_t scenes, const LabelledParticles *all, const size_t *bodies, bool moves) {
    size_t room = 0;
    for (size_t s = 0; s < scenes; s++) room += bodies[s] ? all[s].count : 0;
    Group out = group_make(tape, scenes, room);
    for (size_t s = 0; s < scenes && !tape->device->failed; s++) {
        const LabelledParticles *p = &all[s];
        for (size_t i = 0; i < p->count && bodies[s]; i++)
            if ((p->body[i] >= 0) == moves) group_add(&out, p->x + 3 * i, p->colour + 3 * i, &p->body[i]);
        out.first[s + 1] = (int32_t)out.count;
    }
    return out;
}

// For each particle of `to`, its k nearest of `of` in its scene (to, k), nearest first, -1 where there are fewer;
// `self` as in KnnArgs. NULL if memory is short.
static int32_t *nearest(Tape *tape, const Group *of, const Group *to, const int32_t *self, int k) {
    int32_t *out = tape_context(tape, (to->count * (size_t)k + 1) * sizeof *out);
    KnnArgs args = {.points = of->count,
                    .queries = to->count,
                    .point = of->x,
                    .query = to->x,
                    .point_scenes = {of->scenes, of->first},
                    .query_scenes = {to->scenes, to->first},
                    .self = self,
                    .k = k,
                    .index = out};
    if (!tape->device->failed) knn_host(tape->device, &args);
    return tape->device->failed ? NULL : out;
}

// ---- the surfaces of bodies

// The particles of bodies, with the body of each and the normal of its surface there. Bodies of all scenes are numbered
// together.
typedef struct Movers {
    Group group;
    size_t bodies;
    int32_t *number; // (bodies) of each in its own scene
    int threads;
    int32_t *body;       // (count)
    int32_t *before;     // (count) in the round before
    int32_t *next;       // (count) in the next one
    real *plane;         // (count, 3) the normal, or its opposite
    real *normal;        // (count, 3) outward
    double *middle;      // (bodies, 3) sum of places
    double *colour;      // (bodies, 3) sum of colours
    size_t *size;        // (bodies)
    const int32_t *near; // (count, LISTED), itself among them
} Movers;

static void find_colours(Movers *m) {
    memset(m->colour, 0, 3 * m->bodies * sizeof *m->colour);
    for (size_t k = 0; k < 3 * m->group.count; k++)
        m->colour[3 * (size_t)m->body[k / 3] + k % 3] += (double)m->group.colour[k / 3][k % 3];
}

// Whether two bodies have different hues, c / (c_1 + c_2 + c_3 + 0.1) of their mean colour c.
static bool differ(const Movers *m, int32_t a, int32_t b) {
    const double *x = m->colour + 3 * (size_t)a, *y = m->colour + 3 * (size_t)b;
    double light_x = x[0] + x[1] + x[2] + 0.1 * (double)m->size[a], apart = 0,
           light_y = y[0] + y[1] + y[2] + 0.1 * (double)m->size[b];
    for (int c = 0; c < 3; c++) apart += (x[c] / light_x - y[c] / light_y) * (x[c] / light_x - y[c] / light_y);
    return apart > HUE * HUE;
}

static void find_middles(Movers *m) {
    memset(m->middle, 0, 3 * m->bodies * sizeof *m->middle);
    memset(m->size, 0, m->bodies * sizeof *m->size);
    for (size_t i = 0; i < m->group.count; i++) {
        for (size_t c = 0; c < 3; c++) m->middle[3 * (size_t)m->body[i] + c] += (double)m->group.x[3 * i + c];
        m->size[m->body[i]]++;
    }
}

static void fit_plane(const Movers *m, size_t i) {
    const int32_t *near = m->near + i * LISTED;
    real x[3 * SURFACE];
    PlaneFit plane;
    size_t count = 1;
    memcpy(x, m->group.x + 3 * i, 3 * sizeof *x);
    for (size_t k = 0; k < LISTED && near[k] >= 0 && count < SURFACE; k++)
        if ((size_t)near[k] != i && m->body[near[k]] == m->body[i])
            memcpy(x + 3 * count++, m->group.x + 3 * (size_t)near[k], 3 * sizeof *x);
    plane_fit_near(x, count, 0, &plane);
    memcpy(m->plane + 3 * i, plane.normal, 3 * sizeof *m->plane);
}

// Whether a particle, or one of those near to it, had another body in the round before.
static bool has_changed(const Movers *m, size_t i) {
    const int32_t *near = m->near + i * LISTED;
    bool changed = m->before[i] != m->body[i];
    for (size_t k = 0; k < LISTED && near[k] >= 0 && !changed; k++) changed = m->before[near[k]] != m->body[near[k]];
    return changed;
}

// Away from the middle of the body.
static void find_normal(const Movers *m, size_t i) {
    const real *x = m->group.x + 3 * i, *plane = m->plane + 3 * i;
    double outward = 0;
    size_t b = (size_t)m->body[i];
    for (size_t c = 0; c < 3; c++)
        outward += (double)plane[c] * ((double)x[c] - m->middle[3 * b + c] / (double)m->size[b]);
    for (size_t c = 0; c < 3; c++) m->normal[3 * i + c] = outward < 0 ? -plane[c] : plane[c];
}

// How far a place is outside a body, and its distance from it. `near` (LISTED) are the particles near to the place.
typedef struct Beside {
    double height, distance; // infinite if the body has too few particles there
} Beside;

static Beside beside(const Movers *m, const real *x, const int32_t *near, int32_t self, int32_t body) {
    Beside out = {0};
    size_t found = 0;
    for (size_t k = 0; k < LISTED && near[k] >= 0 && found < SURFACE; k++) {
        double above = 0, d2 = 0;
        if (near[k] == self || m->body[near[k]] != body) continue;
        for (size_t c = 0; c < 3; c++) {
            double apart = (double)x[c] - (double)m->group.x[3 * (size_t)near[k] + c];
            above += apart * (double)m->normal[3 * (size_t)near[k] + c];
            d2 += apart * apart;
        }
        if (found++ < CLOSEST) out.distance += sqrt(d2) / CLOSEST;
        out.height = fmax(out.height, above);
    }
    return found < FEWEST ? (Beside){INFINITY, INFINITY} : out;
}

// ---- particles between bodies

static bool is_contested(const Movers *m, size_t i) {
    const int32_t *near = m->near + i * LISTED;
    for (size_t k = 0; k < BESIDE && near[k] >= 0; k++)
        if (m->body[near[k]] != m->body[i]) return true;
    return false;
}

// The body to which a particle belongs best, if that is better by `ahead` than its own; `rival`: the second best, or
// -1, and how much worse it is.
static int32_t best_body(const Movers *m, size_t i, double ahead, int32_t *rival, double *margin) {
    const int32_t *near = m->near + i * LISTED;
    double best = INFINITY, second = INFINITY;
    int32_t body = m->body[i];
    *rival = -1;
    for (size_t k = 0; k < BESIDE && near[k] >= 0; k++) {
        int32_t b = m->body[near[k]];
        bool again = false;
        for (size_t j = 0; j < k; j++) again |= m->body[near[j]] == b;
        if (again) continue;
        Beside to = beside(m, m->group.x + 3 * i, near, (int32_t)i, b);
        double off = to.height + DISTANCE * to.distance - (b == m->body[i] ? ahead : 0);
        if (off < best) second = best, *rival = best < INFINITY ? body : -1, best = off, body = b;
        else if (off < second) second = off, *rival = b;
    }
    *margin = second - best;
    return body;
}

// The body of a particle after a round, or whether it is disputed after the last.
static int32_t judge(const Movers *m, size_t i, bool last, double dispute) {
    double margin;
    int32_t rival, best;
    if (!is_contested(m, i)) return m->body[i];
    best = best_body(m, i, last ? 0 : dispute, &rival, &margin);
    if (!last) return best;
    return rival >= 0 && margin < dispute && differ(m, best, rival) ? BODY_DISPUTED : m->body[i];
}

// All particles are judged before any is changed.
static void settle_movers(Movers *m, double dispute) {
    size_t count = m->group.count;
    for (int round = 0; round <= ROUNDS; round++) {
        find_middles(m);
        find_colours(m);
#pragma omp parallel for schedule(static) num_threads(m->threads) if (count > 64)
        for (size_t i = 0; i < count; i++) {
            if (round == 0 || has_changed(m, i)) fit_plane(m, i);
            find_normal(m, i);
        }
#pragma omp parallel for schedule(dynamic, 64) num_threads(m->threads) if (count > 64)
        for (size_t i = 0; i < count; i++) m->next[i] = judge(m, i, round == ROUNDS, dispute);
        if (round == ROUNDS) continue;
        memcpy(m->before, m->body, count * sizeof *m->body);
        memcpy(m->body, m->next, count * sizeof *m->body);
    }
}

// ---- particles between a body and what stands still

// How far a place is out of the plane of the points near to it, where that is more than the errors of these points;
// else 0.
static double height_of(const Group *still, const real *x, const int32_t *near, double least) {
    real at[3 * SURFACE];
    PlaneFit plane;
    double own = 0, square = 0, height[SURFACE] = {0};
    size_t count = 0;
    for (; count < SURFACE && near[count] >= 0; count++)
        memcpy(at + 3 * count, still->x + 3 * (size_t)near[count], 3 * sizeof *at);
    if (count < FEWEST) return 0;
    plane_fit_near(at, count, 0, &plane);
    for (size_t k = 0; k < 3 * count; k++)
        height[k / 3] += (double)plane.normal[k % 3] * ((double)at[k] - (double)x[k % 3]);
    for (size_t k = 0; k < count; k++) own += height[k] / (double)count;
    for (size_t k = 0; k < count; k++) square += (height[k] - own) * (height[k] - own) / (double)count;
    return fabs(own) > fmax(least, HEIGHTS * sqrt(square)) ? fabs(own) : 0;
}

// Those that stand still and are among the nearest of a particle of a body. self (candidates): the number of each in
// `still`.
static Group find_candidates(Tape *tape, const Group *still, const Movers *m, int32_t *self) {
    Group out = group_make(tape, still->scenes, still->count);
    bool *is = tape_context(tape, still->count + 1);
    const int32_t *near = nearest(tape, still, &m->group, NULL, SURFACE);
    if (!near) return (Group){0};
    for (size_t k = 0; k < m->group.count * SURFACE; k++)
        if (near[k] >= 0) is[near[k]] = true;
    for (size_t s = 0; s < still->scenes; s++) {
        for (size_t i = (size_t)still->first[s]; i < (size_t)still->first[s + 1]; i++) {
            if (!is[i]) continue;
            self[out.count] = (int32_t)i;
            group_add(&out, still->x + 3 * i, still->colour[i], still->body[i]);
        }
        out.first[s + 1] = (int32_t)out.count;
    }
    return out;
}

// The body that a place is outside less far than out of what stands still; -1: none.
static int32_t body_around(const Movers *m, const real *x, const int32_t *near, double height, double dispute) {
    int32_t best = -1;
    double least = INFINITY;
    for (size_t k = 0; k < BESIDE && near[k] >= 0; k++) {
        double above = beside(m, x, near, -1, m->body[near[k]]).height;
        if (above < least) least = above, best = m->body[near[k]];
    }
    if (best >= 0 && fabs(least - height) < dispute) return BODY_DISPUTED;
    return least < height ? best : -1;
}

static int32_t number_of(const Movers *m, int32_t body) { return body < 0 ? body : m->number[body]; }

static void settle_still(Tape *tape, double extent, const Group *still, const Movers *m) {
    int32_t *self = tape_context(tape, (still->count + 1) * sizeof *self);
    Group who = find_candidates(tape, still, m, self);
    if (tape->device->failed || !who.count) return;
    const int32_t *around = nearest(tape, still, &who, self, SURFACE),
                  *near = nearest(tape, &m->group, &who, NULL, LISTED);
    if (!around || !near) return;
#pragma omp parallel for schedule(dynamic, 64) num_threads(m->threads) if (who.count > 64)
    for (size_t i = 0; i < who.count; i++) {
        const real *x = who.x + 3 * i;
        double height = height_of(still, x, around + i * SURFACE, STANDS_OUT * extent);
        if (height > 0 && height < PLANE * extent)
            *who.body[i] = number_of(m, body_around(m, x, near + i * LISTED, height, DISPUTE * extent));
    }
}

// ---- all of it

static size_t bodies_of(const LabelledParticles *p) {
    int32_t most = -1;
    for (size_t i = 0; i < p->count; i++) most = p->body[i] > most ? p->body[i] : most;
    return (size_t)(most + 1);
}

// Gives the particles of bodies, and the bodies of all scenes, their numbers. bodies (scenes): how many each has.
static Movers find_movers(Tape *tape, size_t scenes, const LabelledParticles *all, const size_t *bodies) {
    Movers m = {.group = group_of(tape, scenes, all, bodies, true), .threads = tape->device->threads};
    size_t n = m.group.count, first = 0;
    for (size_t s = 0; s < scenes; s++) m.bodies += bodies[s];
    m.number = tape_context(tape, m.bodies * sizeof *m.number);
    m.body = tape_context(tape, (n + 1) * sizeof *m.body);
    m.before = tape_context(tape, (n + 1) * sizeof *m.before);
    m.next = tape_context(tape, (n + 1) * sizeof *m.next);
    m.plane = tape_context(tape, (3 * n + 1) * sizeof *m.plane);
    m.normal = tape_context(tape, (3 * n + 1) * sizeof *m.normal);
    m.middle = tape_context(tape, 3 * m.bodies * sizeof *m.middle);
    m.colour = tape_context(tape, 3 * m.bodies * sizeof *m.colour);
    m.size = tape_context(tape, m.bodies * sizeof *m.size);
    for (size_t s = 0; s < scenes && !tape->device->failed; first += bodies[s++]) {
        for (size_t b = 0; b < bodies[s]; b++) m.number[first + b] = (int32_t)b;
        for (int32_t i = m.group.first[s]; i < m.group.first[s + 1]; i++) m.body[i] = (int32_t)first + *m.group.body[i];
    }
    return m;
}

void body_labels_settle(Tape *tape, double extent, size_t scenes, const LabelledParticles *particles) {
    size_t *bodies = tape_context(tape, (scenes + 1) * sizeof *bodies), all = 0;
    for (size_t s = 0; bodies && s < scenes; s++) all += bodies[s] = bodies_of(&particles[s]);
    if (!all) return;
    Movers m = find_movers(tape, scenes, particles, bodies);
    Group still = group_of(tape, scenes, particles, bodies, false);
    if (tape->device->failed) return;
    m.near = nearest(tape, &m.group, &m.group, NULL, LISTED);
    if (!m.near) return;
    settle_movers(&m, DISPUTE * extent);
    if (still.count) settle_still(tape, extent, &still, &m);
    for (size_t i = 0; i < m.group.count; i++) *m.group.body[i] = number_of(&m, m.next[i]);
}
