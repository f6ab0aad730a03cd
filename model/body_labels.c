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

// Some of the particles, in the tape's memory.
typedef struct Group {
    size_t count;
    int32_t *particle; // (count)
    real *x;           // (count, 3)
} Group;

static Group group_of(Tape *tape, size_t count, const real *x, const int32_t *body, bool moves) {
    Group out = {.particle = tape_context(tape, (count + 1) * sizeof *out.particle),
                 .x = tape_context(tape, (3 * count + 1) * sizeof *out.x)};
    for (size_t i = 0; i < count && !tape->device->failed; i++) {
        if ((body[i] >= 0) != moves) continue;
        memcpy(out.x + 3 * out.count, x + 3 * i, 3 * sizeof *x);
        out.particle[out.count++] = (int32_t)i;
    }
    return out;
}

// (to, k) of the group, nearest first, -1 where there are fewer; `self` as in KnnArgs. NULL if memory is short.
static int32_t *nearest(Tape *tape, const Group *group, size_t to, const real *x, const int32_t *self, int k) {
    int32_t *out = tape_context(tape, (to * (size_t)k + 1) * sizeof *out);
    KnnArgs args = {
        .points = group->count, .queries = to, .point = group->x, .query = x, .self = self, .k = k, .index = out};
    if (!tape->device->failed) knn_host(tape->device, &args);
    return tape->device->failed ? NULL : out;
}

// ---- the surfaces of bodies

// The particles of bodies, with the body of each and the normal of its surface there.
typedef struct Movers {
    Group group;
    int32_t *body, *next; // (count)
    real *normal;         // (count, 3) outward
    double *middle;       // (bodies, 3) sum of places
    double *colour;       // (bodies, 3) sum of colours
    size_t *size;         // (bodies)
    const int32_t *near;  // (count, LISTED), itself among them
} Movers;

static void find_colours(Movers *m, size_t bodies, const real *colour) {
    memset(m->colour, 0, 3 * bodies * sizeof *m->colour);
    for (size_t k = 0; k < 3 * m->group.count; k++)
        m->colour[3 * (size_t)m->body[k / 3] + k % 3] += (double)colour[3 * (size_t)m->group.particle[k / 3] + k % 3];
}

// Whether two bodies have different hues, c / (c_1 + c_2 + c_3 + 0.1) of their mean colour c.
static bool differ(const Movers *m, int32_t a, int32_t b) {
    const double *x = m->colour + 3 * (size_t)a, *y = m->colour + 3 * (size_t)b;
    double light_x = x[0] + x[1] + x[2] + 0.1 * (double)m->size[a], apart = 0,
           light_y = y[0] + y[1] + y[2] + 0.1 * (double)m->size[b];
    for (int c = 0; c < 3; c++) apart += (x[c] / light_x - y[c] / light_y) * (x[c] / light_x - y[c] / light_y);
    return apart > HUE * HUE;
}

static void find_middles(Movers *m, size_t bodies) {
    memset(m->middle, 0, 3 * bodies * sizeof *m->middle);
    memset(m->size, 0, bodies * sizeof *m->size);
    for (size_t i = 0; i < m->group.count; i++) {
        for (size_t c = 0; c < 3; c++) m->middle[3 * (size_t)m->body[i] + c] += (double)m->group.x[3 * i + c];
        m->size[m->body[i]]++;
    }
}

