// SPDX-License-Identifier: Apache-2.0
// Times a training step of the network over bodies (bodies/body_network.h).
#ifndef VPD_BENCH_BODIES_BENCH_H
#define VPD_BENCH_BODIES_BENCH_H

#include "bench/time.h"

typedef struct BodiesBench {
    size_t windows, nodes, weights;
    BenchTime inputs, forward, backward; // of one step of all windows; medians
    size_t tape_bytes;                   // peak of one step
} BodiesBench;

// 64 windows of two bodies of 32 nodes that touch, above a floor; C channels, L rounds.
Status bodies_bench(Device *device, size_t C, size_t L, int repetitions, BodiesBench *out, Error *err);

#endif
