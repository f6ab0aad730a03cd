// SPDX-License-Identifier: Apache-2.0
#include "sim/on_device.h"

#include "nn/backend.h"
#include "sim/pack.h"

#include <stdlib.h>

bool sim_device_open(Sim *sim, Device *device) {
    const bool exact = sim->options.precision == SIM_F64;
    SimOnDevice *on = sim->on_device = calloc(1, sizeof *on);
    if (!on) return false;
    on->device = device;
    on->phases = exact ? &device->sim->f64 : &device->sim->f32;
    on->layout = (SimBackend){.isa = device->sim->name, .lanes = SIM_DEVICE_LANES, .real_bytes = exact ? 8 : 4};
    arena_init(&on->memory, device->source);
    arena_init(&on->run_memory, device->source);
    sim->backend = &on->layout;
    sim->threads = 1;
    return true;
}

void sim_device_close(Sim *sim) {
    if (!sim->on_device) return;
    arena_free(&sim->on_device->memory);
    arena_free(&sim->on_device->run_memory);
    free(sim->on_device);
}

// ---- what never changes

// Vertices of the corners of all elements of a kind, in the order of their packed arrays.
static void list_vertices(const SimTopology *t, SimKind kind, int32_t *out) {
    const size_t each = sim_corners(kind) * t->lanes;
    for (size_t c = 0; c < t->chunks; c++) {
        const SimChunk *chunk = &t->chunk[c];
        const size_t first = (size_t)chunk->block * each, last = first + (size_t)chunk->blocks * each;
        for (size_t i = first; i < last && chunk->kind == kind; i++)
            out[i] = t->slot_vertex[(size_t)chunk->slot + t->corner[kind][i]];
    }
}

// Counts the corners of each slot at of[slot + 1], or lists them where `list` is not NULL and of[slot] their first
// place.
static void list_corners(const SimTopology *t, int32_t *of, uint16_t *list) {
    for (size_t c = 0; c < t->chunks; c++) {
        const SimChunk *chunk = &t->chunk[c];
        const size_t corners = sim_corners(chunk->kind), first = (size_t)chunk->block * t->lanes,
                     last = first + (size_t)chunk->blocks * t->lanes, end = t->elements[chunk->kind];
        for (size_t i = first; i < last && i < end; i++)
            for (size_t j = 0; j < corners; j++) {
                const size_t at = (i / t->lanes * corners + j) * t->lanes + i % t->lanes;
                const size_t slot = (size_t)chunk->slot + t->corner[chunk->kind][at];
                if (list) list[of[slot]++] = (uint16_t)(j * SIM_CHUNK_ELEMENTS + (i - first));
                else of[slot + 1]++;
            }
    }
}

static Status copy_vertices(SimOnDevice *on, const SimTopology *t, SimKind kind, Error *err) {
    const size_t count = t->blocks[kind] * sim_corners(kind) * t->lanes;
    int32_t *vertex = calloc(count + 1, sizeof *vertex);
    if (!vertex) return error_set(err, STATUS_FAILED, "out of memory for %zu elements", count);
    list_vertices(t, kind, vertex);
    on->packed.vertex[kind] = sim_device_copy(on, vertex, count * sizeof *vertex);
    free(vertex);
    return STATUS_OK;
}

static Status copy_corners(SimOnDevice *on, const SimTopology *t, Error *err) {
    size_t count = 0;
    for (int k = 0; k < SIM_KINDS; k++) count += t->elements[k] * sim_corners((SimKind)k);
    int32_t *of = calloc(t->slots + 2, sizeof *of);
    uint16_t *list = calloc(count + 1, sizeof *list);
    Status status = of && list ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for %zu corners", count);
    if (status == STATUS_OK) {
        list_corners(t, of, NULL);
        for (size_t s = 0; s < t->slots; s++) of[s + 1] += of[s];
        on->packed.corners_of = sim_device_copy(on, of, (t->slots + 1) * sizeof *of);
        list_corners(t, of, list);
        on->packed.corner_list = sim_device_copy(on, list, count * sizeof *list);
    }
    free(of);
    free(list);
    return status;
}