// Away from the middle of the body.
static void find_normal(Movers *m, size_t i) {
    const int32_t *near = m->near + i * LISTED;
    real x[3 * SURFACE];
    PlaneFit plane;
    double outward = 0;
    size_t count = 1, b = (size_t)m->body[i];
    memcpy(x, m->group.x + 3 * i, 3 * sizeof *x);
    for (size_t k = 0; k < LISTED && near[k] >= 0 && count < SURFACE; k++)
        if ((size_t)near[k] != i && m->body[near[k]] == m->body[i])
            memcpy(x + 3 * count++, m->group.x + 3 * (size_t)near[k], 3 * sizeof *x);
    plane_fit_near(x, count, 0, &plane);
    for (size_t c = 0; c < 3; c++)
        outward += (double)plane.normal[c] * ((double)x[c] - m->middle[3 * b + c] / (double)m->size[b]);
    for (size_t c = 0; c < 3; c++) m->normal[3 * i + c] = outward < 0 ? -plane.normal[c] : plane.normal[c];
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
static void settle_movers(Movers *m, size_t bodies, const real *colour, double dispute) {
    for (int round = 0; round <= ROUNDS; round++) {
        find_middles(m, bodies);
        find_colours(m, bodies, colour);
        for (size_t i = 0; i < m->group.count; i++) find_normal(m, i);
        for (size_t i = 0; i < m->group.count; i++) m->next[i] = judge(m, i, round == ROUNDS, dispute);
        if (round < ROUNDS) memcpy(m->body, m->next, m->group.count * sizeof *m->body);
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

// Those that stand still and are among the nearest of a particle of a body, by index in `still`.
static Group find_candidates(Tape *tape, const Group *still, const Movers *m) {
    Group out = {.particle = tape_context(tape, (still->count + 1) * sizeof *out.particle),
                 .x = tape_context(tape, (3 * still->count + 1) * sizeof *out.x)};
    bool *is = tape_context(tape, still->count + 1);
    const int32_t *near = nearest(tape, still, m->group.count, m->group.x, NULL, SURFACE);
    if (!near) return (Group){0};
    memset(is, 0, still->count);
    for (size_t k = 0; k < m->group.count * SURFACE; k++)
        if (near[k] >= 0) is[near[k]] = true;
    for (size_t i = 0; i < still->count; i++) {
        if (!is[i]) continue;
        memcpy(out.x + 3 * out.count, still->x + 3 * i, 3 * sizeof *out.x);
        out.particle[out.count++] = (int32_t)i;
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

static void settle_still(Tape *tape, double extent, const Group *still, const Movers *m, int32_t *body) {
    Group who = find_candidates(tape, still, m);
    if (tape->device->failed || !who.count) return;
    const int32_t *around = nearest(tape, still, who.count, who.x, who.particle, SURFACE),
                  *near = nearest(tape, &m->group, who.count, who.x, NULL, LISTED);
    for (size_t i = 0; i < who.count && around && near; i++) {
        const real *x = who.x + 3 * i;
        double height = height_of(still, x, around + i * SURFACE, STANDS_OUT * extent);
        if (height > 0 && height < PLANE * extent)
            body[still->particle[who.particle[i]]] = body_around(m, x, near + i * LISTED, height, DISPUTE * extent);
    }
}

// ---- all of it

static size_t numbers_of(size_t count, const int32_t *body) {
    int32_t most = -1;
    for (size_t i = 0; i < count; i++) most = body[i] > most ? body[i] : most;
    return (size_t)(most + 1);
}

void body_labels_settle(Tape *tape, double extent, size_t count, const real *x, const real *colour, int32_t *body) {
    size_t bodies = numbers_of(count, body);
    if (!bodies) return;
    Movers m = {.group = group_of(tape, count, x, body, true)};
    Group still = group_of(tape, count, x, body, false);
    size_t n = m.group.count;
    m.body = tape_context(tape, (n + 1) * sizeof *m.body);
    m.next = tape_context(tape, (n + 1) * sizeof *m.next);
    m.normal = tape_context(tape, (3 * n + 1) * sizeof *m.normal);
    m.middle = tape_context(tape, 3 * bodies * sizeof *m.middle);
    m.colour = tape_context(tape, 3 * bodies * sizeof *m.colour);
    m.size = tape_context(tape, bodies * sizeof *m.size);
    if (tape->device->failed) return;
    for (size_t i = 0; i < n; i++) m.body[i] = body[m.group.particle[i]];
    m.near = nearest(tape, &m.group, n, m.group.x, NULL, LISTED);
    if (!m.near) return;
    settle_movers(&m, bodies, colour, DISPUTE * extent);
    if (still.count) settle_still(tape, extent, &still, &m, body);
    for (size_t i = 0; i < n; i++) body[m.group.particle[i]] = m.next[i];
}
