// SPDX-License-Identifier: Apache-2.0
#include "bench/sim_scenes.h"

#include "base/vector.h"

#include <string.h>

static void *zeroed(Arena *memory, size_t count, size_t size, bool *ok) {
    void *out = arena_array(memory, count, size);
    if (out) memset(out, 0, count * size);
    else *ok = false;
    return out;
}

Status sim_scene_allocate(SimScene *s, const SimModel *counts, Error *err) {
    bool ok = true;
    *s = (SimScene){.model = *counts};
    arena_init(&s->memory, arena_host_source());
    s->model.spring = s->spring = zeroed(&s->memory, 2 * counts->springs, sizeof(int32_t), &ok);
    s->model.tet = s->tet = zeroed(&s->memory, 4 * counts->tets, sizeof(int32_t), &ok);
    s->model.hinge = s->hinge = zeroed(&s->memory, 4 * counts->hinges, sizeof(int32_t), &ok);
    s->model.slide = s->slide = zeroed(&s->memory, 4 * counts->slides, sizeof(int32_t), &ok);
    s->model.socket = s->socket = zeroed(&s->memory, 6 * counts->sockets, sizeof(int32_t), &ok);
    s->model.fixed = s->fixed = zeroed(&s->memory, counts->particles, 1, &ok);
    s->model.plane = s->plane = zeroed(&s->memory, counts->planes, sizeof(SimPlane), &ok);
    s->model.contacts = s->contact = zeroed(&s->memory, counts->materials, sizeof(SimMaterial), &ok);
    s->model.material = s->material = zeroed(&s->memory, counts->particles, sizeof(int32_t), &ok);
    s->model.face = s->face = zeroed(&s->memory, 3 * counts->faces, sizeof(int32_t), &ok);
    s->model.body = s->body = zeroed(&s->memory, counts->particles, sizeof(int32_t), &ok);
    s->model.rigid = s->rigid = zeroed(&s->memory, counts->particles, sizeof(int32_t), &ok);
    s->model.inertia = s->inertia = zeroed(&s->memory, counts->particles, sizeof(double), &ok);
    for (SimValue v = 0; v < SIM_VALUES; v++)
        if (!sim_value_is_stop(v))
            s->values.of[v] = zeroed(&s->memory, sim_value_count(counts, 0, v), sizeof(double), &ok);
    return ok ? STATUS_OK
              : error_set(err, STATUS_FAILED, "out of memory for a scene of %zu particles", counts->particles);
}

Status sim_scene_repeat(const SimScene *one, size_t scenes, SimScene *out, Error *err) {
    SimModel counts = one->model;
    counts.scenes = scenes;
    Status status = sim_scene_allocate(out, &counts, err);
    if (status != STATUS_OK) return status;
    memcpy(out->spring, one->spring, 2 * counts.springs * sizeof *out->spring);
    memcpy(out->tet, one->tet, 4 * counts.tets * sizeof *out->tet);
    memcpy(out->hinge, one->hinge, 4 * counts.hinges * sizeof *out->hinge);
    memcpy(out->slide, one->slide, 4 * counts.slides * sizeof *out->slide);
    memcpy(out->socket, one->socket, 6 * counts.sockets * sizeof *out->socket);
    memcpy(out->fixed, one->fixed, counts.particles);
    memcpy(out->plane, one->plane, counts.planes * sizeof *out->plane);
    memcpy(out->contact, one->contact, counts.materials * sizeof *out->contact);
    memcpy(out->material, one->material, counts.particles * sizeof *out->material);
    memcpy(out->face, one->face, 3 * counts.faces * sizeof *out->face);
    memcpy(out->body, one->body, counts.particles * sizeof *out->body);
    memcpy(out->rigid, one->rigid, counts.particles * sizeof *out->rigid);
    memcpy(out->inertia, one->inertia, counts.particles * sizeof *out->inertia);
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        const size_t each = sim_value_count(&one->model, 0, v);
        for (size_t b = 0; b < scenes && each && one->values.of[v]; b++)
            memcpy(out->values.of[v] + b * each, one->values.of[v], each * sizeof(double));
    }
    return status;
}

