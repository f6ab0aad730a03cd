// SPDX-License-Identifier: Apache-2.0
// Forces of chunks of elements, and their adjoints. A chunk's vertices are copied to a small array first, which stays
// in the first-level cache.
#include "nn/cpu/cpu.h"
#include "sim/cpu/functions.h"
#include "sim/cpu/lanes.h"

static void copy_vertices(const SimPacked *p, const SimChunk *chunk, const real *from, size_t record, real *to) {
    const int32_t *vertex = p->slot_vertex + chunk->slot;
    for (int32_t i = 0; i < chunk->vertices; i++)
        memcpy(to + record * (size_t)i, from + record * (size_t)vertex[i], record * sizeof(real));
}

static void spring_forces(const SimPacked *p, const SimChunk *chunk, const real *records, real *slots) {
    const SimSpring *springs = p->element[SIM_KIND_SPRING];
    for (int32_t b = chunk->block; b < chunk->block + chunk->blocks; b++) {
        const uint16_t *corner = p->corner[SIM_KIND_SPRING] + (size_t)b * 2 * SIM_LANES;
        Num d[3], v[3], f[3];
        lanes_gather_records(records, corner, corner + SIM_LANES, d, v);
        sim_spring_force(&springs[b], d, v, f);
        lanes_scatter_between(slots, SIM_QUAD, corner, corner + SIM_LANES, f);
    }
}

LANES_INLINE void gather(const real *records, const uint16_t *corner, int corners, Num (*x)[3], Num (*v)[3]) {
    for (int j = 0; j < corners; j++) lanes_gather_records(records, corner + j * SIM_LANES, NULL, x[j], v[j]);
}

LANES_INLINE SimTet actuated(const SimPacked *p, int32_t b) {
    SimTet tet = ((const SimTet *)p->element[SIM_KIND_TET])[b];
    if (p->control[SIM_KIND_TET]) tet.act += ((const Num *)p->control[SIM_KIND_TET])[b];
    return tet;
}

LANES_INLINE SimHinge driven(const SimPacked *p, int32_t b) {
    SimHinge hinge = ((const SimHinge *)p->element[SIM_KIND_HINGE])[b];
    if (p->control[SIM_KIND_HINGE]) hinge.torque += ((const Num *)p->control[SIM_KIND_HINGE])[b];
    return hinge;
}

LANES_INLINE SimSlide pushed(const SimPacked *p, int32_t b) {
    SimSlide slide = ((const SimSlide *)p->element[SIM_KIND_SLIDE])[b];
    if (p->control[SIM_KIND_SLIDE]) slide.force += ((const Num *)p->control[SIM_KIND_SLIDE])[b];
    return slide;
}

LANES_INLINE void tet_forces_as(const SimPacked *p, bool by_strain, const SimChunk *chunk, const real *records,
                                real *slots) {
    for (int32_t b = chunk->block; b < chunk->block + chunk->blocks; b++) {
        const uint16_t *corner = p->corner[SIM_KIND_TET] + (size_t)b * 4 * SIM_LANES;
        const SimTet tet = actuated(p, b);
        Num x[4][3], v[4][3], f[4][3];
        gather(records, corner, 4, x, v);
        sim_tet_force(&tet, by_strain, x, v, f);
        for (int j = 0; j < 4; j++) lanes_scatter_add(slots, SIM_QUAD, corner + j * SIM_LANES, f[j]);
    }
}

static void tet_forces(const SimPacked *p, const SimChunk *chunk, const real *records, real *slots) {
    if (p->by_strain) tet_forces_as(p, true, chunk, records, slots);
    else tet_forces_as(p, false, chunk, records, slots);
}

LANES_INLINE void hinge_forces_as(const SimPacked *p, bool stops, const SimChunk *chunk, const real *records,
                                  real *slots) {
    for (int32_t b = chunk->block; b < chunk->block + chunk->blocks; b++) {
        const uint16_t *corner = p->corner[SIM_KIND_HINGE] + (size_t)b * 4 * SIM_LANES;
        const SimHinge hinge = driven(p, b);
        const SimStop *stop = stops ? (const SimStop *)p->element[SIM_TABLE_STOP] + b : NULL;
        Num x[4][3], v[4][3], f[4][3];
        gather(records, corner, 4, x, v);
        sim_hinge_force(&hinge, stop, x, v, f);
        for (int j = 0; j < 4; j++) lanes_scatter_add(slots, SIM_QUAD, corner + j * SIM_LANES, f[j]);
    }
}

static void hinge_forces(const SimPacked *p, const SimChunk *chunk, const real *records, real *slots) {
    if (p->stops) hinge_forces_as(p, true, chunk, records, slots);
    else hinge_forces_as(p, false, chunk, records, slots);
}

