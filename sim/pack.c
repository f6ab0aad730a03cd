// SPDX-License-Identifier: Apache-2.0
#include "sim/pack.h"

#include "sim/rest_shape.h"

#include <math.h>
#include <string.h>

// Vectors of each packed struct (sim/spring.h, ..).
enum { TET_VOLUME = 9, VERTEX_FIELDS = 4, CONTACT_FIELDS = 6, CONTACT_MARGIN = 4, CONTACT_RAMP = 5, HINGE_LENGTH = 3 };
const size_t sim_element_fields[SIM_TABLES] = {[SIM_KIND_SPRING] = 3, [SIM_KIND_TET] = 14,   [SIM_KIND_HINGE] = 5,
                                               [SIM_KIND_SLIDE] = 10, [SIM_KIND_SOCKET] = 7, [SIM_TABLE_STOP] = 6};

// Parameters that are one field of an element.
static const struct {
    SimValue value;
    int table;
    size_t field;
} fields[] = {
    {SIM_SPRING_LENGTH, SIM_KIND_SPRING, 0},   {SIM_SPRING_KE, SIM_KIND_SPRING, 1},
    {SIM_SPRING_KD, SIM_KIND_SPRING, 2},       {SIM_TET_MU, SIM_KIND_TET, 10},
    {SIM_TET_LAMBDA, SIM_KIND_TET, 11},        {SIM_TET_KD, SIM_KIND_TET, 12},
    {SIM_TET_ACT, SIM_KIND_TET, 13},           {SIM_HINGE_KE, SIM_KIND_HINGE, 0},
    {SIM_HINGE_KD, SIM_KIND_HINGE, 1},         {SIM_HINGE_ANGLE, SIM_KIND_HINGE, 2},
    {SIM_HINGE_LOW, SIM_TABLE_STOP, 0},        {SIM_HINGE_HIGH, SIM_TABLE_STOP, 1},
    {SIM_STOP_KE, SIM_TABLE_STOP, 2},          {SIM_STOP_KD, SIM_TABLE_STOP, 3},
    {SIM_HINGE_FRICTION, SIM_TABLE_STOP, 4},   {SIM_HINGE_KF, SIM_TABLE_STOP, 5},
    {SIM_SLIDE_KE, SIM_KIND_SLIDE, 0},         {SIM_SLIDE_KD, SIM_KIND_SLIDE, 1},
    {SIM_SLIDE_POSITION, SIM_KIND_SLIDE, 2},   {SIM_SLIDE_LOW, SIM_KIND_SLIDE, 3},
    {SIM_SLIDE_HIGH, SIM_KIND_SLIDE, 4},       {SIM_SLIDE_STOP_KE, SIM_KIND_SLIDE, 5},
    {SIM_SLIDE_STOP_KD, SIM_KIND_SLIDE, 6},    {SIM_SLIDE_FRICTION, SIM_KIND_SLIDE, 7},
    {SIM_SLIDE_KF, SIM_KIND_SLIDE, 8},         {SIM_SOCKET_KE, SIM_KIND_SOCKET, 0},
    {SIM_SOCKET_KD, SIM_KIND_SOCKET, 1},       {SIM_SOCKET_HIGH, SIM_KIND_SOCKET, 2},
    {SIM_SOCKET_STOP_KE, SIM_KIND_SOCKET, 3},  {SIM_SOCKET_STOP_KD, SIM_KIND_SOCKET, 4},
    {SIM_SOCKET_FRICTION, SIM_KIND_SOCKET, 5}, {SIM_SOCKET_KF, SIM_KIND_SOCKET, 6},
};
enum { FIELDS = sizeof fields / sizeof *fields, CONTACT_VALUES = 4 }; // SIM_CONTACT_KE .. SIM_CONTACT_MU

static size_t vector_bytes(const Sim *sim) { return sim->topology.lanes * (size_t)sim->backend->real_bytes; }

// The kind whose elements have a row in the table.
static SimKind kind_of(int table) { return table == SIM_TABLE_STOP ? SIM_KIND_HINGE : (SimKind)table; }

size_t sim_element_bytes(const Sim *sim, int table) {
    return sim->topology.blocks[kind_of(table)] * sim_element_fields[table] * vector_bytes(sim);
}

size_t sim_vertex_bytes(const Sim *sim) { return sim->topology.vertex_blocks * VERTEX_FIELDS * vector_bytes(sim); }

size_t sim_contact_bytes(const Sim *sim) {
    return sim->topology.vertex_blocks * sim->model.planes * CONTACT_FIELDS * vector_bytes(sim);
}

size_t sim_rigid_mass_bytes(const Sim *sim) {
    return sim->model.rigids ? sim_padded(&sim->topology) * sizeof *sim->packed.rigid_mass : 0;
}

