// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"
#include "sim/bodies.h"
#include "sim/check.h"
#include "sim/on_device.h"
#include "sim/pack.h"
#include "sim/share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A copy of `bytes`; *ok becomes false without memory.
static void *copy_of(Arena *memory, const void *from, size_t bytes, bool *ok) {
    if (!from || !bytes) return NULL;
    void *to = arena_alloc(memory, bytes);
    if (to) memcpy(to, from, bytes);
    else *ok = false;
    return to;
}

static bool copy_model(Sim *sim, const SimModel *m) {
    Arena *memory = &sim->memory;
    bool ok = true;
    sim->model = *m;
    sim->model.fixed = copy_of(memory, m->fixed, m->particles * sizeof *m->fixed, &ok);
    sim->model.material = copy_of(memory, m->material, m->particles * sizeof *m->material, &ok);
    sim->model.spring = copy_of(memory, m->spring, 2 * m->springs * sizeof *m->spring, &ok);
    sim->model.tet = copy_of(memory, m->tet, 4 * m->tets * sizeof *m->tet, &ok);
    sim->model.hinge = copy_of(memory, m->hinge, 4 * m->hinges * sizeof *m->hinge, &ok);
    sim->model.slide = copy_of(memory, m->slide, 4 * m->slides * sizeof *m->slide, &ok);
    sim->model.socket = copy_of(memory, m->socket, 6 * m->sockets * sizeof *m->socket, &ok);
    sim->model.plane = copy_of(memory, m->plane, m->planes * sizeof *m->plane, &ok);
    sim->model.face = copy_of(memory, m->face, 3 * m->faces * sizeof *m->face, &ok);
    sim->model.body = copy_of(memory, m->body, m->particles * sizeof *m->body, &ok);
    sim->model.rigid = copy_of(memory, m->rigid, m->particles * sizeof *m->rigid, &ok);
    sim->model.joined = copy_of(memory, m->joined, 2 * m->joints * sizeof *m->joined, &ok);
    sim->model.inertia = copy_of(memory, m->inertia, m->particles * sizeof *m->inertia, &ok);
    sim->model.contacts = copy_of(memory, m->contacts, m->materials * sizeof *m->contacts, &ok);
    sim->planes = arena_array(memory, m->planes, sizeof *sim->planes);
    for (size_t k = 0; k < m->planes && sim->planes; k++) {
        const double *n = m->plane[k].normal, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int c = 0; c < 3; c++) sim->planes[k][c] = n[c] / length;
        sim->planes[k][3] = m->plane[k].offset;
    }
    return ok && sim->planes;
}

// Threads wait for one another twice a step. With less work than this for each, waiting costs more than it brings.
enum { THREAD_ELEMENTS = 4000 };

static int threads_that_pay(const SimModel *model) {
    size_t elements = model->springs + model->tets + model->hinges + model->slides + model->sockets + model->faces;
    size_t pay = 1 + elements * model->scenes / THREAD_ELEMENTS;
    int most = threads_available();
    return pay < (size_t)most ? (int)pay : most;
}

Status sim_open(const SimModel *model, const SimOptions *options, Sim **out, Error *err) {
    *out = NULL;
    Status status = sim_check_model(model, err);
    if (status != STATUS_OK) return status;
    const char *isa = options->isa ? options->isa : getenv("VPD_ISA");
    const bool on_device = options->device && options->device->sim;
    const SimBackend *backend = sim_backend_find(on_device ? NULL : isa, options->precision == SIM_F64);
    if (!backend)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: not compiled in, or this processor does not run it; use avx512, avx2 or base", isa);
    Sim *sim = calloc(1, sizeof *sim);
    if (!sim) return error_set(err, STATUS_FAILED, "out of memory for a simulation");
    arena_init(&sim->memory, arena_host_source());
    arena_init(&sim->run_memory, arena_host_source());
    sim->options = *options;
    sim->backend = backend;
    sim->threads = options->threads > 0 ? options->threads : threads_that_pay(model);
    if (!copy_model(sim, model) || (on_device && !sim_device_open(sim, options->device))) {
        sim_close(sim);
        return error_set(err, STATUS_FAILED, "out of memory for a simulation of %zu particles", model->particles);
    }
    *out = sim;
    return STATUS_OK;
}

