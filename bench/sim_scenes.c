// SPDX-License-Identifier: Apache-2.0
#include "bench/sim_scenes.h"

#include <math.h>
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
    s->model.fixed = s->fixed = zeroed(&s->memory, counts->particles, 1, &ok);
    s->model.plane = s->plane = zeroed(&s->memory, counts->planes, sizeof(SimPlane), &ok);
    s->model.contacts = s->contact = zeroed(&s->memory, counts->materials, sizeof(SimMaterial), &ok);
    s->model.material = s->material = zeroed(&s->memory, counts->particles, sizeof(int32_t), &ok);
    s->model.face = s->face = zeroed(&s->memory, 3 * counts->faces, sizeof(int32_t), &ok);
    s->model.body = s->body = zeroed(&s->memory, counts->particles, sizeof(int32_t), &ok);
    for (int v = 0; v < SIM_VALUES; v++)
        s->values.of[v] = zeroed(&s->memory, sim_value_count(counts, 0, (SimValue)v), sizeof(double), &ok);
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
    memcpy(out->fixed, one->fixed, counts.particles);
    memcpy(out->plane, one->plane, counts.planes * sizeof *out->plane);
    memcpy(out->contact, one->contact, counts.materials * sizeof *out->contact);
    memcpy(out->material, one->material, counts.particles * sizeof *out->material);
    memcpy(out->face, one->face, 3 * counts.faces * sizeof *out->face);
    memcpy(out->body, one->body, counts.particles * sizeof *out->body);
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        const size_t each = sim_value_count(&one->model, 0, v);
        for (size_t b = 0; b < scenes && each; b++)
            memcpy(out->values.of[v] + b * each, one->values.of[v], each * sizeof(double));
    }
    return status;
}

void sim_scene_free(SimScene *scene) { arena_free(&scene->memory); }

static void fill(SimScene *s, SimValue value, double x) {
    for (size_t i = 0; i < sim_value_count(&s->model, 0, value); i++) s->values.of[value][i] = x;
}

static void place(SimScene *s, size_t particle, double x, double y, double z) {
    const double at[3] = {x, y, z};
    memcpy(s->values.of[SIM_POSITION] + 3 * particle, at, sizeof at);
    memcpy(s->values.of[SIM_REST] + 3 * particle, at, sizeof at);
}

static void gravity_and_ground(SimScene *s, double height) {
    for (size_t b = 0; b < s->model.scenes; b++) s->values.of[SIM_GRAVITY][3 * b + 1] = -9.81;
    if (!s->model.planes) return;
    s->plane[0] = (SimPlane){.normal = {0, 1, 0}, .offset = height};
    fill(s, SIM_CONTACT_KE, 1e4);
    fill(s, SIM_CONTACT_KD, 10);
    fill(s, SIM_CONTACT_KF, 10);
    fill(s, SIM_CONTACT_MU, 0.5);
}

// ---- the beam

static const double cell = 0.1;

// Corner c of cube (i,j,k): bit 0 of c is x, bit 1 y, bit 2 z.
static int32_t corner(const size_t cells[3], const size_t at[3], unsigned c) {
    size_t x = at[0] + (c & 1), y = at[1] + (c >> 1 & 1), z = at[2] + (c >> 2);
    return (int32_t)((z * (cells[1] + 1) + y) * (cells[0] + 1) + x);
}

// Five tets of a cube; neighbours are mirrored, so that faces agree. `particle` is the block's first.
static void add_cube(SimScene *s, const size_t cells[3], const size_t at[3], size_t first, int32_t particle) {
    static const unsigned tets[5][4] = {{0, 1, 2, 4}, {3, 2, 1, 7}, {5, 4, 7, 1}, {6, 7, 4, 2}, {1, 2, 4, 7}};
    const unsigned mirror = (at[0] + at[1] + at[2]) & 1;
    for (size_t t = 0; t < 5; t++) {
        int32_t *tet = s->tet + 4 * (first + t);
        for (size_t j = 0; j < 4; j++) tet[j] = particle + corner(cells, at, tets[t][j] ^ mirror);
        if (mirror) {
            int32_t last = tet[3];
            tet[3] = tet[2], tet[2] = last;
        }
        for (size_t j = 0; j < 4; j++)
            s->values.of[SIM_MASS][tet[j]] += 1000 * cell * cell * cell / (t == 4 ? 3 : 6) / 4;
    }
}

static size_t block_particles(const size_t cells[3]) { return (cells[0] + 1) * (cells[1] + 1) * (cells[2] + 1); }
static size_t block_cubes(const size_t cells[3]) { return cells[0] * cells[1] * cells[2]; }