void sim_pack_clear(const Sim *sim, void *const element[SIM_TABLES], void *vertex, void *contact) {
    for (int k = 0; k < SIM_TABLES; k++) memset(element[k], 0, sim_element_bytes(sim, k));
    memset(vertex, 0, sim_vertex_bytes(sim));
    memset(contact, 0, sim_contact_bytes(sim));
}

Status sim_pack_allocate(Sim *sim, void *element[SIM_TABLES], void **vertex, void **contact, Error *err) {
    bool ok = true;
    for (int k = 0; k < SIM_TABLES; k++) ok &= !!(element[k] = arena_alloc(&sim->memory, sim_element_bytes(sim, k)));
    *vertex = arena_alloc(&sim->memory, sim_vertex_bytes(sim));
    *contact = arena_alloc(&sim->memory, sim_contact_bytes(sim));
    if (!ok || !*vertex || !*contact) {
        *vertex = NULL;
        return error_set(err, STATUS_FAILED, "out of memory for the parameters of %zu particles",
                         sim->topology.vertices);
    }
    sim_pack_clear(sim, element, *vertex, *contact);
    return STATUS_OK;
}

static double value_at(const SimValues *values, SimValue value, size_t i) {
    return values->of[value] ? values->of[value][i] : 0;
}

// ---- elements

static void pack_fields(Sim *sim, const SimValues *values) {
    sim->packed.stops = false;
    for (SimValue v = 0; v < SIM_VALUES; v++) sim->packed.stops |= sim_value_is_stop(v) && values->of[v];
    for (int k = 0; k < FIELDS; k++) {
        const int table = fields[k].table;
        const SimKind kind = kind_of(table);
        for (size_t i = 0; i < sim->topology.elements[kind]; i++)
            sim_put(sim, sim->packed.element[table], sim_field(sim, sim_element_fields[table], fields[k].field, i),
                    value_at(values, fields[k].value, (size_t)sim->topology.element_of[kind][i]));
    }
}

// The particles of element `element` of a batch, and its scene's rest pose.
static const int32_t *particles_of(const Sim *sim, SimKind kind, int32_t element, size_t *scene) {
    const size_t count = sim_elements(&sim->model, kind);
    *scene = (size_t)element / count;
    return sim_element_particles(&sim->model, kind) + sim_corners(kind) * ((size_t)element % count);
}

static Status pack_tet_shapes(Sim *sim, Error *err) {
    for (size_t i = 0; i < sim->topology.elements[SIM_KIND_TET]; i++) {
        const int32_t element = sim->topology.element_of[SIM_KIND_TET][i];
        size_t scene;
        const int32_t *particles = particles_of(sim, SIM_KIND_TET, element, &scene);
        RestShape shape;
        if (!rest_shape_of(sim->rest + 3 * scene * sim->model.particles, particles, &shape))
            return error_set(err, STATUS_BAD_INPUT,
                             "tet %zu of scene %zu (particles %d, %d, %d, %d) is %s at rest: its volume is %g m3",
                             (size_t)element % sim->model.tets, scene, particles[0], particles[1], particles[2],
                             particles[3], shape.volume < 0 ? "inverted" : "flat", shape.volume);
        for (size_t f = 0; f < 9; f++)
            sim_put(sim, sim->packed.element[SIM_KIND_TET], sim_field(sim, 14, f, i), shape.inverse[f]);
        sim_put(sim, sim->packed.element[SIM_KIND_TET], sim_field(sim, 14, TET_VOLUME, i), shape.volume);
    }
    return STATUS_OK;
}

static void pack_hinge_lengths(Sim *sim) {
    for (size_t i = 0; i < sim->topology.elements[SIM_KIND_HINGE]; i++) {
        size_t scene;
        const int32_t *particles =
            particles_of(sim, SIM_KIND_HINGE, sim->topology.element_of[SIM_KIND_HINGE][i], &scene);
        sim_put(sim, sim->packed.element[SIM_KIND_HINGE],
                sim_field(sim, sim_element_fields[SIM_KIND_HINGE], HINGE_LENGTH, i),
                rest_edge(sim->rest + 3 * scene * sim->model.particles, particles[2], particles[3], NULL));
    }
}

// ---- vertices

static bool is_fixed(const SimModel *model, size_t particle) { return model->fixed && model->fixed[particle]; }

