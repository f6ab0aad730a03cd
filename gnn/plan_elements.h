// SPDX-License-Identifier: Apache-2.0
// The mathematics of the loops of a plan (gnn/plan_ops.h), for one row. Compiles as C and as CUDA.
#ifndef VPD_GNN_PLAN_ELEMENTS_H
#define VPD_GNN_PLAN_ELEMENTS_H

#include "gnn/element.h"
#include "gnn/plan_ops.h"

// Whether node `other` moves otherwise than the motion of q would carry it.
ELEMENT bool plan_is_contact(const PlanContactArgs *a, size_t q, size_t other) {
    real r[3], own[3], square = 0;
    for (size_t c = 0; c < 3; c++) r[c] = a->x[other * 3 + c] - a->x[q * 3 + c];
    element_carried(a->v + q * 3, a->spin + q * 3, r, own);
    for (size_t c = 0; c < 3; c++) {
        real d = a->v[other * 3 + c] - own[c];
        square += d * d;
    }
    return square >= a->least * a->least;
}

ELEMENT real plan_logit_factor(real width) { return -1 / (2 * width * width); }

// ---- carry

// w (k) = softmax of logit over the entries that are present.
ELEMENT void plan_softmax(size_t k, const int32_t *index, const real *logit, real *w) {
    real top = -INFINITY, sum = 0;
    for (size_t e = 0; e < k; e++)
        if (index[e] >= 0 && logit[e] > top) top = logit[e];
    for (size_t e = 0; e < k; e++) sum += w[e] = index[e] < 0 ? 0 : real_exp(logit[e] - top);
    for (size_t e = 0; e < k; e++)
        if (sum > 0) w[e] /= sum;
}

// Moments of the particles around a node: weight, r, d, r x d, r r' (xx xy xz yy yz zz), with r from the node and d
// their displacements.
enum { PLAN_MOMENTS = 16 };

ELEMENT void plan_add_moments(real w, const real *r, const real *d, real *to) {
    to[0] += w;
    for (size_t c = 0; c < 3; c++) {
        to[1 + c] += w * r[c];
        to[4 + c] += w * d[c];
    }
    element_add_cross(w, r, d, to + 7);
    for (size_t c = 0; c < 3; c++) {
        to[10 + c] += w * r[0] * r[c];
        if (c > 0) to[12 + c] += w * r[1] * r[c];
    }
    to[15] += w * r[2] * r[2];
}

// Adds particle i, which moved by d, to the moments of a node.
ELEMENT void plan_carry_edge(const PlanCarryArgs *a, size_t i, size_t node, real w, const real *d, real *moments) {
    real r[3];
    for (size_t c = 0; c < 3; c++) r[c] = a->x[i * 3 + c] - a->node[node * 3 + c];
    plan_add_moments(w, r, d, moments);
}

// The rigid motion of moments about their mean: spin solves (inertia + damping) spin = angular part; v at the node.
ELEMENT void plan_rigid_of_moments(const real *m, real damping, real *v, real *spin) {
    double w = (double)m[0], r[3], d[3], l[3], a[9], xx = (double)m[10], yy = (double)m[13], zz = (double)m[15];
    for (size_t c = 0; c < 3; c++) r[c] = (double)m[1 + c] / w, d[c] = (double)m[4 + c] / w;
    for (size_t c = 0; c < 3; c++)
        l[c] = (double)m[7 + c] / w - (r[(c + 1) % 3] * d[(c + 2) % 3] - r[(c + 2) % 3] * d[(c + 1) % 3]);
    double sxx = xx / w - r[0] * r[0], syy = yy / w - r[1] * r[1], szz = zz / w - r[2] * r[2];
    a[0] = syy + szz + (double)damping, a[4] = sxx + szz + (double)damping, a[8] = sxx + syy + (double)damping;
    a[1] = a[3] = r[0] * r[1] - (double)m[11] / w;
    a[2] = a[6] = r[0] * r[2] - (double)m[12] / w;
    a[5] = a[7] = r[1] * r[2] - (double)m[14] / w;
    double determinant = a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
                         a[2] * (a[3] * a[7] - a[4] * a[6]),
           s[3];
    for (size_t c = 0; c < 3; c++) { // Cramer: the matrix is symmetric and positive
        const double *p = a + 3 * ((c + 1) % 3), *q = a + 3 * ((c + 2) % 3);
        double minor[3] = {p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]};
        s[c] = (minor[0] * l[0] + minor[1] * l[1] + minor[2] * l[2]) / determinant;
    }
    for (size_t c = 0; c < 3; c++) {
        spin[c] = (real)s[c];
        v[c] = (real)(d[c] - (s[(c + 1) % 3] * r[(c + 2) % 3] - s[(c + 2) % 3] * r[(c + 1) % 3]));
    }
}

// The velocity of a node from its moments.
ELEMENT void plan_carry_node(const PlanCarryArgs *a, size_t node, const real *moments) {
    real *v = a->v + node * 3, *spin = a->spin + node * 3;
    for (size_t c = 0; c < 3; c++) v[c] = spin[c] = 0;
    if (moments[0] >= (real)1e-6) plan_rigid_of_moments(moments, a->damping, v, spin);
}

// ---- velocities of nodes