void sim_scene_free(SimScene *scene) { arena_free(&scene->memory); }

void sim_scene_fill(SimScene *s, SimValue value, double x) {
    for (size_t i = 0; i < sim_value_count(&s->model, 0, value); i++) s->values.of[value][i] = x;
}

Status sim_scene_add_stops(SimScene *s, const double values[6], Error *err) {
    bool ok = true;
    for (SimValue v = SIM_HINGE_LOW; v <= SIM_HINGE_KF && ok; v++) {
        s->values.of[v] = zeroed(&s->memory, sim_value_count(&s->model, 0, v), sizeof(double), &ok);
        if (ok) sim_scene_fill(s, v, values[v - SIM_HINGE_LOW]);
    }
    return ok ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for %zu hinges", s->model.hinges);
}

// ---- bodies

static size_t body_particles(const size_t n[3]) { return (n[0] + 1) * (n[1] + 1) * (n[2] + 1); }

static size_t body_springs(const size_t n[3]) {
    return n[1] || !n[2] ? 0 : n[0] * (n[2] + 1) + n[2] * (n[0] + 1) + n[0] * n[2];
}

static void count_body(const SimSceneBody *b, SimModel *sum) {
    const size_t *n = b->cells;
    sum->particles += body_particles(n);
    sum->springs += body_springs(n);
    sum->tets += b->rigid ? 0 : 5 * n[0] * n[1] * n[2];
    sum->rigids += b->rigid;
    sum->faces += (n[1] ? 4 : 2) * (n[0] * n[1] + n[1] * n[2] + n[2] * n[0]);
}

void sim_scene_turn(const double turn[3], const double in[3], double out[3]) {
    const double angle = sqrt(vector_dot(turn, turn));
    const double s = angle > 0 ? sin(angle) / angle : 1, k = angle > 0 ? (1 - cos(angle)) / (angle * angle) : 0.5;
    double once[3], twice[3];
    vector_cross(turn, in, once);
    vector_cross(turn, once, twice);
    for (int c = 0; c < 3; c++) out[c] = in[c] + s * once[c] + k * twice[c];
}

static double body_cell(const SimSceneBody *b, size_t c) { return b->cell[c] > 0 ? b->cell[c] : 0.1; }

static void add_particles(SimScene *s, const SimSceneBody *b, size_t first) {
    const size_t x = b->cells[0] + 1, y = b->cells[1] + 1;
    for (size_t i = 0; i < body_particles(b->cells); i++) {
        const size_t at[3] = {i % x, i / x % y, i / x / y}, particle = first + i;
        double from[3], turned[3], around[3];
        for (size_t c = 0; c < 3; c++) from[c] = ((double)at[c] - (double)b->cells[c] / 2) * body_cell(b, c);
        sim_scene_turn(b->turn, from, turned);
        vector_cross(b->spin, turned, around);
        for (size_t c = 0; c < 3; c++) {
            s->values.of[SIM_POSITION][3 * particle + c] = s->values.of[SIM_REST][3 * particle + c] =
                b->at[c] + turned[c];
            s->values.of[SIM_VELOCITY][3 * particle + c] = b->velocity[c] + around[c];
        }
        s->values.of[SIM_MASS][particle] = b->mass > 0 ? b->mass : b->cells[1] ? 0 : 0.01;
        s->fixed[particle] = b->fixed;
        s->material[particle] = b->material;
    }
}

