// SPDX-License-Identifier: Apache-2.0
#include "nn/silu.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/cpu/vector_math.h"

enum { CHUNK = 1 << 14 };

void CPU_FN(silu_forward)(Device *device, const SiluArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunk_count(a->count, CHUNK); c++) {
        size_t first = c * CHUNK, last = first + chunk_size(a->count, CHUNK, c);
        for (size_t i = first; i < last; i++) a->y[i] = silu_value(a->x[i]);
    }
}

void CPU_FN(silu_backward)(Device *device, const SiluArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t c = 0; c < chunk_count(a->count, CHUNK); c++) {
        size_t first = c * CHUNK, last = first + chunk_size(a->count, CHUNK, c);
        for (size_t i = first; i < last; i++) a->dx[i] += a->dy[i] * silu_slope(a->x[i]);
    }
}
