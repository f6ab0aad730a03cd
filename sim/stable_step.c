// SPDX-License-Identifier: Apache-2.0
// A bound on the time step, from rows of the stiffness matrix K and the damping matrix C in the rest pose (Gershgorin):
// with k and c the largest row sums of |K|/m and |C|/m, no oscillation grows while dt^2 k + 2 dt c < 4. Of rigid bodies
// k and c are the largest eigenvalues (sim/stable_rigid.h).
#include "sim/rest_shape.h"
#include "sim/stable_rigid.h"
#include "sim/topology.h"

#include <math.h>
#include <stdlib.h>

typedef struct Rows {
    double *k, *c;                // (N) of one scene, each a sum over what acts on the particle
    double *turn[2];              // (hinges) stiffness and damping against turning, with those of limits and friction
    double *slide[2];             // (slides) the same against sliding
    double *socket[2], *swing[2]; // (sockets) against turning, and more across their axis
    uint8_t *surface;             // (N) 1: may touch another body
    int32_t *scratch;             // (2,N), (springs), (hinges), (slides) and (sockets)
} Rows;

static double at(const SimValues *values, SimValue v, size_t i) { return values->of[v] ? values->of[v][i] : 0; }

static void add_springs(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->springs; e++)
        for (size_t j = 0; j < 2; j++) {
            const int32_t end = m->spring[2 * e + j];
            if (m->rigids && m->rigid[end] >= 0) continue; // sim/stable_rigid.h
            rows->k[end] += 2 * at(values, SIM_SPRING_KE, scene * m->springs + e);
            rows->c[end] += 2 * at(values, SIM_SPRING_KD, scene * m->springs + e);
        }
}

static double length_of(const double b[3]) { return sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]); }

// Lengths of the gradients of the four shape functions; false when the tet is flat.
static bool gradients_of(const double *rest, const int32_t particles[4], double out[4], double *volume) {
    RestShape shape;
    double sum[3] = {0};
    if (!rest || !rest_shape_of(rest, particles, &shape)) return false;
    for (int k = 0; k < 3; k++) {
        out[k + 1] = length_of(shape.inverse + 3 * k);
        for (int c = 0; c < 3; c++) sum[c] += shape.inverse[3 * k + c];
    }
    out[0] = length_of(sum);
    *volume = shape.volume;
    return true;
}

// Compression waves see lambda + 7/8 mu (the P-wave modulus of small strain); damping by strain 4 k_d, and k_d of
// volume.
static void add_tets(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->tets; e++) {
        double b[4], volume;
        const double *rest = values->of[SIM_REST] ? values->of[SIM_REST] + 3 * scene * m->particles : NULL;
        if (!gradients_of(rest, m->tet + 4 * e, b, &volume)) continue;
        const size_t i = scene * m->tets + e;
        const double k = at(values, SIM_TET_LAMBDA, i) + 0.875 * at(values, SIM_TET_MU, i),
                     c = at(values, SIM_TET_KD, i);
        const double all = volume * (b[0] + b[1] + b[2] + b[3]);
        for (int j = 0; j < 4; j++) {
            rows->k[m->tet[4 * e + j]] += k * b[j] * all;
            rows->c[m->tet[4 * e + j]] += (m->damping == SIM_DAMPING_STRAIN ? 5 : 2) * c * b[j] * all;
        }
    }
}

static void find_turns(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->hinges && values->of[SIM_REST]; e++) {
        const int32_t *p = m->hinge + 4 * e;
        const size_t i = scene * m->hinges + e;
        const double edge = rest_edge(values->of[SIM_REST] + 3 * scene * m->particles, p[2], p[3], NULL);
        rows->turn[0][e] = edge * at(values, SIM_HINGE_KE, i) + at(values, SIM_STOP_KE, i);
        rows->turn[1][e] =
            edge * at(values, SIM_HINGE_KD, i) + at(values, SIM_STOP_KD, i) + at(values, SIM_HINGE_KF, i);
    }
}

static void find_slides(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->slides; e++) {
        const size_t i = scene * m->slides + e;
        rows->slide[0][e] = at(values, SIM_SLIDE_KE, i) + at(values, SIM_SLIDE_STOP_KE, i);
        rows->slide[1][e] =
            at(values, SIM_SLIDE_KD, i) + at(values, SIM_SLIDE_STOP_KD, i) + at(values, SIM_SLIDE_KF, i);
    }
}

static void add_slides(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->slides && values->of[SIM_REST]; e++) {
        const int32_t *p = m->slide + 4 * e;
        const RestSlide slide = rest_slide(values->of[SIM_REST] + 3 * scene * m->particles, p);
        double sum = 0;
        for (int j = 0; j < 4; j++) sum += length_of(slide.gradient[j]);
        for (int j = 0; j < 4; j++) {
            const double all = length_of(slide.gradient[j]) * sum;
            if (m->rigids && m->rigid[p[j]] >= 0) continue; // sim/stable_rigid.h
            rows->k[p[j]] += rows->slide[0][e] * all;
            rows->c[p[j]] += rows->slide[1][e] * all;
        }
    }
}

