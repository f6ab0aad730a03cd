// SPDX-License-Identifier: Apache-2.0
#include "bodies/body_inputs.h"

#include "bodies/outside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void body_inputs_free(BodyInputs *in) {
    free(in->velocity);
    free(in->carried);
    free(in->goal);
    free(in->feature);
    free(in->hearer);
    free(in->heard);
    free(in->hears);
    free(in->contact);
    free(in->geometry);
    free(in->body);
    free(in->count);
    free(in->window);
    *in = (BodyInputs){0};
}

static Status reserve(BodyInputs *in, size_t nodes, size_t bodies, Error *err) {
    if (nodes <= in->node_room && bodies <= in->body_room) return STATUS_OK;
    body_inputs_free(in);
    size_t n = 2 * nodes, b = 2 * bodies, pairs = n * BODY_CONTACTS;
    in->velocity = malloc(n * 3 * sizeof *in->velocity);
    in->carried = malloc(n * 3 * sizeof *in->carried);
    in->goal = malloc(n * 3 * sizeof *in->goal);
    in->feature = malloc(n * BODY_FEATURES * sizeof *in->feature);
    in->hearer = malloc(pairs * sizeof *in->hearer);
    in->heard = malloc(pairs * sizeof *in->heard);
    in->hears = malloc(n * sizeof *in->hears);
    in->contact = malloc(pairs * sizeof *in->contact);
    in->geometry = malloc(pairs * BODY_GEOMETRY * sizeof *in->geometry);
    in->body = malloc(n * sizeof *in->body);
    in->count = malloc(b * sizeof *in->count);
    in->window = malloc(b * sizeof *in->window);
    in->node_room = n, in->body_room = b;
    if (in->velocity && in->carried && in->goal && in->feature && in->hearer && in->heard && in->hears && in->contact &&
        in->geometry && in->body && in->count && in->window)
        return STATUS_OK;
    body_inputs_free(in);
    return error_set(err, STATUS_FAILED, "out of memory for the inputs of %zu nodes", nodes);
}

// A body set whose inputs are being made, and one body of it.
typedef struct Making {
    const BodySet *set;
    const BodyScales *scales;
    BodyInputs *in;
    size_t window, body, first, last;
    real middle[3]; // of the body's nodes
} Making;

// The columns of a node's features, as body_inputs.h lists them.
enum {
    PLACE = 0,
    VELOCITY = 3,
    RELATIVE = 6,
    OF_BODY = 9,
    NORMAL = 12,
    DISTANCE = 15,
    APPROACH,
    LEAST,
    OUTWARDS,
    DRIVEN = OUTWARDS + 3
};
_Static_assert(DRIVEN + 1 == BODY_FEATURES, "each column has its place");

// ---- surfaces

static void see_surfaces(const Making *m) {
    real least = m->scales->reach;
    double square = 0;
    NearPatches near;
    for (size_t i = m->first; i < m->last; i++) square = fmax(square, squared_distance(m->set->now + 3 * i, m->middle));
    surfaces_about(m->set, m->window, m->middle, m->middle, sqrt(square), m->scales->reach, &near);
    for (size_t i = m->first; i < m->last; i++) {
        const real *now = m->set->now + 3 * i, *velocity = m->in->velocity + 3 * i;
        real *out = m->in->feature + BODY_FEATURES * i, distance, along = 0;
        const SurfacePatch *patch = surface_near(&near, now, &distance);
        for (int c = 0; c < 3; c++) {
            out[NORMAL + c] = patch ? patch->normal[c] : 0;
            along += out[NORMAL + c] * velocity[c];
        }
        out[DISTANCE] = distance / m->scales->length;
        out[APPROACH] = along / m->scales->speed;
        least = distance < least ? distance : least;
    }
    for (size_t i = m->first; i < m->last; i++) m->in->feature[BODY_FEATURES * i + LEAST] = least / m->scales->length;
}

// ---- a body's own motion

