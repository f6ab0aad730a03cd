// SPDX-License-Identifier: Apache-2.0
#include "gnn/edge_geometry.h"
#include "gnn/cpu/functions.h"
#include "gnn/cpu/scatter.h"
#include "gnn/element.h"

#include <omp.h>

static void geometry_row(const EdgeGeometryArgs *a, size_t group, size_t row) {
    real *g = a->g + row * a->width;
    int32_t other = a->edges.index[row];
    if (other < 0) {
        memset(g, 0, a->width * sizeof *g);
        return;
    }
    const real *xg = a->x_group + group * 3, *xo = a->x_other + (size_t)other * 3;
    element_geometry(a->group_receives ? xo : xg, a->group_receives ? xg : xo, a->inverse_ell, g);
    if (a->width < 7) return;
    const real *vg = a->v_group + group * 3, *vo = a->v_other + (size_t)other * 3;
    for (int c = 0; c < 3; c++) g[4 + c] = (a->group_receives ? vo[c] - vg[c] : vg[c] - vo[c]) * a->inverse_s;
}

void CPU_FN(edge_geometry_forward)(Device *device, const EdgeGeometryArgs *a) {
    size_t k = a->edges.k;
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t group = 0; group < a->edges.groups; group++)
        for (size_t e = 0; e < k; e++) geometry_row(a, group, group * k + e);
}

// Adds a row's gradient to that of its group and of its other end.
static void geometry_row_backward(const EdgeGeometryArgs *a, size_t group, size_t row, real *dgroup, real *others) {
    int32_t other = a->edges.index[row];
    if (other < 0) return;
    const real *xg = a->x_group + group * 3, *xo = a->x_other + (size_t)other * 3;
    real dd[3], sign = a->group_receives ? -1 : 1;
    element_geometry_backward(a->group_receives ? xo : xg, a->group_receives ? xg : xo, a->inverse_ell, a->dg + row * a->width, dd);
    for (int c = 0; c < 3; c++) {
        dgroup[c] += sign * dd[c];
        others[(size_t)other * 3 + (size_t)c] -= sign * dd[c];
    }
}

void CPU_FN(edge_geometry_backward)(Device *device, const EdgeGeometryArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    Scatter scatter;
    size_t k = a->edges.k;
    if (!scatter_open(&scatter, device, a->edges.others * 3)) return;
#pragma omp parallel num_threads(device->threads)
    {
        int t = omp_get_thread_num(), threads = omp_get_num_threads();
        real *others = scatter_part(&scatter, t);
        size_t first, last;
        thread_range(a->edges.groups, t, threads, &first, &last);
        for (size_t group = first; group < last; group++) {
            real dgroup[3] = {0};
            for (size_t e = 0; e < k; e++) geometry_row_backward(a, group, group * k + e, dgroup, others);
            for (int c = 0; a->dx_group && c < 3; c++) a->dx_group[group * 3 + (size_t)c] += dgroup[c];
        }
#pragma omp barrier
        if (a->dx_other) scatter_add(&scatter, t, threads, a->edges.others * 3, a->dx_other);
    }
    arena_release(&device->scratch, mark);
}
