// SPDX-License-Identifier: Apache-2.0
// Sums into rows that several threads write to: each thread has its own array, and arrays are added in thread order.
#ifndef VPD_GNN_CPU_SCATTER_H
#define VPD_GNN_CPU_SCATTER_H

#include "nn/cpu/cpu.h"

typedef struct Scatter {
    real *memory;
    size_t size; // elements of one array, padded
} Scatter;

// Allocates one array per thread in scratch memory; false if memory is short.
static inline bool scatter_open(Scatter *scatter, Device *device, size_t count) {
    scatter->size = (count + 15) & ~(size_t)15;
    scatter->memory = device_scratch(device, scatter->size * (size_t)device->threads);
    return scatter->memory != NULL;
}

// A thread's own array, zeroed.
static inline real *scatter_part(const Scatter *scatter, int thread) {
    real *part = scatter->memory + scatter->size * (size_t)thread;
    memset(part, 0, scatter->size * sizeof(real));
    return part;
}

// This thread's share of to += sum of the parts (behind a barrier).
static inline void scatter_add(const Scatter *scatter, int thread, int threads, size_t count, real *to) {
    size_t first, last;
    thread_range(count, thread, threads, &first, &last);
    for (int t = 0; t < threads; t++) {
        const real *part = scatter->memory + scatter->size * (size_t)t;
        for (size_t i = first; i < last; i++) to[i] += part[i];
    }
}

#endif