ELEMENT void plan_spin_row(const PlanSpinArgs *a, size_t i) {
    const real *g = a->g + 9 * i;
    real *spin = a->spin + 3 * (size_t)a->list[i];
    spin[0] = (g[7] - g[5]) / 2;
    spin[1] = (g[2] - g[6]) / 2;
    spin[2] = (g[3] - g[1]) / 2;
}

ELEMENT void plan_extra_row(const PlanExtraArgs *a, size_t i) {
    size_t node = (size_t)a->list[i];
    real *extra = a->extra + node * 8, off[3] = {0}, square = 0;
    for (size_t c = 0; a->mean && c < 3; c++) {
        off[c] = a->mean[i * 3 + c] - a->x[node * 3 + c];
        square += off[c] * off[c];
    }
    real length = real_sqrt(square), limit = 3 * a->ell, factor = (length > limit ? limit / length : 1) / a->ell;
    for (size_t c = 0; c < 3; c++) {
        extra[c] = a->v ? a->v[node * 3 + c] / a->s : 0;
        extra[3 + c] = off[c] * factor;
    }
    extra[6] = length * factor;
    extra[7] = a->m;
}

// ---- contact features

ELEMENT void plan_motion_row(const PlanMotionArgs *a, size_t i) {
    const int32_t *index = a->edges.index + (size_t)a->list[i] * a->edges.k;
    size_t node = index[0] < 0 ? 0 : (size_t)index[0];
    for (size_t e = 0; e < a->edges.k && index[e] >= 0; e++)
        if (a->m[index[e]] > 0) {
            node = (size_t)index[e];
            break;
        }
    real r[3];
    for (size_t c = 0; c < 3; c++) r[c] = a->x[3 * i + c] - a->node[3 * node + c];
    element_carried(a->v + 3 * node, a->spin + 3 * node, r, a->out + 3 * i);
    for (size_t c = 0; c < 3; c++) a->turn[3 * i + c] = a->spin[3 * node + c];
}

// Whether j moves as the motion of i would carry it.
ELEMENT bool plan_moves_along(const PlanBodiesArgs *a, size_t i, size_t j) {
    real r[3], carried[3], off[3];
    for (size_t c = 0; c < 3; c++) r[c] = a->x[3 * j + c] - a->x[3 * i + c];
    element_carried(a->w + 3 * i, a->turn + 3 * i, r, carried);
    for (size_t c = 0; c < 3; c++) off[c] = a->w[3 * j + c] - carried[c];
    return element_dot(off, off) < a->least * a->least;
}

// Whether j is of another body than i, one that is large enough and has a plane there. size: of the body of each row.
ELEMENT bool plan_is_other_side(const PlanSidesArgs *a, size_t i, size_t j, const int32_t *size) {
    bool plane = a->own[j * a->k + a->plane - 1] != (int32_t)j;
    return a->body[j] != a->body[i] && (size_t)size[a->body[j]] >= a->fewest && plane;
}

// A particle and the plane that it may meet.
typedef struct PlanMeeting {
    real normal[3], gap, left, along, w[3];
} PlanMeeting;

// False where there is no plane, or where it will be met too far from its points.
ELEMENT bool plan_meeting_of(const PlanMeetArgs *a, size_t particle, const real *middle, PlanMeeting *m) {
    size_t to = particle;
    if (!a->target || (a->meets && a->meets[particle] < 0)) return false;
    if (a->meets) to = (size_t)a->meets[particle];
    const real *target = a->target + 3 * to, *normal = a->normal + 3 * to;
    real d[3], up[3], along[3], after[3];
    for (size_t c = 0; c < 3; c++) {
        d[c] = a->x[3 * particle + c] - target[c];
        up[c] = middle[c] - target[c];
        m->w[c] = a->w[3 * particle + c] - (a->target_w ? a->target_w[3 * to + c] : 0);
    }
    real sign = element_dot(normal, up) < 0 ? -1 : 1;
    for (size_t c = 0; c < 3; c++) m->normal[c] = sign * normal[c];
    m->gap = element_dot(d, m->normal);
    m->left = m->gap + element_dot(m->w, m->normal);
    for (size_t c = 0; c < 3; c++) {
        along[c] = d[c] - m->gap * m->normal[c];
        after[c] = d[c] + m->w[c] - m->left * m->normal[c];
    }
    m->along = real_sqrt(element_dot(along, along));
    return element_dot(after, after) <= a->reach * a->reach;
}

ELEMENT real plan_within(real x, real limit) { return x < -limit ? -limit : x > limit ? limit : x; }

// Row i of the nodes, whose body has its middle there and will soonest meet something at particle `first` (-1:
// nothing).
ELEMENT void plan_meet_row(const PlanMeetArgs *a, size_t i, const real *middle, int32_t first) {
    size_t node = (size_t)a->list[i];
    real limit = 3 * a->ell, *out = a->out + a->stride * node + a->column;
    PlanMeeting m = {{0}, limit, INFINITY, 0, {0}};
    if (first >= 0) {
        plan_meeting_of(a, (size_t)first, middle, &m);
        for (size_t c = 0; c < 3; c++) out[c] = (a->x[3 * (size_t)first + c] - a->nodes[3 * node + c]) / a->ell;
    }
    for (size_t c = 0; c < 3; c++) {
        out[3 + c] = m.normal[c];
        out[9 + c] = m.w[c] / a->s;
    }
    out[6] = plan_within(m.gap, limit) / a->ell;
    out[7] = plan_within(m.left, limit) / a->s;
    out[8] = plan_within(m.along, limit) / a->ell;
}

#endif