void sim_close(Sim *sim) {
    if (!sim) return;
    sim_device_close(sim);
    sim_topology_free(&sim->topology);
    arena_free(&sim->memory);
    arena_free(&sim->run_memory);
    free(sim);
}

size_t sim_peak_bytes(const Sim *sim) { return sim->peak; }
const char *sim_isa(const Sim *sim) { return sim->backend->isa; }
int sim_threads(const Sim *sim) { return sim->threads; }

// ---- packing

static Status first_set(Sim *sim, Error *err) {
    const SimModel *model = &sim->model;
    const size_t particles = model->scenes * model->particles;
    SimTopology *t = &sim->topology;
    Status status = sim_topology_make(model, sim->rest, (size_t)sim->backend->lanes, t, err);
    if (status != STATUS_OK) return status;
    sim->chunks = arena_array(&sim->memory, (size_t)sim->threads, sizeof *sim->chunks);
    sim->blocks = arena_array(&sim->memory, (size_t)sim->threads, sizeof *sim->blocks);
    sim->slots =
        arena_alloc(&sim->memory, sim->on_device ? 0 : (t->slots + 1) * SIM_QUAD * (size_t)sim->backend->real_bytes);
    if (!sim->chunks || !sim->blocks || !sim->slots)
        return error_set(err, STATUS_FAILED, "out of memory for a simulation of %zu particles", particles);
    sim_share_work(sim, sim->threads);
    SimPacked *p = &sim->packed;
    *p = (SimPacked){.lanes = t->lanes,
                     .vertex_blocks = t->vertex_blocks,
                     .chunks = t->chunks,
                     .slots = t->slots,
                     .chunk = t->chunk,
                     .slot_vertex = t->slot_vertex,
                     .slots_of = t->slots_of,
                     .slot_list = t->slot_list,
                     .plane = (const double(*)[4])sim->planes,
                     .planes = model->planes,
                     .dt = model->dt,
                     .by_strain = model->damping == SIM_DAMPING_STRAIN};
    for (int k = 0; k < SIM_KINDS; k++) p->corner[k] = t->corner[k];
    status = sim_make_bodies(sim, err);
    if (status == STATUS_OK) status = sim_make_rigid(sim, err);
    return status == STATUS_OK ? sim_pack_allocate(sim, p->element, &p->vertex, &p->contact, err) : status;
}

static Status copy_values(Sim *sim, const SimValues *values, Error *err) {
    const size_t particles = sim->model.scenes * sim->model.particles;
    if (!sim->mass) sim->mass = arena_array(&sim->memory, particles, sizeof(double));
    if (!sim->rest) sim->rest = arena_array(&sim->memory, 3 * particles, sizeof(double));
    if (!sim->mass || !sim->rest) return error_set(err, STATUS_FAILED, "out of memory for %zu particles", particles);
    memset(sim->mass, 0, particles * sizeof(double));
    memset(sim->rest, 0, 3 * particles * sizeof(double));
    if (values->of[SIM_MASS]) memcpy(sim->mass, values->of[SIM_MASS], particles * sizeof(double));
    if (values->of[SIM_REST]) memcpy(sim->rest, values->of[SIM_REST], 3 * particles * sizeof(double));
    return STATUS_OK;
}

Status sim_set(Sim *sim, const SimValues *values, Error *err) {
    Status status = sim_check_values(&sim->model, values, err);
    if (status == STATUS_OK) status = copy_values(sim, values, err);
    if (status == STATUS_OK && !sim->packed.chunk) status = first_set(sim, err);
    if (status == STATUS_OK) status = sim_pack_parameters(sim, values, err);
    if (status == STATUS_OK) sim_pack_bodies(sim, values);
    if (status == STATUS_OK && sim->on_device) status = sim_device_set(sim, err);
    sim->states.steps = 0; // a rollout with other values has no gradient now
    if (sim->memory.used > sim->peak) sim->peak = sim->memory.used;
    return status;
}

Status sim_keep_arrays(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    SimArrays *arrays = context;
    (void)err;
    if (arrays->position) memcpy(arrays->position + frame * arrays->row, position, arrays->row * sizeof *position);
    if (arrays->velocity) memcpy(arrays->velocity + frame * arrays->row, velocity, arrays->row * sizeof *velocity);
    return STATUS_OK;
}
