// SPDX-License-Identifier: Apache-2.0
// Clocks of benchmarks, and the machine's matrix-product peak that figures are compared with (docs/performance.md).
#ifndef VPD_NN_BENCH_TIME_H
#define VPD_NN_BENCH_TIME_H

#include "nn/device.h"

// Seconds; `cpu` is processor time over threads, which other programs on the same cores disturb less.
typedef struct BenchTime {
    double wall, cpu;
} BenchTime;

BenchTime bench_now(const Device *device);
BenchTime bench_since(const Device *device, BenchTime start);
// Medians of both; `room` holds `count` values.
BenchTime bench_median(const BenchTime *times, int count, double *room);

// Products of the shape that messages use (512 x 128 x 128) on every thread: `memory` has bench_peak_size() reals,
// 64-byte aligned. bench_peak_flops() is how many operations one call does.
size_t bench_peak_size(const Device *device);
double bench_peak_flops(const Device *device);
void bench_peak_fill(const Device *device, real *memory);
BenchTime bench_peak(const Device *device, real *memory);

// Largest resident set of this process so far, bytes.
size_t bench_peak_resident(void);

#endif
