// SPDX-License-Identifier: Apache-2.0
// Mathematics of the scene-flow kernels (motion/flow_ops.h), for one row. Compiles as C and as CUDA.
#ifndef VPD_MOTION_FLOW_ELEMENTS_H
#define VPD_MOTION_FLOW_ELEMENTS_H

#include "motion/flow_ops.h"
#include "motion/plane_fit.h"
#include "motion/rigid.h"

ELEMENT void flow_normal_row(const FlowNormalsArgs *a, size_t p) {
    const int32_t *index = a->index + p * a->k;
    PlaneFit plane;
    size_t k = 0;
    while (k < a->k && index[k] >= 0) k++;
    plane_fit(a->x, index, k, &plane);
    for (size_t c = 0; c < 3; c++) a->out[3 * p + c] = plane.normal[c];
}

// Point j of query q.
ELEMENT void flow_place_point(const FlowPlaceArgs *a, size_t q, size_t j) {
    size_t of = a->of ? (size_t)a->of[q * a->of_stride] : q;
    rigid_place(a->motion + RIGID_MOTION * of, a->centre + 3 * of, a->x + 3 * j, a->out + 3 * j);
}

// e = target - place of pair j; returns the fit of the pair.
ELEMENT double flow_pair_fit(const FlowPairs *p, size_t j, real *e) {
    const real *to = p->target + 3 * (size_t)p->match[j], *normal = p->normal + 3 * (size_t)p->match[j];
    for (size_t c = 0; c < 3; c++) e[c] = to[c] - p->place[3 * j + c];
    return rigid_fit((double)element_dot(normal, e), (double)p->distance2[j], p->plane_scale, p->distance_scale);
}

// Least-squares rows of pair j of query q.
ELEMENT void flow_pair_rows(const FlowStepArgs *a, size_t q, size_t j, RigidRow *rows) {
    const FlowPairs *p = &a->pairs;
    real e[3], r[3];
    double fit = flow_pair_fit(p, j, e);
    for (size_t c = 0; c < 3; c++)
        r[c] = p->place[3 * j + c] - a->centre[3 * q + c] - a->motion[RIGID_MOTION * q + 9 + c];
    rigid_pair_rows(fit * fit, a->point, r, p->normal + 3 * (size_t)p->match[j], e, rows);
}

// `sum`: the fits of the query's pairs, added.
ELEMENT void flow_vote_row(const FlowVoteArgs *a, size_t q, double sum) {
    real mean = (real)(sum / (double)a->pairs.pairs);
    if (!(mean > a->best[q])) return;
    a->best[q] = mean;
    a->chosen[q] = a->of[q * a->of_stride];
}

ELEMENT void flow_adopt_row(const FlowAdoptArgs *a, size_t q) {
    size_t of = (size_t)a->of[q];
    rigid_about(a->motion + RIGID_MOTION * of, a->centre + 3 * of, a->centre + 3 * q, a->out + RIGID_MOTION * q);
}

ELEMENT void flow_motion_row(const FlowMotionArgs *a, size_t q) {
    real *motion = a->motion + RIGID_MOTION * q;
    for (size_t c = 0; c < 9; c++) {
        if (a->from_u) motion[c] = c % 4 == 0;
        else a->g[9 * q + c] = motion[c] - (c % 4 == 0);
    }
    for (size_t c = 0; c < 3; c++) {
        if (a->from_u) motion[9 + c] = a->from_u[3 * q + c];
        else a->u[3 * q + c] = motion[9 + c];
    }
}

#endif