static void pack_vertices(Sim *sim, const SimValues *values) {
    const size_t N = sim->model.particles;
    for (size_t i = 0; i < sim->topology.vertices; i++) {
        const size_t vertex = (size_t)sim->topology.vertex_of[i];
        if (is_fixed(&sim->model, i % N)) continue;
        sim_put(sim, sim->packed.vertex, sim_field(sim, VERTEX_FIELDS, 0, vertex), 1 / sim->mass[i]);
        for (size_t c = 0; c < 3; c++)
            sim_put(sim, sim->packed.vertex, sim_field(sim, VERTEX_FIELDS, 1 + c, vertex),
                    value_at(values, SIM_GRAVITY, 3 * (i / N) + c));
    }
}

Status sim_make_rigid(Sim *sim, Error *err) {
    SimPacked *p = &sim->packed;
    p->rigids = sim->model.scenes * sim->model.rigids;
    p->rigid = sim->topology.rigid;
    if (!p->rigids) return STATUS_OK;
    p->rigid_mass = arena_alloc(&sim->memory, sim_rigid_mass_bytes(sim));
    if (!p->rigid_mass) return error_set(err, STATUS_FAILED, "out of memory for %zu rigid bodies", p->rigids);
    memset(p->rigid_mass, 0, sim_rigid_mass_bytes(sim));
    return STATUS_OK;
}

static void pack_rigid(Sim *sim) {
    const size_t N = sim->model.particles;
    for (size_t i = 0; i < sim->topology.vertices && sim->packed.rigids; i++) {
        double *to = sim->packed.rigid_mass[sim->topology.vertex_of[i]];
        if (sim->model.rigid[i % N] < 0) continue;
        to[0] = sim->mass[i];
        to[1] = sim->mass[i] * (sim->model.inertia ? sim->model.inertia[i % N] : 1);
    }
}

// The two materials of particle `particle` at a plane.
static void materials_of(const SimModel *model, size_t particle, size_t plane, size_t out[2]) {
    out[0] = model->material ? (size_t)model->material[particle] : 0;
    out[1] = (size_t)model->plane[plane].material;
}

static void pack_contacts(Sim *sim, const SimValues *values) {
    const SimModel *model = &sim->model;
    for (size_t i = 0; i < sim->topology.vertices; i++)
        for (size_t k = 0; k < model->planes; k++) {
            const size_t scene = i / model->particles, row = (size_t)sim->topology.vertex_of[i],
                         lanes = sim->topology.lanes;
            const size_t block = (row / lanes * model->planes + k) * CONTACT_FIELDS;
            size_t m[2];
            materials_of(model, i % model->particles, k, m);
            const SimMaterial *a = &model->contacts[m[0]], *b = &model->contacts[m[1]];
            double field[CONTACT_FIELDS] = {[CONTACT_MARGIN] = (a->margin + b->margin) / 2,
                                            [CONTACT_RAMP] = 1 / fmax((a->fade + b->fade) / 2, 1e-30)};
            for (size_t f = 0; f < CONTACT_VALUES; f++)
                field[f] = (value_at(values, SIM_CONTACT_KE + f, scene * model->materials + m[0]) +
                            value_at(values, SIM_CONTACT_KE + f, scene * model->materials + m[1])) /
                           2;
            for (size_t f = 0; f < CONTACT_FIELDS; f++)
                sim_put(sim, sim->packed.contact, (block + f) * lanes + row % lanes, field[f]);
        }
}

Status sim_pack_parameters(Sim *sim, const SimValues *values, Error *err) {
    pack_fields(sim, values);
    Status status = pack_tet_shapes(sim, err);
    pack_hinge_lengths(sim);
    pack_vertices(sim, values);
    pack_rigid(sim);
    pack_contacts(sim, values);
    return status;
}

// ---- records

void sim_pack_records(const Sim *sim, const double *position, const double *velocity, void *records) {
    memset(records, 0, sim_padded(&sim->topology) * SIM_RECORD * (size_t)sim->backend->real_bytes);
    for (size_t i = 0; i < sim->topology.vertices; i++) {
        const size_t at = (size_t)sim->topology.vertex_of[i] * SIM_RECORD;
        for (size_t c = 0; c < 3; c++) {
            if (position) sim_put(sim, records, at + c, position[3 * i + c]);
            if (velocity) sim_put(sim, records, at + SIM_QUAD + c, velocity[3 * i + c]);
        }
    }
}

void sim_unpack_records(const Sim *sim, const void *records, double *position, double *velocity) {
    for (size_t i = 0; i < sim->topology.vertices; i++) {
        const size_t at = (size_t)sim->topology.vertex_of[i] * SIM_RECORD;
        for (size_t c = 0; c < 3; c++) {
            if (position) position[3 * i + c] = sim_get(sim, records, at + c);
            if (velocity) velocity[3 * i + c] = sim_get(sim, records, at + SIM_QUAD + c);
        }
    }
}