static void place_block(SimScene *s, const size_t cells[3], const double origin[3], size_t particle) {
    for (size_t i = 0; i < block_particles(cells); i++) {
        const size_t x = i % (cells[0] + 1), y = i / (cells[0] + 1) % (cells[1] + 1),
                     z = i / (cells[0] + 1) / (cells[1] + 1);
        place(s, particle + i, origin[0] + cell * (double)x, origin[1] + cell * (double)y,
              origin[2] + cell * (double)z);
    }
}

static void add_block(SimScene *s, const size_t cells[3], size_t first, size_t particle) {
    for (size_t i = 0; i < block_cubes(cells); i++) {
        const size_t at[3] = {i % cells[0], i / cells[0] % cells[1], i / cells[0] / cells[1]};
        add_cube(s, cells, at, first + 5 * i, (int32_t)particle);
    }
}

static void fill_tets(SimScene *s) {
    fill(s, SIM_TET_MU, 5e4);
    fill(s, SIM_TET_LAMBDA, 5e4);
    fill(s, SIM_TET_KD, 10);
}

Status sim_scene_beam(SimScene *s, const size_t cells[3], bool ground, Error *err) {
    static const double origin[3] = {0, 0, 0};
    const size_t particles = block_particles(cells);
    const SimModel counts = {.scenes = 1,
                             .particles = particles,
                             .tets = 5 * block_cubes(cells),
                             .planes = ground,
                             .materials = ground,
                             .dt = 1e-4};
    Status status = sim_scene_allocate(s, &counts, err);
    if (status != STATUS_OK) return status;
    place_block(s, cells, origin, 0);
    for (size_t i = 0; i < particles; i += cells[0] + 1) s->fixed[i] = !ground;
    add_block(s, cells, 0, 0);
    fill_tets(s);
    gravity_and_ground(s, 0.001);
    return STATUS_OK;
}

// ---- nets and cloth

static void add_spring(SimScene *s, size_t *count, size_t a, size_t b) {
    const double *rest = s->values.of[SIM_REST];
    double sum = 0;
    for (size_t c = 0; c < 3; c++) sum += (rest[3 * a + c] - rest[3 * b + c]) * (rest[3 * a + c] - rest[3 * b + c]);
    s->spring[2 * *count] = (int32_t)a;
    s->spring[2 * *count + 1] = (int32_t)b;
    s->values.of[SIM_SPRING_LENGTH][(*count)++] = sqrt(sum);
}

static void place_sheet(SimScene *s, size_t side) {
    for (size_t i = 0; i < side * side; i++) place(s, i, 0.1 * (double)(i % side), 0, 0.1 * (double)(i / side));
    fill(s, SIM_MASS, 0.01);
    fill(s, SIM_SPRING_KE, 1000);
    fill(s, SIM_SPRING_KD, 0.1);
}

static void add_net(SimScene *s, size_t side, size_t *count) {
    for (size_t i = 0; i < side * side; i++) {
        if (i % side + 1 < side) add_spring(s, count, i, i + 1);
        if (i / side + 1 < side) add_spring(s, count, i, i + side);
    }
}

Status sim_scene_net(SimScene *s, size_t side, Error *err) {
    const SimModel counts = {.scenes = 1, .particles = side * side, .springs = 2 * side * (side - 1), .dt = 1e-4};
    Status status = sim_scene_allocate(s, &counts, err);
    size_t count = 0;
    if (status != STATUS_OK) return status;
    place_sheet(s, side);
    s->fixed[0] = s->fixed[side - 1] = 1;
    add_net(s, side, &count);
    gravity_and_ground(s, 0);
    return STATUS_OK;
}

static void add_hinge(SimScene *s, size_t *count, size_t a, size_t b, size_t c, size_t d) {
    const size_t all[4] = {a, b, c, d};
    for (size_t j = 0; j < 4; j++) s->hinge[4 * *count + j] = (int32_t)all[j];
    ++*count;
}

Status sim_scene_cloth(SimScene *s, size_t side, Error *err) {
    const size_t cells = (side - 1) * (side - 1), inner = (side - 1) * (side - 2);
    const SimModel counts = {.scenes = 1,
                             .particles = side * side,
                             .springs = 2 * side * (side - 1) + cells,
                             .hinges = cells + 2 * inner,
                             .planes = 1,
                             .materials = 1,
                             .dt = 1e-4};
    Status status = sim_scene_allocate(s, &counts, err);
    size_t springs = 0, hinges = 0;
    if (status != STATUS_OK) return status;
    place_sheet(s, side);
    add_net(s, side, &springs);
    for (size_t i = 0; i < side * side; i++) { // triangles (i, i+1, i+side+1) and (i, i+side+1, i+side)
        const size_t x = i % side, z = i / side;
        if (x + 1 == side || z + 1 == side) continue;
        add_spring(s, &springs, i, i + side + 1);
        add_hinge(s, &hinges, i + 1, i + side, i, i + side + 1);
        if (z > 0) add_hinge(s, &hinges, i - side, i + side + 1, i, i + 1);
        if (x > 0) add_hinge(s, &hinges, i - 1, i + side + 1, i + side, i);
    }
    fill(s, SIM_HINGE_KE, 0.1);
    fill(s, SIM_HINGE_KD, 1e-4);
    gravity_and_ground(s, -0.004);
    return STATUS_OK;
}