// Five tets of each cube; neighbours are mirrored, so that their faces agree.
static void add_tets(SimScene *s, const SimSceneBody *b, const SimModel *first) {
    static const unsigned tets[5][4] = {{0, 1, 2, 4}, {3, 2, 1, 7}, {5, 4, 7, 1}, {6, 7, 4, 2}, {1, 2, 4, 7}};
    static const int sides[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}; // outwards
    const size_t *n = b->cells;
    const double cube_mass = b->mass > 0 ? 0 : 1000 * body_cell(b, 0) * body_cell(b, 1) * body_cell(b, 2);
    int32_t *face = s->face + 3 * first->faces;
    for (size_t i = 0; i < 5 * n[0] * n[1] * n[2]; i++) {
        const size_t cube[3] = {i / 5 % n[0], i / 5 / n[0] % n[1], i / 5 / n[0] / n[1]};
        const unsigned mirror = (cube[0] + cube[1] + cube[2]) & 1;
        size_t at[4][3];
        int32_t tet[4];
        for (size_t j = 0; j < 4; j++) {
            const size_t k = mirror && j > 1 ? 5 - j : j; // a mirrored one has its last two exchanged
            const unsigned corner = tets[i % 5][k] ^ mirror;
            for (size_t c = 0; c < 3; c++) at[j][c] = cube[c] + (corner >> c & 1);
            tet[j] = (int32_t)(first->particles + (at[j][2] * (n[1] + 1) + at[j][1]) * (n[0] + 1) + at[j][0]);
            s->values.of[SIM_MASS][tet[j]] += cube_mass / (i % 5 == 4 ? 3 : 6) / 4;
        }
        if (!b->rigid) memcpy(s->tet + 4 * (first->tets + i), tet, sizeof tet);
        for (int k = 0; k < 12; k++) { // a side whose corners all lie in one side of the block
            const int *f = sides[k / 3], c = k % 3;
            const size_t level = at[f[0]][c];
            if ((level != 0 && level != n[c]) || at[f[1]][c] != level || at[f[2]][c] != level) continue;
            for (int j = 0; j < 3; j++) *face++ = tet[f[j]];
        }
    }
}

static void add_spring(SimScene *s, size_t spring, size_t a, size_t b) {
    double along[3];
    vector_between(s->values.of[SIM_REST], (int)a, (int)b, along);
    s->spring[2 * spring] = (int32_t)a;
    s->spring[2 * spring + 1] = (int32_t)b;
    s->values.of[SIM_SPRING_LENGTH][spring] = sqrt(vector_dot(along, along));
}

// The springs along the edges of squares come first, then those across.
static void add_sheet(SimScene *s, const size_t n[3], SimModel next) {
    const size_t row = n[0] + 1, particles = body_particles(n);
    for (size_t k = 0; k < 2 * particles; k++) {
        const size_t i = k % particles, a = next.particles + i;
        const bool x = i % row < n[0], z = i / row < n[2];
        if (k < particles) {
            if (x) add_spring(s, next.springs++, a, a + 1);
            if (z) add_spring(s, next.springs++, a, a + row);
        } else if (x && z) {
            const size_t corners[6] = {a, a + row + 1, a + 1, a, a + row, a + row + 1}; // upwards
            add_spring(s, next.springs++, a, a + row + 1);
            for (size_t j = 0; j < 6; j++) s->face[3 * next.faces + j] = (int32_t)corners[j];
            next.faces += 2;
        }
    }
}

// `counts` has those of planes, materials and hinges.
static Status make(SimScene *s, const SimSceneBody *bodies, size_t count, SimModel counts, Error *err) {
    static const double values[SIM_VALUES] = {
        [SIM_TET_MU] = 5e4, [SIM_TET_LAMBDA] = 5e4, [SIM_TET_KD] = 10, [SIM_SPRING_KE] = 1000, [SIM_SPRING_KD] = 0.1};
    SimModel next = {0};
    counts.scenes = 1, counts.dt = 1e-4;
    for (size_t b = 0; b < count; b++) count_body(&bodies[b], &counts);
    Status status = sim_scene_allocate(s, &counts, err);
    if (status != STATUS_OK) return status;
    for (size_t b = 0; b < count; b++) {
        const SimModel first = next;
        count_body(&bodies[b], &next);
        add_particles(s, &bodies[b], first.particles);
        add_tets(s, &bodies[b], &first);
        if (next.springs > first.springs) add_sheet(s, bodies[b].cells, first);
        for (size_t i = first.particles; i < next.particles; i++) {
            s->body[i] = (int32_t)b;
            s->rigid[i] = bodies[b].rigid ? (int32_t)first.rigids : -1;
            s->inertia[i] = 1.0 / 3;
        }
    }
    for (SimValue v = 0; v < SIM_VALUES; v++)
        if (values[v] > 0) sim_scene_fill(s, v, values[v]);
    return STATUS_OK;
}

