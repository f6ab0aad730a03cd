// SPDX-License-Identifier: Apache-2.0
// Scene-flow kernels on the CPU.
#include "motion/cpu/functions.h"
#include "motion/flow_elements.h"

#include <omp.h>

void CPU_FN(flow_normals)(Device *device, const FlowNormalsArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->count > 64)
    for (size_t p = 0; p < a->count; p++) flow_normal_row(a, p);
}

void CPU_FN(flow_pair_points)(Device *device, const FlowPairPointsArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 16)
    for (size_t q = 0; q < a->queries; q++)
        for (size_t j = 0; j < a->pairs; j++) {
            const real *value = a->value + 3 * (size_t)a->index[q * a->k + j * a->every];
            real *out = a->out + 3 * (q * a->pairs + j);
            for (size_t c = 0; c < 3; c++) out[c] = a->scale * value[c];
        }
}

void CPU_FN(flow_place)(Device *device, const FlowPlaceArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 16)
    for (size_t q = 0; q < a->queries; q++)
        for (size_t j = q * a->pairs; j < (q + 1) * a->pairs; j++) flow_place_point(a, q, j);
}

void CPU_FN(flow_step)(Device *device, const FlowStepArgs *a) {
    const FlowPairs *p = &a->pairs;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (p->queries > 16)
    for (size_t q = 0; q < p->queries; q++) {
        RigidSystem system = {0};
        RigidRow rows[RIGID_PAIR_ROWS];
        for (size_t j = q * p->pairs; j < (q + 1) * p->pairs; j++) {
            flow_pair_rows(a, q, j, rows);
            rigid_add_pair(&system, rows);
        }
        rigid_solve(&system, a->damping);
        rigid_compose(system.b, a->motion + RIGID_MOTION * q);
    }
}

void CPU_FN(flow_vote)(Device *device, const FlowVoteArgs *a) {
    const FlowPairs *p = &a->pairs;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (p->queries > 16)
    for (size_t q = 0; q < p->queries; q++) {
        real e[3];
        double sum = 0;
        for (size_t j = q * p->pairs; j < (q + 1) * p->pairs; j++) sum += flow_pair_fit(p, j, e);
        flow_vote_row(a, q, sum);
    }
}

void CPU_FN(flow_adopt)(Device *device, const FlowAdoptArgs *a) {
    (void)device;
    for (size_t q = 0; q < a->queries; q++) flow_adopt_row(a, q);
}

void CPU_FN(flow_motion)(Device *device, const FlowMotionArgs *a) {
    (void)device;
    for (size_t q = 0; q < a->queries; q++) flow_motion_row(a, q);
}
