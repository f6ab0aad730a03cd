// SPDX-License-Identifier: Apache-2.0
// Scenes of bodies that meet: blocks of tetrahedra, sheets of springs, and loose particles.
#ifndef VPD_TESTS_SIM_MEETING_H
#define VPD_TESTS_SIM_MEETING_H

#include "bench/sim_scenes.h"
#include "tests/test.h"

typedef enum BodyShape { BODY_BLOCK, BODY_SHEET, BODY_POINTS } BodyShape;

typedef struct Body {
    BodyShape shape;
    size_t cells[3]; // of a sheet: along x and z; of points: how many, along x
    double cell[3];  // metres
    double at[3];    // of the middle
    double turn[3];  // rotation vector, about the middle
    double velocity[3];
    double mass; // kg of each particle
    bool fixed;
    int32_t material;
} Body;

static inline size_t body_particles(const Body *b) {
    if (b->shape == BODY_POINTS) return b->cells[0];
    return (b->cells[0] + 1) * (b->shape == BODY_BLOCK ? b->cells[1] + 1 : 1) * (b->cells[2] + 1);
}

static inline size_t body_tets(const Body *b) {
    return b->shape == BODY_BLOCK ? 5 * b->cells[0] * b->cells[1] * b->cells[2] : 0;
}

static inline size_t body_springs(const Body *b) {
    const size_t x = b->cells[0], z = b->cells[2];
    return b->shape == BODY_SHEET ? x * (z + 1) + z * (x + 1) + x * z : 0;
}

static inline size_t body_faces(const Body *b) {
    const size_t *c = b->cells;
    if (b->shape == BODY_POINTS) return 0;
    return b->shape == BODY_SHEET ? 2 * c[0] * c[2] : 4 * (c[0] * c[1] + c[1] * c[2] + c[2] * c[0]);
}

static inline void body_turn(const double axis[3], const double in[3], double out[3]) {
    const double angle = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    const double s = angle > 0 ? sin(angle) / angle : 1, k = angle > 0 ? (1 - cos(angle)) / (angle * angle) : 0.5;
    double once[3], twice[3];
    for (int c = 0; c < 3; c++) once[c] = axis[(c + 1) % 3] * in[(c + 2) % 3] - axis[(c + 2) % 3] * in[(c + 1) % 3];
    for (int c = 0; c < 3; c++)
        twice[c] = axis[(c + 1) % 3] * once[(c + 2) % 3] - axis[(c + 2) % 3] * once[(c + 1) % 3];
    for (int c = 0; c < 3; c++) out[c] = in[c] + s * once[c] + k * twice[c];
}

typedef struct MeetingFill { // how much is there already
    size_t particle, tet, spring, face;
} MeetingFill;

static inline void body_place(SimScene *s, const Body *b, size_t particle, const size_t at[3]) {
    double from[3], turned[3];
    for (size_t c = 0; c < 3; c++) {
        const size_t cells = b->shape == BODY_POINTS            ? (c ? 0 : b->cells[0] - 1)
                             : b->shape == BODY_SHEET && c == 1 ? 0
                                                                : b->cells[c];
        from[c] = ((double)at[c] - (double)cells / 2) * b->cell[c];
    }
    body_turn(b->turn, from, turned);
    for (size_t c = 0; c < 3; c++) {
        const double x = b->at[c] + turned[c];
        s->values.of[SIM_POSITION][3 * particle + c] = s->values.of[SIM_REST][3 * particle + c] = x;
        s->values.of[SIM_VELOCITY][3 * particle + c] = b->fixed ? 0 : b->velocity[c];
    }
    s->values.of[SIM_MASS][particle] = b->mass;
    s->fixed[particle] = b->fixed;
}

static inline void body_tetrahedra(SimScene *s, const Body *b, MeetingFill *fill) {
    static const unsigned tets[5][4] = {{0, 1, 2, 4}, {3, 2, 1, 7}, {5, 4, 7, 1}, {6, 7, 4, 2}, {1, 2, 4, 7}};
    static const int sides[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}; // outwards
    const size_t *n = b->cells, first = fill->face;
    for (size_t i = 0; i < body_tets(b); i++) {
        const size_t cube[3] = {i / 5 % n[0], i / 5 / n[0] % n[1], i / 5 / n[0] / n[1]};
        const unsigned mirror = (cube[0] + cube[1] + cube[2]) & 1;
        size_t at[4][3];
        int32_t *tet = s->tet + 4 * fill->tet++;
        for (size_t j = 0; j < 4; j++) {
            const size_t k = mirror && j > 1 ? 5 - j : j; // a mirrored one has its last two exchanged
            const unsigned corner = tets[i % 5][k] ^ mirror;
            for (size_t c = 0; c < 3; c++) at[j][c] = cube[c] + (corner >> c & 1);
            tet[j] = (int32_t)(fill->particle + (at[j][2] * (n[1] + 1) + at[j][1]) * (n[0] + 1) + at[j][0]);
        }
        for (int k = 0; k < 12; k++) { // a side whose corners all lie in one side of the block
            const int *f = sides[k / 3], c = k % 3;
            const size_t level = at[f[0]][c];
            if ((level != 0 && level != n[c]) || at[f[1]][c] != level || at[f[2]][c] != level) continue;
            for (int j = 0; j < 3; j++) s->face[3 * fill->face + (size_t)j] = tet[f[j]];
            fill->face++;
        }
    }
    assert_int_equal(fill->face - first, body_faces(b));
}

