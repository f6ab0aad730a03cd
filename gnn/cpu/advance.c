// SPDX-License-Identifier: Apache-2.0
#include "gnn/cpu/functions.h"
#include "gnn/edge_elements.h"

void CPU_FN(advance_forward)(Device *device, const AdvanceArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->count; i++) advance_row(a, i);
}

void CPU_FN(advance_backward)(Device *device, const AdvanceArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->count; i++) advance_row_backward(a, i);
}
