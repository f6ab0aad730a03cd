// SPDX-License-Identifier: Apache-2.0
#include "nn/combine.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

static void add_row(size_t n, real factor, const real *restrict x, real *restrict y) {
    for (size_t j = 0; j < n; j++) y[j] += factor * x[j];
}

void CPU_FN(combine_forward)(Device *device, const CombineArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->rows; i++) {
        const real *x = a->a + i * a->cols;
        real *y = a->y + i * a->cols;
        for (size_t j = 0; j < a->cols; j++) y[j] = a->alpha * x[j];
        if (a->b) add_row(a->width, a->beta, a->b + i * a->width, y + a->first);
    }
}

void CPU_FN(combine_backward)(Device *device, const CombineArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->rows; i++) {
        const real *dy = a->dy + i * a->cols;
        if (a->da) add_row(a->cols, a->alpha, dy, a->da + i * a->cols);
        if (a->db) add_row(a->width, a->beta, dy + a->first, a->db + i * a->width);
    }
}
