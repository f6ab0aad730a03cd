// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_DOUBLE
#define VPD_DOUBLE // of sim/hinge.h, ..: the rest pose is in double for either precision of the simulation
#endif
#include "sim/rest_shape.h"

#include "base/vector.h"
#include "sim/hinge.h"
#include "sim/slide.h"
#include "sim/socket.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

bool rest_shape_of(const double *rest, const int32_t particles[4], RestShape *out) {
    double e[3][3], longest = 0;
    for (int k = 0; k < 3; k++) {
        for (int c = 0; c < 3; c++) e[k][c] = rest[3 * particles[k + 1] + c] - rest[3 * particles[0] + c];
        longest = fmax(longest, sqrt(vector_dot(e[k], e[k])));
    }
    // Rows of the inverse of [e0 e1 e2]: (e1 x e2, e2 x e0, e0 x e1)/det.
    for (int k = 0; k < 3; k++) vector_cross(e[(k + 1) % 3], e[(k + 2) % 3], out->inverse + 3 * k);
    const double det = vector_dot(e[0], out->inverse);
    out->volume = det / 6;
    if (!(out->volume > 1e-9 * longest * longest * longest)) return false;
    for (int i = 0; i < 9; i++) out->inverse[i] /= det;
    return true;
}

void rest_shape_adjoint(const double *rest, const int32_t particles[4], const double g_inverse[9], double g_volume,
                        double *out) {
    RestShape shape;
    if (!rest_shape_of(rest, particles, &shape)) return;
    const double *B = shape.inverse;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) { // B' = -B e' B, V' = V tr(B e')
            double g = g_volume * shape.volume * B[3 * k + i];
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) g -= g_inverse[3 * r + c] * B[3 * r + i] * B[3 * k + c];
            out[3 * particles[k + 1] + i] += g;
            out[3 * particles[0] + i] -= g;
        }
}

double rest_edge(const double *rest, int32_t a, int32_t b, double along[3]) {
    double e[3];
    for (int c = 0; c < 3; c++) e[c] = rest[3 * b + c] - rest[3 * a + c];
    const double length = sqrt(vector_dot(e, e));
    for (int c = 0; c < 3 && along; c++) along[c] = length > 0 ? e[c] / length : 0;
    return length;
}

static void take_corners(const double *rest, const int32_t *particles, int corners, double (*x)[3]) {
    for (int j = 0; j < corners; j++) memcpy(x[j], rest + 3 * particles[j], sizeof x[j]);
}

RestHinge rest_hinge(const double *rest, const int32_t particles[4]) {
    double x[4][3];
    SimHingeState state;
    take_corners(rest, particles, 4, x);
    sim_hinge_frame(x, &state);
    RestHinge out = {.angle = sim_hinge_angle(&state), .length = state.e};
    memcpy(out.gradient, state.d, sizeof out.gradient);
    return out;
}

RestSlide rest_slide(const double *rest, const int32_t particles[4]) {
    double x[4][3];
    SimSlideState state;
    take_corners(rest, particles, 4, x);
    sim_slide_frame(x, &state);
    RestSlide out = {.position = state.way};
    memcpy(out.gradient, state.d, sizeof out.gradient);
    return out;
}

RestSocket rest_socket(const double *rest, const int32_t particles[6]) {
    double x[6][3];
    SimSocketState state;
    RestSocket out = {0};
    take_corners(rest, particles, 6, x);
    for (int k = 0; k < 2; k++) {
        const SimSocketFrame *frame = &state.frame[k];
        sim_socket_frame(x + 3 * k, &state.frame[k]);
        out.most[3 * k + 1] = frame->part[1]; // of the transpose of L
        out.most[3 * k + 2] = frame->part[0];
        out.most[3 * k] = out.most[3 * k + 1] + out.most[3 * k + 2];
    }
    out.swing = sim_socket_swing(state.frame, &state);
    return out;
}
