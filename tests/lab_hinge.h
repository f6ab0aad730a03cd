// SPDX-License-Identifier: Apache-2.0
// Scenes of a rod on a hinge, and what is measured of them.
#ifndef VPD_TESTS_LAB_HINGE_H
#define VPD_TESTS_LAB_HINGE_H

#include "tests/lab_movie.h"

#define POST                                                                                                           \
    "  post: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 1000, rigid: yes, fixed: all, position: [0, "   \
    "0, 1]}\n"
#define HEAD "fps: 200\nsubsteps: 40\nprecision: f64\n"
#define INERTIA (2 * (0.5 * 0.5 + 0.02 * 0.02) / 12) // of ROD about y
#define ROD(more) "  rod: {box: {size: [0.5, 0.04, 0.02], cells: [1, 1, 1]}, mass: 2, rigid: yes, " more "}\n"
#define PIN(more)                                                                                                      \
    "joints: {pin: {between: [post, rod], kind: hinge, axis: [0, 2, 0], at: [0, 0, 1], k_e: 1e5, " more "}}\n"

// By how much the second object has turned about y since frame 0, in radians, whole turns included.
static inline double turned(const Movie *m, size_t frame, double before) {
    const size_t first = m->scene.objects[1].particle;
    double d[2][3];
    for (int k = 0; k < 2; k++)
        for (size_t c = 0; c < 3; c++) {
            const double *x = m->position + (k ? frame : 0) * m->row + 3 * first;
            d[k][c] = x[3 + c] - x[c];
        }
    const double angle = atan2(d[0][0] * -d[1][2] + d[0][2] * d[1][0], d[0][0] * d[1][0] + d[0][2] * d[1][2]);
    return angle + 2 * M_PI * round((before - angle) / (2 * M_PI));
}

static inline double last_angle(const Movie *m) {
    double out = 0;
    for (size_t f = 1; f < m->frames; f++) out = turned(m, f, out);
    return out;
}

#define ACT(more) "controls: [{joint: pin, " more "}]\n"

// A scene that ends with a joint of the post, of which `start` has what is before its own keys, and with a control if
// that is not "": one of them is wrong.
static inline void joint_refused(const char *start, const char *keys, const char *control, const char *words) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s}}\n%s%s%s", start, keys, *control ? "controls: [" : "", control,
             *control ? "]\n" : "");
    movie_refused(text, words);
}

// Momentum, and angular momentum about the origin, of a frame.
static inline void momenta(const Movie *m, size_t frame, double out[6]) {
    const SimScene *s = &m->scene;
    const double *x = m->position + frame * m->row, *v = m->velocity + frame * m->row;
    memset(out, 0, 6 * sizeof *out);
    for (size_t r = 0; r < s->model.rigids; r++) {
        double centre[3] = {0}, velocity[3] = {0}, mass = 0, across[3];
        for (size_t i = 0; i < s->model.particles; i++) {
            if (s->model.rigid[i] != (int32_t)r) continue;
            mass += s->values.of[SIM_MASS][i];
            for (size_t c = 0; c < 3; c++) centre[c] += s->values.of[SIM_MASS][i] * x[3 * i + c];
            for (size_t c = 0; c < 3; c++) velocity[c] += s->values.of[SIM_MASS][i] * v[3 * i + c];
        }
        for (size_t c = 0; c < 3; c++) centre[c] /= mass, out[c] += velocity[c];
        vector_cross(centre, velocity, across);
        for (size_t c = 0; c < 3; c++) out[3 + c] += across[c];
        for (size_t i = 0; i < s->model.particles; i++) {
            double arm[3], u[3];
            if (s->model.rigid[i] != (int32_t)r) continue;
            for (size_t c = 0; c < 3; c++) arm[c] = x[3 * i + c] - centre[c], u[c] = v[3 * i + c] - velocity[c] / mass;
            vector_cross(arm, u, across);
            for (size_t c = 0; c < 3; c++) out[3 + c] += s->model.inertia[i] * s->values.of[SIM_MASS][i] * across[c];
        }
    }
}

#define FREE                                                                                                           \
    "  base: {box: {size: [0.2, 0.1, 0.1], cells: [1, 1, 1]}, mass: 3, rigid: yes, position: [-0.1, 0, 1], velocity: " \
    "[0.1, 0, 0], spin: [0.5, 0, 1]}\n"
#define FREE_PIN "joints: {pin: {between: [base, rod], kind: hinge, axis: [1, 2, 2], at: [0, 0, 1], k_e: 1e5, "

#endif