// ---- bodies that meet

static bool is_cloth(const SimBlock *block) { return block->cells[1] == 0; }

static size_t block_springs(const size_t cells[3]) {
    return cells[0] * (cells[2] + 1) + cells[2] * (cells[0] + 1) + cells[0] * cells[2];
}

// Squares of the surface.
static size_t block_squares(const size_t c[3]) {
    return c[1] ? 2 * (c[0] * c[1] + c[1] * c[2] + c[2] * c[0]) : c[0] * c[2];
}

static void add_face(SimScene *s, size_t *count, size_t a, size_t b, size_t c) {
    int32_t *face = s->face + 3 * (*count)++;
    face[0] = (int32_t)a, face[1] = (int32_t)b, face[2] = (int32_t)c;
}

static void add_cloth(SimScene *s, const size_t cells[3], size_t particle, size_t *springs, size_t *faces) {
    const size_t row = cells[0] + 1;
    for (size_t i = 0; i < block_particles(cells); i++) {
        const size_t a = particle + i, x = i % row, z = i / row;
        s->values.of[SIM_MASS][a] = 0.01;
        if (x < cells[0]) add_spring(s, springs, a, a + 1);
        if (z < cells[2]) add_spring(s, springs, a, a + row);
        if (x == cells[0] || z == cells[2]) continue;
        add_spring(s, springs, a, a + row + 1);
        add_face(s, faces, a, a + row + 1, a + 1);
        add_face(s, faces, a, a + row, a + row + 1);
    }
}

// Two tets of a block have the corners a, b, c.
static bool is_inside(const SimScene *s, size_t first, size_t last, int32_t a, int32_t b, int32_t c) {
    size_t found = 0;
    for (size_t t = first; t < last; t++) {
        size_t corners = 0;
        for (size_t j = 0; j < 4; j++)
            corners += s->tet[4 * t + j] == a || s->tet[4 * t + j] == b || s->tet[4 * t + j] == c;
        found += corners == 3;
    }
    return found == 2;
}

static void add_surface(SimScene *s, size_t first, size_t last, size_t *faces) {
    static const size_t sides[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}; // outwards
    for (size_t t = first; t < last; t++)
        for (size_t k = 0; k < 4; k++) {
            const int32_t *tet = s->tet + 4 * t, a = tet[sides[k][0]], b = tet[sides[k][1]], c = tet[sides[k][2]];
            if (!is_inside(s, first, last, a, b, c)) add_face(s, faces, (size_t)a, (size_t)b, (size_t)c);
        }
}

static void fill_materials(SimScene *s) {
    static const double values[4] = {2e3, 2, 5, 0.4};
    for (size_t m = 0; m < s->model.materials; m++) {
        const double more = 1 + 0.5 * (double)m;
        s->contact[m] = (SimMaterial){.margin = 0.005 * more, .fade = 0.002};
        for (size_t v = 0; v < 4; v++) s->values.of[SIM_CONTACT_KE + v][m] = values[v] * more;
    }
}

Status sim_scene_blocks(SimScene *s, const SimBlock *block, size_t blocks, Error *err) {
    SimModel counts = {.scenes = 1, .materials = blocks, .dt = 1e-4};
    size_t particle = 0, tet = 0, springs = 0, faces = 0;
    for (size_t b = 0; b < blocks; b++) {
        counts.particles += block_particles(block[b].cells);
        counts.tets += 5 * block_cubes(block[b].cells);
        counts.springs += is_cloth(&block[b]) ? block_springs(block[b].cells) : 0;
        counts.faces += 2 * block_squares(block[b].cells);
    }
    Status status = sim_scene_allocate(s, &counts, err);
    for (size_t b = 0; b < blocks && status == STATUS_OK; b++) {
        const size_t *cells = block[b].cells, particles = block_particles(cells), tets = 5 * block_cubes(cells);
        place_block(s, cells, block[b].at, particle);
        if (is_cloth(&block[b])) add_cloth(s, cells, particle, &springs, &faces);
        else add_block(s, cells, tet, particle);
        add_surface(s, tet, tet + tets, &faces);
        for (size_t i = particle; i < particle + particles; i++) s->body[i] = s->material[i] = (int32_t)b;
        particle += particles;
        tet += tets;
    }
    if (status != STATUS_OK) return status;
    fill(s, SIM_SPRING_KE, 1000);
    fill(s, SIM_SPRING_KD, 0.1);
    fill_tets(s);
    fill_materials(s);
    gravity_and_ground(s, 0);
    return STATUS_OK;
}
