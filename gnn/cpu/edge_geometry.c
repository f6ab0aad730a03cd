// SPDX-License-Identifier: Apache-2.0
#include "gnn/cpu/functions.h"
#include "gnn/cpu/scatter.h"
#include "gnn/edge_elements.h"

#include <omp.h>

void CPU_FN(edge_geometry_forward)(Device *device, const EdgeGeometryArgs *a) {
    size_t k = a->edges.k;
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t group = 0; group < a->edges.groups; group++)
        for (size_t e = 0; e < k; e++) geometry_row(a, group, group * k + e);
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
            real dgroup[3] = {0}, dd[3];
            for (size_t row = group * k; row < (group + 1) * k; row++) {
                if (!geometry_row_backward(a, group, row, dd)) continue;
                real *dother = others + (size_t)a->edges.index[row] * 3;
                for (int c = 0; c < 3; c++) {
                    dgroup[c] += dd[c];
                    dother[c] -= dd[c];
                }
            }
            for (int c = 0; a->dx_group && c < 3; c++) a->dx_group[group * 3 + (size_t)c] += dgroup[c];
        }
#pragma omp barrier
        if (a->dx_other) scatter_add(&scatter, t, threads, a->edges.others * 3, a->dx_other);
    }
    arena_release(&device->scratch, mark);
}
