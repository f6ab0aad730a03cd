// SPDX-License-Identifier: Apache-2.0
// The loops of scene flow.
#include "gnn/cpu/functions.h"
#include "gnn/flow_ops.h"
#include "gnn/rigid.h"

#include <omp.h>
#include <string.h>

void CPU_FN(flow_normals)(Device *device, const FlowNormalsArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->count > 64)
    for (size_t p = 0; p < a->count; p++) {
        const int32_t *index = a->index + p * a->stride;
        double mean[3] = {0}, spread[9] = {0};
        size_t k = 0;
        while (k < a->k && index[k] >= 0) k++;
        for (size_t j = 0; j < k; j++)
            for (size_t c = 0; c < 3; c++) mean[c] += (double)a->x[3 * (size_t)index[j] + c] / (double)k;
        for (size_t j = 0; j < k; j++) {
            double d[3];
            for (size_t c = 0; c < 3; c++) d[c] = (double)a->x[3 * (size_t)index[j] + c] - mean[c];
            for (size_t c = 0; c < 9; c++) spread[c] += d[c / 3] * d[c % 3];
        }
        rigid_least_direction(spread, a->out + 3 * p);
    }
}

void CPU_FN(flow_place)(Device *device, const FlowPlaceArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 16)
    for (size_t q = 0; q < a->queries; q++) {
        size_t of = a->of ? (size_t)a->of[q * a->of_stride] : q;
        for (size_t j = q * a->pairs; j < (q + 1) * a->pairs; j++)
            rigid_place(a->motion + RIGID_MOTION * of, a->centre + 3 * of, a->x + 3 * j, a->out + 3 * j);
    }
}

// e = target - place of pair j, and its fit.
static double pair_fit(const FlowPairs *p, size_t j, real *e) {
    const real *to = p->target + 3 * (size_t)p->match[j], *normal = p->normal + 3 * (size_t)p->match[j];
    for (size_t c = 0; c < 3; c++) e[c] = to[c] - p->place[3 * j + c];
    return rigid_fit((double)element_dot(normal, e), (double)p->distance2[j], p->plane_scale, p->distance_scale);
}

void CPU_FN(flow_step)(Device *device, const FlowStepArgs *a) {
    const FlowPairs *p = &a->pairs;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (p->queries > 16)
    for (size_t q = 0; q < p->queries; q++) {
        RigidSystem system = {0};
        real *motion = a->motion + RIGID_MOTION * q, e[3], r[3];
        for (size_t j = q * p->pairs; j < (q + 1) * p->pairs; j++) {
            double fit = pair_fit(p, j, e);
            for (size_t c = 0; c < 3; c++) r[c] = p->place[3 * j + c] - a->centre[3 * q + c] - motion[9 + c];
            rigid_add_pair(&system, fit * fit, a->point, r, p->normal + 3 * (size_t)p->match[j], e);
        }
        rigid_solve(&system, a->damping);
        rigid_compose(system.b, motion);
    }
}

void CPU_FN(flow_vote)(Device *device, const FlowVoteArgs *a) {
    const FlowPairs *p = &a->pairs;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (p->queries > 16)
    for (size_t q = 0; q < p->queries; q++) {
        real e[3];
        double sum = 0;
        for (size_t j = q * p->pairs; j < (q + 1) * p->pairs; j++) sum += pair_fit(p, j, e);
        real mean = (real)(sum / (double)p->pairs);
        if (!(mean > a->best[q])) continue;
        a->best[q] = mean;
        a->chosen[q] = a->of[q * a->of_stride];
    }
}

void CPU_FN(flow_adopt)(Device *device, const FlowAdoptArgs *a) {
    (void)device;
    for (size_t q = 0; q < a->queries; q++) {
        size_t of = (size_t)a->of[q];
        rigid_about(a->motion + RIGID_MOTION * of, a->centre + 3 * of, a->centre + 3 * q, a->out + RIGID_MOTION * q);
    }
}

void CPU_FN(flow_motion)(Device *device, const FlowMotionArgs *a) {
    (void)device;
    for (size_t q = 0; q < a->queries; q++) {
        real *motion = a->motion + RIGID_MOTION * q;
        for (size_t c = 0; c < 9; c++) {
            if (a->from_u) motion[c] = c % 4 == 0;
            else a->g[9 * q + c] = motion[c] - (c % 4 == 0);
        }
        if (a->from_u) memcpy(motion + 9, a->from_u + 3 * q, 3 * sizeof *motion);
        else memcpy(a->u + 3 * q, motion + 9, 3 * sizeof *motion);
    }
}

void CPU_FN(flow_at)(Device *device, const FlowAtArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 256)
    for (size_t q = 0; q < a->queries; q++) {
        real sum[3] = {0};
        for (size_t i = 0; i < a->k; i++) {
            size_t j = (size_t)a->index[q * a->k + i];
            real r[3];
            for (size_t c = 0; c < 3; c++) r[c] = a->query[3 * q + c] - a->x[3 * j + c];
            for (size_t c = 0; c < 3; c++) sum[c] += a->u[3 * j + c] + (a->g ? element_dot(a->g + 9 * j + 3 * c, r) : 0);
        }
        for (size_t c = 0; c < 3; c++) a->out[3 * q + c] = sum[c] / (real)a->k;
        for (size_t c = 0; a->out_g && c < 9; c++) {
            real total = 0;
            for (size_t i = 0; a->g && i < a->k; i++) total += a->g[9 * (size_t)a->index[q * a->k + i] + c];
            a->out_g[9 * q + c] = total / (real)a->k;
        }
    }
}