// Of a driven body, the velocity that it will have.
static void see_velocity(const Making *m, const RigidMotion *given, size_t i) {
    const real *now = m->set->now + 3 * i, *before = m->set->before + 3 * i;
    real *velocity = m->in->velocity + 3 * i, there[3];
    if (given) rigid_motion_apply(given, now, there);
    for (int c = 0; c < 3; c++) velocity[c] = given ? there[c] - now[c] : now[c] - before[c];
    m->in->feature[BODY_FEATURES * i + DRIVEN] = given ? 1 : 0;
}

// Where the nodes go if the motion of the last step is repeated.
static void carry_on(Making *m) {
    const BodySet *set = m->set;
    RigidMotion last = rigid_motion_fit(m->last - m->first, set->before + 3 * m->first, set->now + 3 * m->first),
                next = last;
    for (int c = 0; c < 3; c++) {
        next.from[c] = last.to[c];
        next.to[c] = last.to[c] + (last.to[c] - last.from[c]);
        m->middle[c] = (real)last.to[c];
    }
    for (size_t i = m->first; i < m->last; i++) {
        real there[3];
        rigid_motion_apply(&next, set->now + 3 * i, there);
        for (int c = 0; c < 3; c++) m->in->carried[3 * i + (size_t)c] = there[c] - set->now[3 * i + (size_t)c];
    }
}

// Positions and velocities.
static void see_own_motion(Making *m) {
    const BodySet *set = m->set;
    double velocity[3] = {0}, unit = (double)m->scales->speed, count = (double)(m->last - m->first);
    carry_on(m);
    for (size_t i = m->first; i < m->last; i++) {
        see_velocity(m, set->given[m->body], i);
        for (int c = 0; c < 3; c++) velocity[c] += (double)m->in->velocity[3 * i + (size_t)c] / count;
    }
    for (size_t i = m->first; i < m->last; i++) {
        real *out = m->in->feature + BODY_FEATURES * i;
        for (size_t c = 0; c < 3; c++) {
            double v = (double)m->in->velocity[3 * i + c];
            out[PLACE + c] = (set->now[3 * i + c] - m->middle[c]) / m->scales->length;
            out[VELOCITY + c] = (real)(v / unit);
            out[RELATIVE + c] = (real)((v - velocity[c]) / unit);
            out[OF_BODY + c] = (real)(velocity[c] / unit);
            out[OUTWARDS + c] = set->normal[3 * i + c];
        }
    }
}

// ---- other bodies

// Looks for nodes nearer to node i than those found, among nodes first .. last - 1.
static void look_among(const Making *m, size_t i, size_t first, size_t last, double *found, int32_t *contact) {
    for (size_t j = first; j < last; j++) {
        double d2 = squared_distance(m->set->now + 3 * j, m->set->now + 3 * i);
        size_t at = BODY_CONTACTS;
        while (at > 0 && d2 < found[at - 1]) at--;
        if (at == BODY_CONTACTS) continue;
        for (size_t k = BODY_CONTACTS - 1; k > at; k--) found[k] = found[k - 1], contact[k] = contact[k - 1];
        found[at] = d2, contact[at] = (int32_t)j;
    }
}

// The nodes of the window's other bodies nearest to node i; -1: there are fewer.
static void find_contacts(const Making *m, size_t i, int32_t contact[BODY_CONTACTS]) {
    const BodySet *set = m->set;
    double reach = (double)m->scales->reach, found[BODY_CONTACTS];
    for (size_t k = 0; k < BODY_CONTACTS; k++) found[k] = reach * reach, contact[k] = -1;
    look_among(m, i, set->first_node[set->first_body[m->window]], m->first, found, contact);
    look_among(m, i, m->last, set->first_node[set->first_body[m->window + 1]], found, contact);
}

// The columns of a pair's geometry, as body_inputs.h lists them.
enum { OTHER = 0, CLOSING = 3, APART = 6, FACE = 7, ABOVE = 10, AWAY };
_Static_assert(AWAY + 1 == BODY_GEOMETRY, "each column has its place");

