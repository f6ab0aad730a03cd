// SPDX-License-Identifier: Apache-2.0
#include "gnn/cpu/functions.h"
#include "gnn/cpu/scatter.h"
#include "gnn/edge_elements.h"

#include <omp.h>

void CPU_FN(node_blend_forward)(Device *device, const NodeBlendArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    Scatter weights; // a line of k weights per thread
    if (!scatter_open(&weights, device, a->edges.k + 1)) return;
#pragma omp parallel num_threads(device->threads)
    {
        real *w = scatter_part(&weights, omp_get_thread_num());
#pragma omp for schedule(static)
        for (size_t group = 0; group < a->edges.groups; group++) blend_group(a, group, w);
    }
    arena_release(&device->scratch, mark);
}

// A thread's arrays: w and dw of one particle, and what it adds to nodes.
typedef struct BlendPart {
    real *w, *dw, *du, *dx_other;
} BlendPart;

static void blend_group_backward(const NodeBlendArgs *a, size_t group, const BlendPart *p) {
    size_t k = a->edges.k, features = a->motion.features, width = element_motion_width(&a->motion);
    const real *dout = a->dout + group * (3 + features);
    real mean = 0, dx[3] = {0};
    blend_weights(a, group, p->w);
    for (size_t e = 0; e < k; e++) {
        int32_t index = a->edges.index[group * k + e];
        p->dw[e] = 0;
        if (index < 0) continue;
        size_t other = (size_t)index;
        real *du = p->du + other * width, *df = du + element_motion_features_at(&a->motion), dd[3] = {0};
        blend_motion_backward(a, group, other, p->w[e], du, dd);
        p->dw[e] = blend_weight_gradient(a, group, other);
        for (size_t j = 0; j < features; j++) df[j] += p->w[e] * dout[3 + j];
        mean += p->w[e] * p->dw[e];
        for (size_t c = 0; c < 3; c++) {
            dx[c] += dd[c];
            p->dx_other[other * 3 + c] -= dd[c];
        }
    }
    for (size_t e = 0; a->dz && e < k; e++) a->dz[group * k + e] += p->w[e] * (p->dw[e] - mean);
    for (size_t c = 0; a->dx_group && c < 3; c++) a->dx_group[group * 3 + c] += dx[c];
}

void CPU_FN(node_blend_backward)(Device *device, const NodeBlendArgs *a) {
    size_t u_size = a->edges.others * element_motion_width(&a->motion), x_size = a->edges.others * 3;
    ArenaMark mark = arena_mark(&device->scratch);
    Scatter weights, u, x;
    if (!scatter_open(&weights, device, 2 * a->edges.k + 1) || !scatter_open(&u, device, u_size) ||
        !scatter_open(&x, device, x_size))
        return;
#pragma omp parallel num_threads(device->threads)
    {
        int t = omp_get_thread_num(), threads = omp_get_num_threads();
        real *w = scatter_part(&weights, t);
        BlendPart part = {w, w + a->edges.k, scatter_part(&u, t), scatter_part(&x, t)};
        size_t first, last;
        thread_range(a->edges.groups, t, threads, &first, &last);
        for (size_t group = first; group < last; group++) blend_group_backward(a, group, &part);
#pragma omp barrier
        if (a->du) scatter_add(&u, t, threads, u_size, a->du);
        if (a->dx_other) scatter_add(&x, t, threads, x_size, a->dx_other);
    }
    arena_release(&device->scratch, mark);
}
