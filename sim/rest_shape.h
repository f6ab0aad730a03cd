// SPDX-License-Identifier: Apache-2.0
// The shape of a tetrahedron at rest: the inverse of its edges and its volume, and the adjoint of both.
#ifndef VPD_SIM_REST_SHAPE_H
#define VPD_SIM_REST_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct RestShape {
    double inverse[9]; // row k belongs to edge k = x(k+1) - x0
    double volume;     // m3, above 0 when not inverted
} RestShape;

// `rest` (N,3) of one scene. False when it is inverted or flat (volume below 1e-9 of the longest edge cubed); volume is
// set.
bool rest_shape_of(const double *rest, const int32_t particles[4], RestShape *out);

// Adds dLoss/d(rest) to out (N,3), from those of inverse and volume.
void rest_shape_adjoint(const double *rest, const int32_t particles[4], const double g_inverse[9], double g_volume,
                        double *out);

// |rest[b] - rest[a]|, and its direction (may be NULL).
double rest_edge(const double *rest, int32_t a, int32_t b, double along[3]);

// A hinge (sim/hinge.h): its angle, the gradient of that, and its edge's length.
typedef struct RestHinge {
    double angle, gradient[4][3], length;
} RestHinge;
RestHinge rest_hinge(const double *rest, const int32_t particles[4]);

// A slide (sim/slide.h): its position, and the gradient of that.
typedef struct RestSlide {
    double position, gradient[4][3];
} RestSlide;
RestSlide rest_slide(const double *rest, const int32_t particles[4]);

// A socket (sim/socket.h): its swing, and for each particle at most by how much a frame turns where that moves.
typedef struct RestSocket {
    double swing, most[6]; // rad, rad/m
} RestSocket;
RestSocket rest_socket(const double *rest, const int32_t particles[6]);

#endif
