// SPDX-License-Identifier: Apache-2.0
#include "nn/activation.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/cpu/vector_math.h"

enum { CHUNK = 1 << 14 };

void CPU_FN(activation_forward)(Device *device, const ActivationArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunk_count(a->count, CHUNK); c++) {
        size_t first = c * CHUNK, n = chunk_size(a->count, CHUNK, c);
        act_rows(a->kind, n, a->x + first, a->y + first);
    }
}

void CPU_FN(activation_backward)(Device *device, const ActivationArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunk_count(a->count, CHUNK); c++) {
        size_t first = c * CHUNK, last = first + chunk_size(a->count, CHUNK, c);
        for (size_t i = first; i < last; i++) a->dx[i] += a->dy[i] * act_slope(a->kind, a->x[i]);
    }
}