static void slide_forces(const SimPacked *p, const SimChunk *chunk, const real *records, real *slots) {
    for (int32_t b = chunk->block; b < chunk->block + chunk->blocks; b++) {
        const uint16_t *corner = p->corner[SIM_KIND_SLIDE] + (size_t)b * 4 * SIM_LANES;
        const SimSlide slide = pushed(p, b);
        Num x[4][3], v[4][3], f[4][3];
        gather(records, corner, 4, x, v);
        sim_slide_force(&slide, x, v, f);
        for (int j = 0; j < 4; j++) lanes_scatter_add(slots, SIM_QUAD, corner + j * SIM_LANES, f[j]);
    }
}

static void socket_forces(const SimPacked *p, const SimChunk *chunk, const real *records, real *slots) {
    const SimSocket *sockets = p->element[SIM_KIND_SOCKET];
    for (int32_t b = chunk->block; b < chunk->block + chunk->blocks; b++) {
        const uint16_t *corner = p->corner[SIM_KIND_SOCKET] + (size_t)b * 6 * SIM_LANES;
        Num x[6][3], v[6][3], f[6][3];
        gather(records, corner, 6, x, v);
        sim_socket_force(&sockets[b], x, v, f);
        for (int j = 0; j < 6; j++) lanes_scatter_add(slots, SIM_QUAD, corner + j * SIM_LANES, f[j]);
    }
}

void CPU_FN(sim_forces)(const SimPacked *p, const SimStep *step, size_t first, size_t last) {
    static void (*const run[SIM_KINDS])(const SimPacked *, const SimChunk *, const real *,
                                        real *) = {[SIM_KIND_SPRING] = spring_forces,
                                                   [SIM_KIND_TET] = tet_forces,
                                                   [SIM_KIND_HINGE] = hinge_forces,
                                                   [SIM_KIND_SLIDE] = slide_forces,
                                                   [SIM_KIND_SOCKET] = socket_forces};
    _Alignas(64) real records[SIM_CHUNK_VERTICES * SIM_RECORD];
    for (size_t c = first; c < last; c++) {
        const SimChunk *chunk = &p->chunk[c];
        real *slots = (real *)step->slots + (size_t)chunk->slot * SIM_QUAD;
        copy_vertices(p, chunk, step->state, SIM_RECORD, records);
        memset(slots, 0, (size_t)chunk->vertices * SIM_QUAD * sizeof *slots);
        run[chunk->kind](p, chunk, records, slots);
    }
}

// ---- adjoints

typedef struct BackChunk {
    const SimPacked *p;
    const SimBack *back;
    const SimChunk *chunk;
    const real *records, *w;
    real *slots;
} BackChunk;

LANES_INLINE void scatter_both(real *slots, const uint16_t *corner, int corners, Num (*gx)[3], Num (*gv)[3]) {
    for (int j = 0; j < corners; j++) {
        lanes_scatter_add(slots, SIM_RECORD, corner + j * SIM_LANES, gx[j]);
        lanes_scatter_add(slots + SIM_QUAD, SIM_RECORD, corner + j * SIM_LANES, gv[j]);
    }
}

static void spring_back(const BackChunk *t) {
    const SimSpring *springs = t->p->element[SIM_KIND_SPRING];
    SimSpring *gradients = t->back->element[SIM_KIND_SPRING];
    for (int32_t b = t->chunk->block; b < t->chunk->block + t->chunk->blocks; b++) {
        const uint16_t *corner = t->p->corner[SIM_KIND_SPRING] + (size_t)b * 2 * SIM_LANES;
        Num d[3], v[3], w[2][3], gd[3], gv[3];
        lanes_gather_records(t->records, corner, corner + SIM_LANES, d, v);
        for (int j = 0; j < 2; j++) lanes_gather(t->w, SIM_QUAD, corner + j * SIM_LANES, w[j]);
        num_sub(w[0], w[1], w[0]);
        sim_spring_adjoint(&springs[b], d, v, w[0], gd, gv, &gradients[b]);
        lanes_scatter_between(t->slots, SIM_RECORD, corner, corner + SIM_LANES, gd);
        lanes_scatter_between(t->slots + SIM_QUAD, SIM_RECORD, corner, corner + SIM_LANES, gv);
    }
}

LANES_INLINE void tet_back_as(const BackChunk *t, bool by_strain, bool rest) {
    SimTet *gradients = t->back->element[SIM_KIND_TET];
    for (int32_t b = t->chunk->block; b < t->chunk->block + t->chunk->blocks; b++) {
        const uint16_t *corner = t->p->corner[SIM_KIND_TET] + (size_t)b * 4 * SIM_LANES;
        const SimTet tet = actuated(t->p, b);
        Num x[4][3], v[4][3], w[4][3], gx[4][3], gv[4][3];
        gather(t->records, corner, 4, x, v);
        for (int j = 0; j < 4; j++) lanes_gather(t->w, SIM_QUAD, corner + j * SIM_LANES, w[j]);
        sim_tet_adjoint(&tet, by_strain, rest, x, v, w, gx, gv, &gradients[b]);
        scatter_both(t->slots, corner, 4, gx, gv);
    }
}

