// SPDX-License-Identifier: Apache-2.0
#include "nn/columns.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

void CPU_FN(copy_columns)(Device *device, const CopyColumnsArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->rows; i++) {
        const real *from = a->from + i * a->from_stride;
        real *to = a->to + i * a->to_stride;
        if (a->add)
            for (size_t j = 0; j < a->cols; j++) to[j] += from[j];
        else memcpy(to, from, a->cols * sizeof *to);
    }
}
