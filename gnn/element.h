// SPDX-License-Identifier: Apache-2.0
// The mathematics of one edge and of one particle, each next to its derivative. Compiles as C and as CUDA.
#ifndef VPD_GNN_ELEMENT_H
#define VPD_GNN_ELEMENT_H

#include "nn/element.h"

#define DISTANCE_EPS ((real)1e-12)

// out += s a x b
ELEMENT void element_add_cross(real s, const real *a, const real *b, real *out) {
    out[0] += s * (a[1] * b[2] - a[2] * b[1]);
    out[1] += s * (a[2] * b[0] - a[0] * b[2]);
    out[2] += s * (a[0] * b[1] - a[1] * b[0]);
}

// g (4) = [d, |d|] / ell with d = x_q - x_r and |d| = sqrt(d^2 + 1e-12)
ELEMENT void element_geometry(const real *xq, const real *xr, real inverse_ell, real *g) {
    real d[3] = {xq[0] - xr[0], xq[1] - xr[1], xq[2] - xr[2]};
    for (int c = 0; c < 3; c++) g[c] = d[c] * inverse_ell;
    g[3] = real_sqrt(element_dot(d, d) + DISTANCE_EPS) * inverse_ell;
}

// dd (3): the gradient with respect to x_q; that of x_r is its negative.
ELEMENT void element_geometry_backward(const real *xq, const real *xr, real inverse_ell, const real *dg, real *dd) {
    real d[3] = {xq[0] - xr[0], xq[1] - xr[1], xq[2] - xr[2]};
    real along = dg[3] / real_sqrt(element_dot(d, d) + DISTANCE_EPS);
    for (int c = 0; c < 3; c++) dd[c] = (dg[c] + along * d[c]) * inverse_ell;
}

// Where the parts of a node's output u stand: [t (3), omega (3, with rotation), gain (1, with a velocity), features].
typedef struct NodeMotion {
    int rotation, gain;
    size_t features;
    real s, inverse_ell; // metres, 1/metres
} NodeMotion;

ELEMENT size_t element_motion_gain_at(const NodeMotion *m) { return m->rotation ? 6 : 3; }
ELEMENT size_t element_motion_features_at(const NodeMotion *m) { return element_motion_gain_at(m) + (m->gain ? 1 : 0); }
ELEMENT size_t element_motion_width(const NodeMotion *m) { return element_motion_features_at(m) + m->features; }

// What a gain multiplies: v + spin x (x - x_a).
ELEMENT void element_carried(const real *v, const real *spin, const real *r, real *out) {
    for (int c = 0; c < 3; c++) out[c] = v[c];
    element_add_cross(1, spin, r, out);
}

// move (3) = s (t + omega x (x - x_a) / ell) + (1 + gain) (v + spin x (x - x_a)); v and spin are read only with a gain.
ELEMENT void element_motion(const NodeMotion *m, const real *u, const real *x, const real *xa, const real *v,
                            const real *spin, real *move) {
    real r[3] = {x[0] - xa[0], x[1] - xa[1], x[2] - xa[2]}, carried[3];
    for (int c = 0; c < 3; c++) move[c] = m->s * u[c];
    if (m->rotation) element_add_cross(m->s * m->inverse_ell, u + 3, r, move);
    if (!m->gain) return;
    element_carried(v, spin, r, carried);
    for (int c = 0; c < 3; c++) move[c] += (1 + u[element_motion_gain_at(m)]) * carried[c];
}

// Adds w times the gradients of move . dmove: to du, and, with rotation or a gain, to dx (that of x_a is its negative).
ELEMENT void element_motion_backward(const NodeMotion *m, const real *u, const real *x, const real *xa, const real *v,
                                     const real *spin, real w, const real *dmove, real *du, real *dx) {
    real r[3] = {x[0] - xa[0], x[1] - xa[1], x[2] - xa[2]}, carried[3];
    for (int c = 0; c < 3; c++) du[c] += w * m->s * dmove[c];
    if (m->rotation) {
        element_add_cross(w * m->s * m->inverse_ell, r, dmove, du + 3);
        element_add_cross(w * m->s * m->inverse_ell, dmove, u + 3, dx);
    }
    if (!m->gain) return;
    element_carried(v, spin, r, carried);
    du[element_motion_gain_at(m)] += w * element_dot(dmove, carried);
    element_add_cross(w * (1 + u[element_motion_gain_at(m)]), dmove, spin, dx);
}

#endif
