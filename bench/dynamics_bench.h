// SPDX-License-Identifier: Apache-2.0
// Times the dynamics, relative to the matrix-product peak of the same machine in the same run (docs/performance.md).
#ifndef VPD_BENCH_DYNAMICS_BENCH_H
#define VPD_BENCH_DYNAMICS_BENCH_H

#include "bench/time.h"
#include "gnn/dynamics.h"

// Useful floating-point operations of one rollout step, forward and backward: matrix products only, 2 per multiply-add,
// three times the forward pass; recomputation is not counted.
double dynamics_useful_flops(const GnnConfig *config, const size_t *particles);

typedef struct DynamicsBench {
    size_t rounds;                     // number of measurements, of which the medians are given
    BenchTime plan, forward, backward; // of one rollout step
    BenchTime peak;                    // of the products below
    double peak_flops;                 // floating-point operations of one peak measurement
    double useful_flops;               // of one rollout step
    size_t peak_bytes;                 // of the tape: values, gradients, data kept for the backward pass
} DynamicsBench;

// N particles in each of T sets, on surfaces of a room of 2 m.
Status dynamics_bench(Device *device, const GnnConfig *config, size_t N, int repetitions, DynamicsBench *out,
                      Error *err);

// Shapes for reference measurements: neighbours 3/10/4, C 128, L 10, D 16, T 2, lengths of a scene of 2 m.
GnnConfig dynamics_bench_config(size_t M);

#endif