static void note_chunks(SimDevicePacked *p, const SimTopology *t) {
    for (size_t c = t->chunks; c-- > 0;) {
        p->first_chunk[t->chunk[c].kind] = c;
        p->kind_chunks[t->chunk[c].kind]++;
    }
}

static Status first_copy(Sim *sim, Error *err) {
    SimOnDevice *on = sim->on_device;
    const SimTopology *t = &sim->topology;
    SimDevicePacked *d = &on->packed;
    SimPacked *p = &d->packed;
    Status status = STATUS_OK;
    *d = (SimDevicePacked){.packed = sim->packed};
    p->slots_of = sim_device_copy(on, t->slots_of, (sim_padded(t) + 1) * sizeof *t->slots_of);
    p->slot_list = sim_device_copy(on, t->slot_list, t->slots * sizeof *t->slot_list);
    p->plane = sim_device_copy(on, sim->planes, sim->model.planes * sizeof *sim->planes);
    note_chunks(d, t);
    for (int k = 0; k < SIM_KINDS && status == STATUS_OK; k++) {
        d->elements[k] = t->elements[k];
        status = copy_vertices(on, t, (SimKind)k, err);
    }
    for (int k = 0; k < SIM_TABLES; k++) p->element[k] = sim_device_memory(on, &on->memory, sim_element_bytes(sim, k));
    if (status == STATUS_OK) status = copy_corners(on, t, err);
    if (status == STATUS_OK) status = sim_device_make_bodies(sim, err);
    p->vertex = sim_device_memory(on, &on->memory, sim_vertex_bytes(sim));
    p->contact = sim_device_memory(on, &on->memory, sim_contact_bytes(sim));
    p->rigid = sim_device_copy(on, t->rigid, p->rigids * sizeof *t->rigid);
    p->rigid_mass = sim_device_memory(on, &on->memory, sim_rigid_mass_bytes(sim));
    on->slots = sim_device_memory(on, &on->memory, (t->slots + 1) * SIM_QUAD * (size_t)on->layout.real_bytes);
    p->slot_vertex = NULL; // of the host alone, as corners of chunks are
    for (int k = 0; k < SIM_KINDS; k++) p->corner[k] = NULL;
    d->bad_step = sim_device_memory(on, &on->memory, sizeof *d->bad_step);
    d->growth = sim_device_memory(on, &on->memory, sizeof *d->growth);
    p->chunk = sim_device_copy(on, t->chunk, t->chunks * sizeof *t->chunk); // last: all of it is there
    return status;
}

Status sim_device_set(Sim *sim, Error *err) {
    SimOnDevice *on = sim->on_device;
    const SimPacked *from = &sim->packed;
    SimPacked *to = &on->packed.packed;
    Device *device = on->device;
    Status status = to->chunk ? STATUS_OK : first_copy(sim, err);
    to->stops = from->stops;
    for (int k = 0; k < SIM_TABLES && status == STATUS_OK && !device->failed; k++)
        device->nn->upload(device, to->element[k], from->element[k], sim_element_bytes(sim, k));
    if (status == STATUS_OK && !device->failed) {
        device->nn->upload(device, to->vertex, from->vertex, sim_vertex_bytes(sim));
        device->nn->upload(device, to->contact, from->contact, sim_contact_bytes(sim));
        if (from->rigids && !device->failed)
            device->nn->upload(device, to->rigid_mass, from->rigid_mass, sim_rigid_mass_bytes(sim));
        sim_device_copy_bodies(sim);
    }
    sim_device_note_peak(sim);
    Status of_device = device_status(device, status == STATUS_OK ? err : NULL);
    return status == STATUS_OK ? of_device : status;
}
