// SPDX-License-Identifier: Apache-2.0
// One particle or one edge of advance, edge_geometry and node_blend. Compiles as C and as CUDA.
#ifndef VPD_GNN_EDGE_ELEMENTS_H
#define VPD_GNN_EDGE_ELEMENTS_H

#include "gnn/advance.h"
#include "gnn/edge_geometry.h"
#include "gnn/element.h"
#include "gnn/node_blend.h"

// ---- advance

ELEMENT void advance_row(const AdvanceArgs *a, size_t i) {
    const real *o = a->o + i * a->width;
    for (size_t c = 0; c < 3; c++) {
        real d = a->scale * o[c] + (a->velocity ? o[3] * a->velocity[i * 3 + c] : 0);
        a->dx[i * 3 + c] = d;
        a->x_next[i * 3 + c] = a->x[i * 3 + c] + d;
    }
    if (!a->features) return;
    const real *f = a->f + i * a->f_width;
    real *next = a->f_next + i * a->f_width;
    for (size_t j = 0; j < a->f_width; j++) next[j] = f[j];
    for (size_t j = 0; j < a->features; j++) next[a->f_first + j] += a->change * real_tanh(o[a->feature_at + j]);
}

ELEMENT void advance_row_backward(const AdvanceArgs *a, size_t i) {
    const real *o = a->o + i * a->width;
    real *grad_o = a->grad_o ? a->grad_o + i * a->width : NULL;
    for (size_t c = 0; c < 3; c++) {
        real moved = a->d_x_next ? a->d_x_next[i * 3 + c] : 0, d = moved + (a->d_dx ? a->d_dx[i * 3 + c] : 0);
        if (a->grad_x) a->grad_x[i * 3 + c] += moved;
        if (grad_o) grad_o[c] += a->scale * d;
        if (grad_o && a->velocity) grad_o[3] += d * a->velocity[i * 3 + c];
    }
    if (!a->d_f_next) return;
    const real *df = a->d_f_next + i * a->f_width;
    for (size_t j = 0; a->grad_f && j < a->f_width; j++) a->grad_f[i * a->f_width + j] += df[j];
    for (size_t j = 0; grad_o && j < a->features; j++) {
        real tanh_o = real_tanh(o[a->feature_at + j]);
        grad_o[a->feature_at + j] += a->change * (1 - tanh_o * tanh_o) * df[a->f_first + j];
    }
}

// ---- edge_geometry

ELEMENT void geometry_row(const EdgeGeometryArgs *a, size_t group, size_t row) {
    real *g = a->g + row * a->width;
    int32_t other = a->edges.index[row];
    if (other < 0) {
        for (size_t j = 0; j < a->width; j++) g[j] = 0;
        return;
    }
    const real *xg = a->x_group + group * 3, *xo = a->x_other + (size_t)other * 3;
    element_geometry(a->group_receives ? xo : xg, a->group_receives ? xg : xo, a->inverse_ell, g);
    if (a->width < 7) return;
    const real *vg = a->v_group + group * 3, *vo = a->v_other + (size_t)other * 3;
    for (int c = 0; c < 3; c++) g[4 + c] = (a->group_receives ? vo[c] - vg[c] : vg[c] - vo[c]) * a->inverse_s;
}

// dd (3): the gradient of the group's place; that of the other end is its negative. Absent rows have none: false.
ELEMENT bool geometry_row_backward(const EdgeGeometryArgs *a, size_t group, size_t row, real *dd) {
    int32_t other = a->edges.index[row];
    if (other < 0) return false;
    const real *xg = a->x_group + group * 3, *xo = a->x_other + (size_t)other * 3;
    element_geometry_backward(a->group_receives ? xo : xg, a->group_receives ? xg : xo, a->inverse_ell,
                              a->dg + row * a->width, dd);
    for (int c = 0; a->group_receives && c < 3; c++) dd[c] = -dd[c];
    return true;
}

// ---- node_blend

// w (k): weights of a particle's edges, 0 for absent ones.
ELEMENT void blend_weights(const NodeBlendArgs *a, size_t group, real *w) {
    size_t k = a->edges.k, row = group * k;
    real top = -INFINITY, sum = 0;
    for (size_t e = 0; e < k; e++) {
        w[e] = a->edges.index[row + e] < 0 ? -INFINITY : a->logit[row + e] + a->z[row + e];
        top = w[e] > top ? w[e] : top;
    }
    for (size_t e = 0; e < k; e++) {
        w[e] = a->edges.index[row + e] < 0 ? 0 : real_exp(w[e] - top);
        sum += w[e];
    }
    for (size_t e = 0; e < k; e++) w[e] = a->edges.index[row + e] < 0 ? 0 : w[e] / sum;
}

// Row `other` of velocities; NULL where there are none.
ELEMENT const real *blend_velocity(const real *rows, size_t other) { return rows ? rows + other * 3 : NULL; }

// move (3): where the node takes the particle.
ELEMENT void blend_motion(const NodeBlendArgs *a, size_t group, size_t other, real *move) {
    element_motion(&a->motion, a->u + other * element_motion_width(&a->motion), a->x_group + group * 3,
                   a->x_other + other * 3, blend_velocity(a->v_other, other), blend_velocity(a->spin_other, other),
                   move);
}

// One particle; w (k) is filled.
ELEMENT void blend_group(const NodeBlendArgs *a, size_t group, real *w) {
    size_t k = a->edges.k, features = a->motion.features, width = element_motion_width(&a->motion);
    real *out = a->out + group * (3 + features);
    blend_weights(a, group, w);
    for (size_t j = 0; j < 3 + features; j++) out[j] = 0;
    for (size_t e = 0; e < k; e++) {
        int32_t other = a->edges.index[group * k + e];
        if (other < 0) continue;
        const real *f = a->u + (size_t)other * width + element_motion_features_at(&a->motion);
        real move[3];
        blend_motion(a, group, (size_t)other, move);
        for (int c = 0; c < 3; c++) out[c] += w[e] * move[c];
        for (size_t j = 0; j < features; j++) out[3 + j] += w[e] * f[j];
    }
}

// The gradient of an edge's weight.
ELEMENT real blend_weight_gradient(const NodeBlendArgs *a, size_t group, size_t other) {
    const real *dout = a->dout + group * (3 + a->motion.features);
    const real *f = a->u + other * element_motion_width(&a->motion) + element_motion_features_at(&a->motion);
    real move[3], dw;
    blend_motion(a, group, other, move);
    dw = element_dot(move, dout);
    for (size_t j = 0; j < a->motion.features; j++) dw += f[j] * dout[3 + j];
    return dw;
}

// Adds an edge's gradients to du, but for the features' part, and to dx (3); that of x_a is its negative.
ELEMENT void blend_motion_backward(const NodeBlendArgs *a, size_t group, size_t other, real w, real *du, real *dx) {
    element_motion_backward(&a->motion, a->u + other * element_motion_width(&a->motion), a->x_group + group * 3,
                            a->x_other + other * 3, blend_velocity(a->v_other, other),
                            blend_velocity(a->spin_other, other), w, a->dout + group * (3 + a->motion.features), du,
                            dx);
}

#endif
