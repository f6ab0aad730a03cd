// SPDX-License-Identifier: Apache-2.0
// Clocks of benchmarks, and peak rates of the machine to compare with (docs/speed_experiments.md).
#ifndef VPD_BENCH_TIME_H
#define VPD_BENCH_TIME_H

#include "nn/device.h"

// Seconds; `cpu` is processor time over threads, which other programs disturb less.
typedef struct BenchTime {
    double wall, cpu;
} BenchTime;

// Waits for the device first.
BenchTime bench_now(Device *device);
BenchTime bench_since(Device *device, BenchTime start);
// Medians of wall and cpu time of times[0], times[stride], ..; `room` holds `count` values.
BenchTime bench_median(const BenchTime *times, int count, int stride, double *room);

// One measurement: fills in times[0], times[1], ..
typedef Status BenchOnce(void *context, BenchTime *times, Error *err);
// Measures `warm_up` times for nothing, then `repetitions` times; medians (count) of each time.
Status bench_medians(BenchOnce *once, void *context, int warm_up, int repetitions, int count, BenchTime *medians,
                     Error *err);

// Peak rates for comparison, measured in the same run. Products: on a CPU 512 x 128 x 128 in f32 on every thread, as
// messages use; elsewhere one of a millisecond, in the device's precision. Copies: of more memory than any cache holds.
typedef struct BenchPeak {
    Device *device;
    Arena memory;
    size_t side;                // of the square factors of one product; 0 on a CPU
    size_t copied;              // bytes of one copy
    real *product[3], *copy[2]; // device memory
    double flops, bytes;        // of one measurement; bytes read and written
} BenchPeak;

Status bench_peak_open(BenchPeak *peak, Device *device, Error *err);
void bench_peak_close(BenchPeak *peak); // accepts {0}
BenchTime bench_peak_products(BenchPeak *peak);
BenchTime bench_peak_copies(BenchPeak *peak);

// Largest resident set of this process so far, bytes.
size_t bench_peak_resident(void);

#endif
