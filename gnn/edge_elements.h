// SPDX-License-Identifier: Apache-2.0
// One particle of advance and one edge of edge_geometry, each next to its derivative. Compiles as C and as CUDA.
#ifndef VPD_GNN_EDGE_ELEMENTS_H
#define VPD_GNN_EDGE_ELEMENTS_H

#include "gnn/advance.h"
#include "gnn/edge_geometry.h"
#include "nn/element.h"

#define DISTANCE_EPS ((real)1e-12)

// ---- advance

ELEMENT void advance_row(const AdvanceArgs *a, size_t i) {
    const real *o = a->o + i * a->width;
    for (size_t c = 0; c < 3; c++) {
        real d = a->scale * o[c];
        a->dx[i * 3 + c] = d;
        a->x_next[i * 3 + c] = a->x[i * 3 + c] + d;
    }
    if (!a->features) return;
    const real *f = a->f + i * a->f_width;
    real *next = a->f_next + i * a->f_width;
    for (size_t j = 0; j < a->f_width; j++) next[j] = f[j];
    for (size_t j = 0; j < a->features; j++) next[a->f_first + j] += a->change * real_tanh(o[3 + j]);
}

ELEMENT void advance_row_backward(const AdvanceArgs *a, size_t i) {
    const real *o = a->o + i * a->width;
    real *grad_o = a->grad_o ? a->grad_o + i * a->width : NULL;
    for (size_t c = 0; c < 3; c++) {
        real moved = a->d_x_next ? a->d_x_next[i * 3 + c] : 0, d = moved + (a->d_dx ? a->d_dx[i * 3 + c] : 0);
        if (a->grad_x) a->grad_x[i * 3 + c] += moved;
        if (grad_o) grad_o[c] += a->scale * d;
    }
    if (!a->d_f_next) return;
    const real *df = a->d_f_next + i * a->f_width;
    for (size_t j = 0; a->grad_f && j < a->f_width; j++) a->grad_f[i * a->f_width + j] += df[j];
    for (size_t j = 0; grad_o && j < a->features; j++) {
        real tanh_o = real_tanh(o[3 + j]);
        grad_o[3 + j] += a->change * (1 - tanh_o * tanh_o) * df[a->f_first + j];
    }
}

// ---- edge_geometry

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

ELEMENT void geometry_row(const EdgeGeometryArgs *a, size_t group, size_t row) {
    real *g = a->g + row * EDGE_GEOMETRY;
    int32_t other = a->edges.index[row];
    if (other < 0) {
        for (size_t j = 0; j < EDGE_GEOMETRY; j++) g[j] = 0;
        return;
    }
    const real *xg = a->x_group + group * 3, *xo = a->x_other + (size_t)other * 3;
    element_geometry(a->group_receives ? xo : xg, a->group_receives ? xg : xo, a->inverse_ell, g);
}

// dd (3): the gradient of the group's place; that of the other end is its negative. Absent rows have none: false.
ELEMENT bool geometry_row_backward(const EdgeGeometryArgs *a, size_t group, size_t row, real *dd) {
    int32_t other = a->edges.index[row];
    if (other < 0) return false;
    const real *xg = a->x_group + group * 3, *xo = a->x_other + (size_t)other * 3;
    element_geometry_backward(a->group_receives ? xo : xg, a->group_receives ? xg : xo, a->inverse_ell,
                              a->dg + row * EDGE_GEOMETRY, dd);
    for (int c = 0; a->group_receives && c < 3; c++) dd[c] = -dd[c];
    return true;
}

#endif
