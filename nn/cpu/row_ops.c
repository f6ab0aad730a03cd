// SPDX-License-Identifier: Apache-2.0
#include "nn/row_ops.h"

#include "nn/cpu/functions.h"

void CPU_FN(row_gather)(Device *device, const RowGatherArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->count > 4096)
    for (size_t i = 0; i < a->count; i++) {
        const real *x = a->x + (a->index ? (size_t)a->index[i] : i) * a->width;
        real *out = a->out + i * a->stride + a->column;
        for (size_t c = 0; c < a->width; c++) out[c] = a->scale * x[c];
    }
}

void CPU_FN(row_add)(Device *device, const RowAddArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) a->out[i] = a->a[i] + a->factor * a->b[i];
}

void CPU_FN(row_mean)(Device *device, const RowMeanArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 256)
    for (size_t q = 0; q < a->queries; q++) row_mean_of(a, q);
}