static void see_pair(const BodySet *set, const BodyScales *scales, const real *velocity, size_t i, size_t j,
                     real *out) {
    const real *x = set->now + 3 * i, *y = set->now + 3 * j, *u = velocity + 3 * i, *v = velocity + 3 * j,
               *normal = set->normal + 3 * j;
    out[ABOVE] = out[AWAY] = 0;
    for (int c = 0; c < 3; c++) {
        out[OTHER + c] = (y[c] - x[c]) / scales->length;
        out[CLOSING + c] = (v[c] - u[c]) / scales->speed;
        out[FACE + c] = normal[c];
        out[ABOVE] -= out[OTHER + c] * normal[c];
        out[AWAY] -= out[CLOSING + c] * normal[c];
    }
    out[APART] = (real)sqrt(squared_distance(x, y)) / scales->length;
}

static void find_heard(const Making *m) {
    for (size_t i = m->first; i < m->last; i++) {
        int32_t *contact = m->in->contact + BODY_CONTACTS * i;
        find_contacts(m, i, contact);
        m->in->hears[i] = 0;
        while (m->in->hears[i] < BODY_CONTACTS && contact[m->in->hears[i]] >= 0) m->in->hears[i]++;
    }
}

// Lists the pairs in the order of the nodes.
static void list_pairs(const BodySet *set, BodyInputs *in) {
    in->pairs = 0;
    for (size_t i = 0; i < set->nodes; i++)
        for (int32_t k = 0; k < in->hears[i]; k++, in->pairs++)
            in->hearer[in->pairs] = (int32_t)i, in->heard[in->pairs] = in->contact[BODY_CONTACTS * i + (size_t)k];
}

static void make_body(const BodySet *set, const BodyScales *scales, BodyInputs *in, size_t b) {
    Making m = {set, scales, in, (size_t)in->window[b], b, set->first_node[b], set->first_node[b + 1], {0}};
    in->count[b] = (int32_t)(m.last - m.first);
    for (size_t i = m.first; i < m.last; i++) in->body[i] = (int32_t)b;
    see_own_motion(&m);
    see_surfaces(&m);
    find_heard(&m);
}

Status body_inputs_make(const BodySet *set, const BodyScales *scales, int threads, BodyInputs *in, Error *err) {
    Status status = reserve(in, set->nodes, set->bodies, err);
    if (status != STATUS_OK) return status;
    for (size_t w = 0; w < set->windows; w++)
        for (size_t b = set->first_body[w]; b < set->first_body[w + 1]; b++) in->window[b] = (int32_t)w;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (set->bodies > 1)
    for (size_t b = 0; b < set->bodies; b++) make_body(set, scales, in, b);
    list_pairs(set, in);
#pragma omp parallel for schedule(static) num_threads(threads) if (in->pairs > 64)
    for (size_t pair = 0; pair < in->pairs; pair++)
        see_pair(set, scales, in->velocity, (size_t)in->hearer[pair], (size_t)in->heard[pair],
                 in->geometry + BODY_GEOMETRY * pair);
    return STATUS_OK;
}

// Whether nodes move less than `still` in the last time step and in the next.
static bool rests(size_t count, const real *before, const real *now, const RigidMotion *motion, double still) {
    for (size_t i = 0; i < 3 * count; i += 3) {
        real next[3];
        rigid_motion_apply(motion, now + i, next);
        if (fmax(squared_distance(before + i, now + i), squared_distance(next, now + i)) >= still * still) return false;
    }
    return true;
}

static RigidMotion motion_of(const BodySet *set, const BodyScales *scales, const BodyInputs *in, size_t b) {
    size_t first = set->first_node[b], count = set->first_node[b + 1] - first;
    const real *now = set->now + 3 * first;
    RigidMotion motion = rigid_motion_fit(count, now, in->goal + 3 * first);
    bool still = rests(count, set->before + 3 * first, now, &motion, (double)scales->still);
    return still ? rigid_motion_fit(count, now, now) : motion;
}

void body_motions(const BodySet *set, const BodyScales *scales, int threads, BodyInputs *in, const real *output,
                  RigidMotion *motion) {
    for (size_t i = 0; i < 3 * set->nodes; i++) in->goal[i] = set->now[i] + in->carried[i] + scales->step * output[i];
#pragma omp parallel for schedule(static) num_threads(threads) if (set->bodies > 1)
    for (size_t b = 0; b < set->bodies; b++) motion[b] = set->given[b] ? *set->given[b] : motion_of(set, scales, in, b);
    bodies_stay_outside(set, scales, threads, motion);
}
