// SPDX-License-Identifier: Apache-2.0
// A box above a painted floor, and its shadow, for tests.
#ifndef VPD_TESTS_SHADOW_WORLD_H
#define VPD_TESTS_SHADOW_WORLD_H

#include "motion/light.h"
#include "nn/backend.h"
#include "tests/test.h"

enum { SIDE = 60, FACE = 16, D = 4, FLOOR = SIDE * SIDE, BOX = 6 * FACE * FACE, N = FLOOR + BOX };
static const double HALF = 0.15, WAY[3] = {0.3, 0.2, -1}, FROM[3] = {-0.1, 0.1, 0.4}, TO[3] = {0.2, 0, 0.3}, DARK = 0.4;

typedef struct World {
    Device *device;
    Tape tape;
    real x[3 * N], moved[3 * N], colour[3 * N], feature[D * N];
    int32_t body[N], pixel[N];
    LightScene scene;
    double way[3]; // the light that was found
    int first;     // axis of the world that the floor's x is: 0, or 1 if the world is turned
} World;

static inline double *floor_place(size_t i, double out[3]) {
    out[0] = 0.03 * (double)(i % SIDE) - 0.9, out[1] = 0.03 * (double)(i / SIDE) - 0.9, out[2] = 0;
    return out;
}

// Whether the light comes to x through a box that is `more` larger on all sides.
static inline bool is_shaded(const double x[3], const double centre[3], double more) {
    double from = 0, to = INFINITY;
    for (int c = 0; c < 3; c++) {
        double a = (centre[c] - HALF - more - x[c]) / -WAY[c], b = (centre[c] + HALF + more - x[c]) / -WAY[c];
        from = fmax(from, fmin(a, b)), to = fmin(to, fmax(a, b));
    }
    return from < to;
}

static inline double paint(const double x[3]) { return (int)(floor(5 * x[0]) + floor(5 * x[1])) & 1 ? 0.55 : 0.65; }

static inline void put(const World *w, real *positions, size_t i, const double x[3]) {
    for (int c = 0; c < 3; c++) positions[3 * i + (size_t)((c + w->first) % 3)] = (real)x[c];
}

static inline void put_box(const World *w, real *positions, const double centre[3]) {
    for (size_t i = 0; i < BOX; i++) {
        size_t face = i / (FACE * FACE), axis = face % 3;
        double x[3], a = (double)(i % FACE) / (FACE - 1), b = (double)(i / FACE % FACE) / (FACE - 1);
        x[axis] = face < 3 ? HALF : -HALF;
        x[(axis + 1) % 3] = HALF * (2 * a - 1), x[(axis + 2) % 3] = HALF * (2 * b - 1);
        for (int c = 0; c < 3; c++) x[c] += centre[c];
        put(w, positions, FLOOR + i, x);
    }
}

// `dark`: what is left of the light in the shadow before the box moves.
static inline void make(World *w, int first, double dark) {
    Error err = {0};
    memset(w, 0, sizeof *w);
    w->first = first;
    for (size_t i = 0; i < FLOOR; i++) {
        double x[3], light = paint(floor_place(i, x)) * (is_shaded(x, FROM, 0) ? dark : 1);
        put(w, w->x, i, x), put(w, w->moved, i, x);
        w->body[i] = -1;
        w->feature[D * i] = (real)light, w->feature[D * i + 1] = (real)(0.1 * sin(40 * x[0]));
        for (size_t c = 0; c < 3; c++) w->colour[3 * i + c] = (real)light;
    }
    put_box(w, w->x, FROM), put_box(w, w->moved, TO);
    w->scene = (LightScene){{N, w->x, w->body}, w->x, w->colour, w->pixel};
    assert_status_ok(device_open("cpu", 1, &w->device, &err), err);
    tape_init(&w->tape, w->device);
}

static inline void forget(World *w) {
    tape_free(&w->tape);
    device_close(w->device);
}

#endif
