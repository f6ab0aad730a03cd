// SPDX-License-Identifier: Apache-2.0
#include "nn/rows.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

void CPU_FN(gather_forward)(Device *device, const GatherArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->rows; i++) {
        real *y = a->y + i * a->cols;
        if (a->index[i] < 0) memset(y, 0, a->cols * sizeof *y);
        else memcpy(y, a->x + (size_t)a->index[i] * a->cols, a->cols * sizeof *y);
    }
}

// Each task owns a range of the rows of x and reads the whole list: no two add to the same row, and the order of the
// additions is the list's, for any number of threads.
void CPU_FN(gather_backward)(Device *device, const GatherArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (int t = 0; t < device->threads; t++) {
        size_t first, last;
        thread_range(a->from_rows, t, device->threads, &first, &last);
        for (size_t i = 0; i < a->rows; i++) {
            if (a->index[i] < 0 || (size_t)a->index[i] < first || (size_t)a->index[i] >= last) continue;
            const real *dy = a->dy + i * a->cols;
            real *dx = a->dx + (size_t)a->index[i] * a->cols;
            for (size_t j = 0; j < a->cols; j++) dx[j] += dy[j];
        }
    }
}
