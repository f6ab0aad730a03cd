// SPDX-License-Identifier: Apache-2.0
// `vpd bench step`, `vpd bench doubling` and `vpd bench frames`.
#ifndef VPD_BENCH_REPORT_STEP_H
#define VPD_BENCH_REPORT_STEP_H

#include "base/error.h"
#include "nn/device.h"

#include <stdbool.h>

typedef struct BenchOptions {
    int preset;       // StepPreset
    int graph;        // StepGraph; STEP_GRAPHS: all
    int repeat;       // measurements
    const char *data; // data set, or NULL: a synthetic room
    double keep_mib;
    int batch;              // `step`: episodes
    bool whole, cuda_graph; // `step`: whole steps without timing the parts; also with captured CUDA graphs
    long from, to;          // particles of `doubling`
    bool json;              // one JSON object per measurement instead of tables
} BenchOptions;

Status bench_step(Device *device, const BenchOptions *options, Error *err);
Status bench_doubling(Device *device, const BenchOptions *options, Error *err);
Status bench_frames(Device *device, const BenchOptions *options, Error *err);

#endif
