// SPDX-License-Identifier: Apache-2.0
#include "renderer/blend_labels.h"
#include "renderer/cpu/functions.h"
#include "renderer/elements.h"

// Adds `weight` times the shares of the labels around sample s.
static void add_sample(const BlendLabelsArgs *a, size_t ray, size_t s, real weight, real *out) {
    const int32_t *list = a->neighbour + s * (size_t)a->neighbours;
    real cut[RENDERER_MAX_NEIGHBOURS], sum = 0, q[3];
    for (size_t c = 0; c < 3; c++) q[c] = element_along(a->origin[3 * ray + c], a->z[s], a->direction[3 * ray + c]);
    int count = 0;
    for (; count < a->neighbours && list[count] >= 0; count++) {
        const real *x = a->x + 3 * (size_t)list[count];
        cut[count] =
            element_cut(element_u2(q[0] - x[0], q[1] - x[1], q[2] - x[2], element_inverse_R2(a->R[list[count]])));
        sum += cut[count];
    }
    for (int i = 0; i < count && sum > 0; i++) {
        int32_t label = a->label[list[i]];
        if (label >= 0 && label < a->labels) out[label] += weight * cut[i] / sum;
    }
}

void CPU_FN(blend_labels)(Device *device, const BlendLabelsArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t ray = 0; ray < a->rays; ray++) {
        real *out = a->out + ray * (size_t)a->labels, T = 1;
        memset(out, 0, (size_t)a->labels * sizeof *out);
        for (int32_t s = a->start[ray]; s < a->start[ray + 1]; s++) {
            real alpha = element_alpha(a->shaded[4 * (size_t)s], a->delta);
            add_sample(a, ray, (size_t)s, T * alpha, out);
            T *= 1 - alpha;
        }
    }
}
