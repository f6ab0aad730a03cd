// SPDX-License-Identifier: Apache-2.0
// Bodies that meet, on a GPU.
#include "nn/backend.h"
#include "sim/bodies.h"
#include "sim/nearest.h"
#include "sim/on_device.h"

#include <stdlib.h>
#include <string.h>

static size_t padded(const Sim *sim) { return sim_padded(&sim->topology); }

// Others that may ever meet each body, and how many: a step looks at each, since their boxes are ready only with their
// trees.
static void list_near(const SimTouching *t, int32_t *near, int32_t *nears) {
    for (size_t b = 0; b < t->bodies; b++)
        for (int32_t other = t->body[b].first; other < t->body[b].first + t->body[b].bodies; other++)
            if (sim_may_meet(t, (int32_t)b, other)) near[b * t->most + (size_t)nears[b]++] = other;
}

static Status copy_trees(Sim *sim, Error *err) {
    SimOnDevice *on = sim->on_device;
    const size_t groups = sim->packed.touching.groups, bytes = groups * SIM_GROUP * (size_t)sim->backend->real_bytes;
    void *empty = malloc(bytes + 1);
    if (!empty) return error_set(err, STATUS_FAILED, "out of memory for %zu boxes", groups);
    sim_empty_groups(sim, groups, empty);
    on->packed.packed.touching.group = sim_device_copy(on, empty, bytes);
    free(empty);
    return STATUS_OK;
}

static Status copy_lists(Sim *sim, Error *err) {
    SimOnDevice *on = sim->on_device;
    const SimTouching *from = &sim->packed.touching;
    SimTouching *to = &on->packed.packed.touching;
    const size_t guesses = from->points * SIM_TOUCHES;
    int32_t *near = calloc(from->bodies * from->most, sizeof *near), *nears = calloc(from->bodies, sizeof *nears),
            *none = malloc((padded(sim) + guesses) * sizeof *none);
    Status status =
        near && nears && none ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for %zu bodies", from->bodies);
    if (status == STATUS_OK) {
        list_near(from, near, nears);
        to->near = sim_device_copy(on, near, from->bodies * from->most * sizeof *near);
        to->nears = sim_device_copy(on, nears, from->bodies * sizeof *nears);
        memset(none, 0xff, (padded(sim) + guesses) * sizeof *none);
        to->guess = sim_device_copy(on, none, guesses * sizeof *none);
        for (size_t i = 0; i < from->points; i++) none[from->point[i]] = (int32_t)i;
        on->packed.point_of = sim_device_copy(on, none, padded(sim) * sizeof *none);
    }
    free(near);
    free(nears);
    free(none);
    return status;
}

static size_t rest_bytes(const Sim *sim) { return padded(sim) * SIM_RECORD * (size_t)sim->backend->real_bytes; }

static size_t material_bytes(const Sim *sim) {
    return sim->model.scenes * sim->model.materials * SIM_MATERIAL * (size_t)sim->backend->real_bytes;
}

Status sim_device_make_bodies(Sim *sim, Error *err) {
    SimOnDevice *on = sim->on_device;
    const SimTouching *from = &sim->packed.touching;
    SimTouching *to = &on->packed.packed.touching;
    const size_t vertices = padded(sim), touches = from->rows * SIM_TOUCHES, bytes = (size_t)sim->backend->real_bytes;
    if (!from->bodies) return STATUS_OK;
    to->body = sim_device_copy(on, from->body, from->bodies * sizeof *from->body);
    to->point = sim_device_copy(on, from->point, from->points * sizeof *from->point);
    to->point_body = sim_device_copy(on, from->point_body, from->points * sizeof *from->point_body);
    to->face = sim_device_copy(on, from->face, 3 * from->faces * sizeof *from->face);
    to->edge = sim_device_copy(on, from->edge, 4 * from->edges * sizeof *from->edge);
    to->edge_body = sim_device_copy(on, from->edge_body, from->edges * sizeof *from->edge_body);
    to->arm = sim_device_copy(on, from->arm, from->edges * SIM_WAYS * sizeof *from->arm);
    to->ring_of = sim_device_copy(on, from->ring_of, (vertices + 1) * sizeof *from->ring_of);
    to->ring = sim_device_copy(on, from->ring, 3 * from->faces * sizeof *from->ring);
    to->material = sim_device_copy(on, from->material, vertices * sizeof *from->material);
    to->rest = from->rest ? sim_device_memory(on, &on->memory, rest_bytes(sim)) : NULL;
    to->contact = sim_device_memory(on, &on->memory, material_bytes(sim));
    to->box = sim_device_memory(on, &on->memory, from->bodies * SIM_RECORD * bytes);
    to->touch = sim_device_memory(on, &on->memory, touches * sizeof *to->touch);
    to->touches = sim_device_memory(on, &on->memory, from->rows * sizeof *to->touches);
    to->part = sim_device_memory(on, &on->memory, touches * 4 * SIM_RECORD * bytes);
    to->slope = sim_device_memory(on, &on->memory, touches * SIM_QUAD * bytes);
    to->sum = sim_device_memory(on, &on->memory, padded(sim) * SIM_QUAD * bytes);
    on->packed.touched = sim_device_memory(
        on, &on->memory, (from->rows + SIM_DEVICE_LANES - 1) / SIM_DEVICE_LANES * sizeof *on->packed.touched);
    Status status = copy_trees(sim, err);
    return status == STATUS_OK ? copy_lists(sim, err) : status;
}

void sim_device_copy_bodies(Sim *sim) {
    const SimOnDevice *on = sim->on_device;
    const SimTouching *from = &sim->packed.touching, *to = &on->packed.packed.touching;
    if (from->bodies && !on->device->failed)
        on->device->nn->upload(on->device, to->contact, from->contact, material_bytes(sim));
    if (from->rest && !on->device->failed) on->device->nn->upload(on->device, to->rest, from->rest, rest_bytes(sim));
}
