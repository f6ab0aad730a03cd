// SPDX-License-Identifier: Apache-2.0
#include "sim/controls.h"

#include "sim/pack.h"

#include <string.h>

// The field of an element that a control adds to, its last; nothing is added to springs and sockets.
static const SimValue added[SIM_KINDS] = {[SIM_KIND_SPRING] = SIM_VALUES,
                                          [SIM_KIND_TET] = SIM_ACTIVATION,
                                          [SIM_KIND_HINGE] = SIM_TORQUE,
                                          [SIM_KIND_SLIDE] = SIM_THRUST,
                                          [SIM_KIND_SOCKET] = SIM_VALUES};

const double *sim_element_control(const SimRun *run, int kind) {
    const double *const given[SIM_KINDS] = {
        [SIM_KIND_TET] = run->activation, [SIM_KIND_HINGE] = run->torque, [SIM_KIND_SLIDE] = run->thrust};
    return given[kind];
}

double *sim_element_control_gradient(const SimValues *gradient, int kind) {
    return added[kind] < SIM_VALUES ? gradient->of[added[kind]] : NULL;
}

size_t sim_element_control_bytes(const Sim *sim, int kind) {
    const size_t lanes = added[kind] < SIM_VALUES ? sim->topology.lanes : 0;
    return sim->topology.blocks[kind] * lanes * (size_t)sim->backend->real_bytes;
}

// Rows of B*N of one control interval.
static size_t vertex_rows(const Sim *sim) { return sim->topology.vertices; }

// Calls are few, so each thread reads all particles and takes its own.
static bool own_vertex(const Sim *sim, int thread, size_t vertex) {
    const size_t block = vertex / sim->topology.lanes;
    return block >= sim->blocks[thread][0] && block < sim->blocks[thread][1];
}

// The thread's first and last place among elements of a kind.
static void own_elements(const Sim *sim, int thread, int kind, size_t *first, size_t *last) {
    *first = *last = 0;
    for (size_t c = sim->chunks[thread][0]; c < sim->chunks[thread][1]; c++) {
        const SimChunk *chunk = &sim->topology.chunk[c];
        if ((int)chunk->kind != kind) continue;
        if (*first == *last) *first = (size_t)chunk->block * sim->topology.lanes;
        *last = (size_t)(chunk->block + chunk->blocks) * sim->topology.lanes;
    }
    if (*last > sim->topology.elements[kind]) *last = sim->topology.elements[kind];
}

Status sim_place_driven(Sim *sim, const SimRun *run, Error *err) {
    const size_t row = 3 * vertex_rows(sim), intervals = sim_controls(run);
    const double time = (double)run->control_every * sim->model.dt;
    sim->driven = NULL;
    if (!run->drive) return STATUS_OK;
    sim->driven = arena_array(&sim->run_memory, intervals * row, sizeof *sim->driven);
    if (!sim->driven) return error_set(err, STATUS_FAILED, "out of memory for the ways of %zu particles", row / 3);
    memcpy(sim->driven, run->position, row * sizeof *sim->driven);
    for (size_t i = row; i < intervals * row; i++) sim->driven[i] = sim->driven[i - row] + time * run->drive[i - row];
    return STATUS_OK;
}

// Interval c of `all` (C,B*N,3), or NULL, into three of the packed array's fields, from `first` on.
static void pack_vertices(const Sim *sim, const double *all, size_t c, int thread, size_t fields, size_t first,
                          void *to) {
    const size_t rows = vertex_rows(sim);
    for (size_t i = 0; i < rows && all; i++) {
        const size_t vertex = (size_t)sim->topology.vertex_of[i];
        for (size_t k = 0; k < 3 && own_vertex(sim, thread, vertex); k++)
            sim_put(sim, to, sim_field(sim, fields, first + k, vertex), all[3 * (c * rows + i) + k]);
    }
}

// The gradient of one interval, which becomes 0, into interval c of `all`; either may be NULL.
static void unpack_vertices(const Sim *sim, void *from, size_t c, int thread, double *all) {
    const size_t rows = vertex_rows(sim);
    for (size_t i = 0; i < rows && all && from; i++) {
        const size_t vertex = (size_t)sim->topology.vertex_of[i];
        for (size_t k = 0; k < 3 && own_vertex(sim, thread, vertex); k++) {
            const size_t at = sim_field(sim, SIM_FORCE_FIELDS, k, vertex);
            all[3 * (c * rows + i) + k] = sim_get(sim, from, at);
            sim_put(sim, from, at, 0);
        }
    }
}

void sim_pack_controls(const Sim *sim, const SimRun *run, size_t c, int thread) {
    pack_vertices(sim, run->force, c, thread, SIM_FORCE_FIELDS, 0, sim->force);
    pack_vertices(sim, run->drive, c, thread, SIM_DRIVE_FIELDS, 0, sim->drive);
    pack_vertices(sim, sim->driven, c, thread, SIM_DRIVE_FIELDS, 3, sim->drive);
    for (int k = 0; k < SIM_KINDS; k++) {
        size_t first, last;
        const double *all = sim_element_control(run, k);
        if (!all) continue;
        own_elements(sim, thread, k, &first, &last);
        for (size_t i = first; i < last; i++)
            sim_put(sim, sim->control[k], i,
                    all[c * sim->topology.elements[k] + (size_t)sim->topology.element_of[k][i]]);
    }
}

void sim_unpack_vertex_controls(const Sim *sim, const SimValues *gradient, size_t c, int thread) {
    unpack_vertices(sim, sim->back.force, c, thread, gradient->of[SIM_FORCE]);
    unpack_vertices(sim, sim->back.drive, c, thread, gradient->of[SIM_DRIVE]);
}

static void unpack_elements(const Sim *sim, int kind, double *out, double *sum, int thread) {
    const size_t fields = sim_element_fields[kind];
    size_t first, last;
    own_elements(sim, thread, kind, &first, &last);
    for (size_t i = first; i < last; i++) {
        const size_t at = sim_field(sim, fields, fields - 1, i), row = (size_t)sim->topology.element_of[kind][i];
        out[row] = sim_get(sim, sim->back.element[kind], at);
        if (sum) sum[row] += out[row];
        sim_put(sim, sim->back.element[kind], at, 0);
    }
}

void sim_unpack_element_controls(const Sim *sim, const SimValues *gradient, size_t c, double *act, int thread) {
    for (int k = 0; k < SIM_KINDS; k++) {
        double *out = sim_element_control_gradient(gradient, k);
        if (out) unpack_elements(sim, k, out + c * sim->topology.elements[k], k == SIM_KIND_TET ? act : NULL, thread);
    }
}