static inline void body_sheet(SimScene *s, const Body *b, MeetingFill *fill) {
    const size_t wide = b->cells[0] + 1, deep = b->cells[2] + 1;
    for (size_t i = 0; i < wide * deep; i++) {
        const bool x = i % wide + 1 < wide, z = i / wide + 1 < deep;
        const size_t ends[3] = {x ? 1 : 0, z ? wide : 0, x && z ? wide + 1 : 0};
        const int32_t at = (int32_t)(fill->particle + i), w = (int32_t)wide;
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            if (!ends[k]) continue;
            for (size_t c = 0; c < 3; c++) {
                const double *rest = s->values.of[SIM_REST] + 3 * at;
                sum += (rest[3 * ends[k] + c] - rest[c]) * (rest[3 * ends[k] + c] - rest[c]);
            }
            s->values.of[SIM_SPRING_LENGTH][fill->spring] = sqrt(sum);
            s->spring[2 * fill->spring] = at;
            s->spring[2 * fill->spring++ + 1] = at + (int32_t)ends[k];
        }
        if (!ends[2]) continue;
        const int32_t f[6] = {at, at + w + 1, at + 1, at, at + w, at + w + 1}; // upwards
        memcpy(s->face + 3 * fill->face, f, sizeof f);
        fill->face += 2;
    }
}

static inline void meeting_fill(SimScene *s, SimValue value, double x) {
    for (size_t i = 0; i < sim_value_count(&s->model, 0, value); i++) s->values.of[value][i] = x;
}

// One scene of bodies; y is up, without gravity. Solids have mu = lambda = 5e4 Pa and k_d 10 Pa s, springs 1000 N/m and
// 0.1 N s/m, and contact k_e 2000 N/m, k_d 2, k_f 5, mu 0.5, fade 1 mm. `passing`: bodies that pass each other.
static inline void meeting_make(SimScene *s, const Body *bodies, size_t count, size_t materials, bool passing) {
    SimModel counts = {.scenes = 1, .materials = materials, .dt = 1e-4};
    for (size_t b = 0; b < count; b++) {
        counts.particles += body_particles(&bodies[b]);
        counts.tets += body_tets(&bodies[b]);
        counts.springs += body_springs(&bodies[b]);
        counts.faces += body_faces(&bodies[b]);
    }
    Error err;
    assert_status_ok(sim_scene_allocate(s, &counts, &err), err);
    MeetingFill fill = {0};
    for (size_t b = 0; b < count; b++) {
        const size_t x = bodies[b].shape == BODY_POINTS ? bodies[b].cells[0] : bodies[b].cells[0] + 1,
                     y = bodies[b].shape == BODY_BLOCK ? bodies[b].cells[1] + 1 : 1;
        for (size_t i = 0; i < body_particles(&bodies[b]); i++) {
            const size_t at[3] = {i % x, i / x % y, i / x / y}, particle = fill.particle + i;
            body_place(s, &bodies[b], particle, at);
            s->body[particle] = (int32_t)b;
            s->material[particle] = bodies[b].material;
        }
        if (bodies[b].shape == BODY_BLOCK) body_tetrahedra(s, &bodies[b], &fill);
        if (bodies[b].shape == BODY_SHEET) body_sheet(s, &bodies[b], &fill);
        fill.particle += body_particles(&bodies[b]);
    }
    assert_true(fill.tet == counts.tets && fill.spring == counts.springs && fill.face == counts.faces);
    if (passing) s->model.faces = 0;
    static const double values[SIM_VALUES] = {[SIM_TET_MU] = 5e4,     [SIM_TET_LAMBDA] = 5e4, [SIM_TET_KD] = 10,
                                              [SIM_SPRING_KE] = 1000, [SIM_SPRING_KD] = 0.1,  [SIM_CONTACT_KE] = 2000,
                                              [SIM_CONTACT_KD] = 2,   [SIM_CONTACT_KF] = 5,   [SIM_CONTACT_MU] = 0.5};
    for (SimValue v = 0; v < SIM_VALUES; v++)
        if (values[v] > 0) meeting_fill(s, v, values[v]);
    for (size_t m = 0; m < materials; m++) s->contact[m].fade = 1e-3;
}

#endif