static void fill_contact(SimScene *s, double k_e, double k_d, double k_f) {
    sim_scene_fill(s, SIM_CONTACT_KE, k_e);
    sim_scene_fill(s, SIM_CONTACT_KD, k_d);
    sim_scene_fill(s, SIM_CONTACT_KF, k_f);
    sim_scene_fill(s, SIM_CONTACT_MU, 0.5);
}

Status sim_scene_bodies(SimScene *s, const SimSceneBody *bodies, size_t count, double margin, Error *err) {
    SimModel counts = {0};
    for (size_t b = 0; b < count; b++)
        if ((size_t)bodies[b].material >= counts.materials) counts.materials = (size_t)bodies[b].material + 1;
    Status status = make(s, bodies, count, counts, err);
    if (status != STATUS_OK) return status;
    fill_contact(s, 2000, 2, 5);
    for (size_t m = 0; m < counts.materials; m++) s->contact[m] = (SimMaterial){.margin = margin, .fade = 1e-3};
    return STATUS_OK;
}

// ---- one body, alone

// With its lowest corner at 0, and with gravity; if there is a plane, it is level and `ground` high.
static Status make_alone(SimScene *s, const size_t cells[3], SimModel counts, double ground, Error *err) {
    SimSceneBody body = {0};
    for (size_t c = 0; c < 3; c++) body.cells[c] = cells[c], body.at[c] = 0.05 * (double)cells[c];
    counts.materials = counts.planes;
    Status status = make(s, &body, 1, counts, err);
    if (status != STATUS_OK) return status;
    s->model.faces = 0; // it does not meet itself
    s->values.of[SIM_GRAVITY][1] = -9.81;
    if (counts.planes) s->plane[0] = (SimPlane){.normal = {0, 1, 0}, .offset = ground};
    fill_contact(s, 1e4, 10, 10);
    return STATUS_OK;
}

Status sim_scene_beam(SimScene *s, const size_t cells[3], bool ground, Error *err) {
    Status status = make_alone(s, cells, (SimModel){.planes = ground}, 0.001, err);
    for (size_t i = 0; i < s->model.particles && status == STATUS_OK; i += cells[0] + 1) s->fixed[i] = !ground;
    return status;
}

Status sim_scene_net(SimScene *s, size_t side, Error *err) {
    Status status = make_alone(s, (const size_t[3]){side - 1, 0, side - 1}, (SimModel){0}, 0, err);
    if (status != STATUS_OK) return status;
    s->fixed[0] = s->fixed[side - 1] = 1;
    s->model.springs = 2 * side * (side - 1); // without those across
    return STATUS_OK;
}

static void add_hinge(SimScene *s, size_t hinge, size_t a, size_t b, size_t c, size_t d) {
    const size_t all[4] = {a, b, c, d};
    for (size_t j = 0; j < 4; j++) s->hinge[4 * hinge + j] = (int32_t)all[j];
}

Status sim_scene_cloth(SimScene *s, size_t side, Error *err) {
    const SimModel counts = {.hinges = (side - 1) * (side - 1) + 2 * (side - 1) * (side - 2), .planes = 1};
    Status status = make_alone(s, (const size_t[3]){side - 1, 0, side - 1}, counts, -0.004, err);
    size_t hinges = 0;
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < side * side; i++) { // triangles (i, i+1, i+side+1) and (i, i+side+1, i+side)
        const size_t x = i % side, z = i / side;
        if (x + 1 == side || z + 1 == side) continue;
        add_hinge(s, hinges++, i + 1, i + side, i, i + side + 1);
        if (z > 0) add_hinge(s, hinges++, i - side, i + side + 1, i, i + 1);
        if (x > 0) add_hinge(s, hinges++, i - 1, i + side + 1, i + side, i);
    }
    sim_scene_fill(s, SIM_HINGE_KE, 0.1);
    sim_scene_fill(s, SIM_HINGE_KD, 1e-4);
    return STATUS_OK;
}