static void tet_back(const BackChunk *t) {
    if (t->p->by_strain && t->back->rest) tet_back_as(t, true, true);
    else if (t->p->by_strain) tet_back_as(t, true, false);
    else tet_back_as(t, false, true);
}

LANES_INLINE void hinge_back_as(const BackChunk *t, bool stops) {
    SimHinge *gradients = t->back->element[SIM_KIND_HINGE];
    for (int32_t b = t->chunk->block; b < t->chunk->block + t->chunk->blocks; b++) {
        const uint16_t *corner = t->p->corner[SIM_KIND_HINGE] + (size_t)b * 4 * SIM_LANES;
        const SimHinge hinge = driven(t->p, b);
        const SimStop *stop = stops ? (const SimStop *)t->p->element[SIM_TABLE_STOP] + b : NULL;
        SimStop *of_stop = stops ? (SimStop *)t->back->element[SIM_TABLE_STOP] + b : NULL;
        Num x[4][3], v[4][3], w[4][3], gx[4][3], gv[4][3];
        gather(t->records, corner, 4, x, v);
        for (int j = 0; j < 4; j++) lanes_gather(t->w, SIM_QUAD, corner + j * SIM_LANES, w[j]);
        sim_hinge_adjoint(&hinge, stop, x, v, w, gx, gv, &gradients[b], of_stop);
        scatter_both(t->slots, corner, 4, gx, gv);
    }
}

static void hinge_back(const BackChunk *t) {
    if (t->p->stops) hinge_back_as(t, true);
    else hinge_back_as(t, false);
}

static void slide_back(const BackChunk *t) {
    SimSlide *gradients = t->back->element[SIM_KIND_SLIDE];
    for (int32_t b = t->chunk->block; b < t->chunk->block + t->chunk->blocks; b++) {
        const uint16_t *corner = t->p->corner[SIM_KIND_SLIDE] + (size_t)b * 4 * SIM_LANES;
        const SimSlide slide = pushed(t->p, b);
        Num x[4][3], v[4][3], w[4][3], gx[4][3], gv[4][3];
        gather(t->records, corner, 4, x, v);
        for (int j = 0; j < 4; j++) lanes_gather(t->w, SIM_QUAD, corner + j * SIM_LANES, w[j]);
        sim_slide_adjoint(&slide, x, v, w, gx, gv, &gradients[b]);
        scatter_both(t->slots, corner, 4, gx, gv);
    }
}

static void socket_back(const BackChunk *t) {
    const SimSocket *sockets = t->p->element[SIM_KIND_SOCKET];
    SimSocket *gradients = t->back->element[SIM_KIND_SOCKET];
    for (int32_t b = t->chunk->block; b < t->chunk->block + t->chunk->blocks; b++) {
        const uint16_t *corner = t->p->corner[SIM_KIND_SOCKET] + (size_t)b * 6 * SIM_LANES;
        Num x[6][3], v[6][3], w[6][3], gx[6][3], gv[6][3];
        gather(t->records, corner, 6, x, v);
        for (int j = 0; j < 6; j++) lanes_gather(t->w, SIM_QUAD, corner + j * SIM_LANES, w[j]);
        SimSocketState state;
        SimSocketBack back;
        sim_socket_state(&sockets[b], x, v, &state);
        sim_socket_parameters_back(&sockets[b], &state, w, &back, &gradients[b]);
        for (int k = 0; k < 2; k++) sim_socket_particles_back(&state, &back, k, gx + 3 * k, gv + 3 * k);
        scatter_both(t->slots, corner, 6, gx, gv);
    }
}

void CPU_FN(sim_forces_back)(const SimPacked *p, const SimBack *back, size_t first, size_t last) {
    static void (*const run[SIM_KINDS])(const BackChunk *) = {[SIM_KIND_SPRING] = spring_back,
                                                              [SIM_KIND_TET] = tet_back,
                                                              [SIM_KIND_HINGE] = hinge_back,
                                                              [SIM_KIND_SLIDE] = slide_back,
                                                              [SIM_KIND_SOCKET] = socket_back};
    _Alignas(64) real records[SIM_CHUNK_VERTICES * SIM_RECORD];
    _Alignas(64) real w[SIM_CHUNK_VERTICES * SIM_QUAD];
    for (size_t c = first; c < last; c++) {
        const SimChunk *chunk = &p->chunk[c];
        real *slots = (real *)back->slots + (size_t)chunk->slot * SIM_RECORD;
        copy_vertices(p, chunk, back->state, SIM_RECORD, records);
        copy_vertices(p, chunk, back->w, SIM_QUAD, w);
        memset(slots, 0, (size_t)chunk->vertices * SIM_RECORD * sizeof *slots);
        run[chunk->kind](&(BackChunk){p, back, chunk, records, w, slots});
    }
}
