// SPDX-License-Identifier: Apache-2.0
// A barrier for threads that meet many thousand times a second. A waiting thread spins for some microseconds and then
// sleeps, so that it does no harm on a shared core.
#ifndef VPD_BASE_SPIN_BARRIER_H
#define VPD_BASE_SPIN_BARRIER_H

#include <stdint.h>

typedef struct SpinBarrier {
    _Alignas(64) int32_t waiting;
    _Alignas(64) int32_t round; // grows by one each time that all have met
    int32_t sleepers;
} SpinBarrier;

// Returns when `threads` threads have called it; a zeroed SpinBarrier is ready.
void spin_barrier_wait(SpinBarrier *barrier, int threads);

#endif