// ---- gradients

static void unpack_fields(const Sim *sim, const SimValues *gradient) {
    for (int k = 0; k < FIELDS; k++) {
        const int table = fields[k].table;
        const SimKind kind = kind_of(table);
        double *out = gradient->of[fields[k].value];
        for (size_t i = 0; i < sim->topology.elements[kind] && out; i++)
            out[sim->topology.element_of[kind][i]] =
                sim_get(sim, sim->back.element[table], sim_field(sim, sim_element_fields[table], fields[k].field, i));
    }
}

static void unpack_vertices(const Sim *sim, const SimValues *gradient) {
    const size_t N = sim->model.particles;
    double *mass = gradient->of[SIM_MASS], *gravity = gradient->of[SIM_GRAVITY];
    if (gravity) memset(gravity, 0, 3 * sim->model.scenes * sizeof *gravity);
    for (size_t i = 0; i < sim->topology.vertices; i++) {
        const size_t vertex = (size_t)sim->topology.vertex_of[i];
        double of_force = sim_get(sim, sim->back.vertex, sim_field(sim, VERTEX_FIELDS, 0, vertex));
        if (mass) mass[i] = is_fixed(&sim->model, i % N) ? 0 : -of_force / sim->mass[i];
        for (size_t c = 0; c < 3 && gravity; c++)
            gravity[3 * (i / N) + c] += sim_get(sim, sim->back.vertex, sim_field(sim, VERTEX_FIELDS, 1 + c, vertex));
    }
}

static void unpack_contact(const Sim *sim, size_t f, double *out) {
    const SimModel *model = &sim->model;
    memset(out, 0, model->scenes * model->materials * sizeof *out);
    for (size_t i = 0; i < sim->topology.vertices; i++)
        for (size_t k = 0; k < model->planes; k++) {
            const size_t row = (size_t)sim->topology.vertex_of[i], lanes = sim->topology.lanes;
            const size_t block = (row / lanes * model->planes + k) * CONTACT_FIELDS;
            double half = sim_get(sim, sim->back.contact, (block + f) * lanes + row % lanes) / 2;
            size_t m[2];
            materials_of(model, i % model->particles, k, m);
            for (int j = 0; j < 2; j++) out[i / model->particles * model->materials + m[j]] += half;
        }
    for (size_t i = 0; i < sim->topology.vertices && sim->packed.touching.bodies; i++) {
        const size_t vertex = (size_t)sim->topology.vertex_of[i];
        out[sim->packed.touching.material[vertex]] += sim_get(sim, sim->back.touch_values, vertex * SIM_QUAD + f);
    }
}

static void unpack_rest(const Sim *sim, double *out) {
    const size_t N = sim->model.particles;
    memset(out, 0, 3 * sim->topology.vertices * sizeof *out);
    for (size_t i = 0; i < sim->topology.elements[SIM_KIND_TET]; i++) {
        double g[10];
        size_t scene;
        const int32_t *particles = particles_of(sim, SIM_KIND_TET, sim->topology.element_of[SIM_KIND_TET][i], &scene);
        for (size_t f = 0; f < 10; f++) g[f] = sim_get(sim, sim->back.element[SIM_KIND_TET], sim_field(sim, 14, f, i));
        rest_shape_adjoint(sim->rest + 3 * scene * N, particles, g, g[TET_VOLUME], out + 3 * scene * N);
    }
    for (size_t i = 0; i < sim->topology.elements[SIM_KIND_HINGE]; i++) {
        size_t scene;
        const int32_t *p = particles_of(sim, SIM_KIND_HINGE, sim->topology.element_of[SIM_KIND_HINGE][i], &scene);
        double g = sim_get(sim, sim->back.element[SIM_KIND_HINGE],
                           sim_field(sim, sim_element_fields[SIM_KIND_HINGE], HINGE_LENGTH, i)),
               along[3];
        rest_edge(sim->rest + 3 * scene * N, p[2], p[3], along);
        for (size_t c = 0; c < 3; c++) {
            out[3 * (scene * N + (size_t)p[3]) + c] += g * along[c];
            out[3 * (scene * N + (size_t)p[2]) + c] -= g * along[c];
        }
    }
}

void sim_unpack_parameters(const Sim *sim, const SimValues *gradient) {
    unpack_fields(sim, gradient);
    unpack_vertices(sim, gradient);
    for (size_t f = 0; f < CONTACT_VALUES; f++)
        if (gradient->of[SIM_CONTACT_KE + f]) unpack_contact(sim, f, gradient->of[SIM_CONTACT_KE + f]);
    if (gradient->of[SIM_REST]) unpack_rest(sim, gradient->of[SIM_REST]);
}