static void find_sockets(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->sockets; e++) {
        const size_t i = scene * m->sockets + e;
        rows->socket[0][e] = at(values, SIM_SOCKET_KE, i);
        rows->socket[1][e] = at(values, SIM_SOCKET_KD, i) + at(values, SIM_SOCKET_KF, i);
        rows->swing[0][e] = at(values, SIM_SOCKET_STOP_KE, i);
        rows->swing[1][e] = at(values, SIM_SOCKET_STOP_KD, i);
    }
}

static void add_sockets(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->sockets && values->of[SIM_REST]; e++) {
        const int32_t *p = m->socket + 6 * e;
        const RestSocket socket = rest_socket(values->of[SIM_REST] + 3 * scene * m->particles, p);
        double sum = 0;
        for (int j = 0; j < 6; j++) sum += socket.most[j];
        for (int j = 0; j < 6; j++) {
            const double all = socket.most[j] * sum;
            if (m->rigids && m->rigid[p[j]] >= 0) continue; // sim/stable_rigid.h
            rows->k[p[j]] += (rows->socket[0][e] + rows->swing[0][e]) * all;
            rows->c[p[j]] += (rows->socket[1][e] + rows->swing[1][e]) * all;
        }
    }
}

// In flat cloth: |d_i| of sim/hinge.h from heights over the edge.
static void add_hinges(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t e = 0; e < m->hinges && values->of[SIM_REST]; e++) {
        const int32_t *p = m->hinge + 4 * e;
        const double *rest = values->of[SIM_REST] + 3 * scene * m->particles;
        double along[3], d[4], sum = 0;
        rest_edge(rest, p[2], p[3], along);
        for (int k = 0; k < 2; k++) {
            double side[3], length = rest_edge(rest, p[2], p[k], side);
            double cosine = along[0] * side[0] + along[1] * side[1] + along[2] * side[2];
            d[k] = 1 / fmax(length * sqrt(fmax(1 - cosine * cosine, 0)), 1e-30);
            sum += d[k];
        }
        d[2] = d[3] = sum; // at most, while the foot of each height is on the edge
        for (int j = 0; j < 4; j++) {
            const double all = d[j] * 3 * sum;
            if (m->rigids && m->rigid[p[j]] >= 0) continue; // sim/stable_rigid.h
            rows->k[p[j]] += rows->turn[0][e] * all;
            rows->c[p[j]] += rows->turn[1][e] * all;
        }
    }
}

// A particle that touches another body, and as much again where others touch its faces: nobody knows how many will.
// Edges that cross count for no more. A crossing at s counts (1 - s)^2 and s^2 at the edge's ends for itself, and at
// most 1 - s and s with all that is coupled to it. So a corner beside the other body, two of whose edges cross two
// others each in the same distance from either end, has the two touches that are counted here.
static void add_touches(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t i = 0; i < m->particles && m->faces; i++) {
        if (!rows->surface[i]) continue;
        const size_t row = scene * m->materials + (m->material ? (size_t)m->material[i] : 0);
        rows->k[i] += 2 * at(values, SIM_CONTACT_KE, row);
        rows->c[i] += 2 * fmax(at(values, SIM_CONTACT_KD, row), at(values, SIM_CONTACT_KF, row));
    }
}

static void add_contacts(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    for (size_t i = 0; i < m->particles; i++)
        for (size_t k = 0; k < m->planes; k++) {
            const size_t of[2] = {m->material ? (size_t)m->material[i] : 0, (size_t)m->plane[k].material};
            if (m->contacts[of[0]].margin == SIM_NO_CONTACT) continue;
            for (int j = 0; j < 2; j++) {
                const size_t row = scene * m->materials + of[j];
                rows->k[i] += at(values, SIM_CONTACT_KE, row) / 2;
                rows->c[i] += fmax(at(values, SIM_CONTACT_KD, row), at(values, SIM_CONTACT_KF, row)) / 2;
            }
        }
}

static double step_of(double k, double c) { return k + c > 0 ? 4 / (c + sqrt(c * c + 4 * k)) : INFINITY; }

static const double *rates_of(const SimValues *values, SimValue v, size_t first) {
    return values->of[v] ? values->of[v] + first : NULL;
}

static double rigid_step(const SimModel *m, const SimValues *values, size_t scene, const Rows *rows) {
    const size_t first = scene * m->particles;
    double step = INFINITY, rates[2];
    if (!values->of[SIM_REST] || !values->of[SIM_MASS]) return step;
    const SimRigidLoad load = {.place = values->of[SIM_REST] + 3 * first,
                               .mass = values->of[SIM_MASS] + first,
                               .stiffness = rows->k,
                               .damping = rows->c,
                               .spring = {rates_of(values, SIM_SPRING_KE, scene * m->springs),
                                          rates_of(values, SIM_SPRING_KD, scene * m->springs)},
                               .hinge = {rows->turn[0], rows->turn[1]},
                               .slide = {rows->slide[0], rows->slide[1]},
                               .socket = {rows->socket[0], rows->socket[1]},
                               .swing = {rows->swing[0], rows->swing[1]},
                               .low = rates_of(values, SIM_SLIDE_LOW, scene * m->slides),
                               .high = rates_of(values, SIM_SLIDE_HIGH, scene * m->slides),
                               .stop_k_e = rates_of(values, SIM_SLIDE_STOP_KE, scene * m->slides),
                               .members = rows->scratch,
                               .touching = rows->scratch + m->particles,
                               .held = rows->scratch + 2 * m->particles,
                               .bent = rows->scratch + 2 * m->particles + m->springs,
                               .slid = rows->scratch + 2 * m->particles + m->springs + m->hinges,
                               .turned = rows->scratch + 2 * m->particles + m->springs + m->hinges + m->slides};
    for (size_t r = 0; r < m->rigids; r++) {
        sim_rigid_rates(m, r, &load, rates);
        step = fmin(step, step_of(rates[0], rates[1]));
    }
    return step;
}

static double scene_step(const SimModel *m, const SimValues *values, size_t scene, Rows *rows) {
    double step = INFINITY;
    for (size_t i = 0; i < m->particles; i++) rows->k[i] = rows->c[i] = 0;
    add_springs(m, values, scene, rows);
    add_tets(m, values, scene, rows);
    find_turns(m, values, scene, rows);
    add_hinges(m, values, scene, rows);
    find_slides(m, values, scene, rows);
    add_slides(m, values, scene, rows);
    find_sockets(m, values, scene, rows);
    add_sockets(m, values, scene, rows);
    add_contacts(m, values, scene, rows);
    add_touches(m, values, scene, rows);
    for (size_t i = 0; i < m->particles; i++) {
        if ((m->fixed && m->fixed[i]) || (m->rigids && m->rigid[i] >= 0)) continue;
        const double mass = at(values, SIM_MASS, scene * m->particles + i);
        step = fmin(step, step_of(rows->k[i] / mass, rows->c[i] / mass));
    }
    return fmin(step, rigid_step(m, values, scene, rows));
}

// Particles of surfaces, and all of bodies without one.
static void mark_surfaces(const SimModel *m, const Rows *rows) {
    for (size_t i = 0; i < m->particles && m->faces; i++) rows->k[i] = 0; // of body i: faces
    for (size_t i = 0; i < 3 * m->faces; i++) rows->k[m->body[m->face[i]]]++;
    for (size_t i = 0; i < m->particles && m->faces; i++) rows->surface[i] = !(rows->k[m->body[i]] > 0);
    for (size_t i = 0; i < 3 * m->faces; i++) rows->surface[m->face[i]] = 1;
}

double sim_stable_step(const SimModel *model, const SimValues *values) {
    const size_t hinges = model->hinges + 1, slides = model->slides + 1, sockets = model->sockets + 1;
    Rows rows = {.k = calloc(model->particles, sizeof(double)),
                 .c = calloc(model->particles, sizeof(double)),
                 .turn = {calloc(hinges, sizeof(double)), calloc(hinges, sizeof(double))},
                 .slide = {calloc(slides, sizeof(double)), calloc(slides, sizeof(double))},
                 .socket = {calloc(sockets, sizeof(double)), calloc(sockets, sizeof(double))},
                 .swing = {calloc(sockets, sizeof(double)), calloc(sockets, sizeof(double))},
                 .surface = calloc(model->particles, 1),
                 .scratch = calloc(2 * model->particles + model->springs + hinges + slides + sockets, sizeof(int32_t))};
    double step = INFINITY, *const pairs[] = {rows.turn[0],   rows.turn[1],   rows.slide[0], rows.slide[1],
                                              rows.socket[0], rows.socket[1], rows.swing[0], rows.swing[1]};
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    bool ready = rows.k && rows.c && rows.surface && rows.scratch;
    for (int k = 0; k < PAIRS; k++) ready &= pairs[k] != NULL;
    if (ready) mark_surfaces(model, &rows);
    for (size_t s = 0; s < model->scenes && ready; s++) step = fmin(step, scene_step(model, values, s, &rows));
    free(rows.k);
    free(rows.c);
    for (int k = 0; k < PAIRS; k++) free(pairs[k]);
    free(rows.surface);
    free(rows.scratch);
    return step;
}
