// SPDX-License-Identifier: Apache-2.0
// Cases on which back ends of the rasterisers are compared: a textured sheet that shines, behind a torus, both partly
// outside the picture, under lights with shadows; by each method, with the gradient of everything.
#ifndef VPD_BENCH_RASTER_CASES_H
#define VPD_BENCH_RASTER_CASES_H

#include "base/arena.h"
#include "nn/device.h"
#include "raster/raster.h"

typedef struct RasterCase {
    const char *name;
    RasterMethod method;
    int samples;
    bool texels;       // their gradient is wanted
    double allowed[2]; // error in f32 and f64, relative to the largest number of the same array
} RasterCase;

extern const RasterCase raster_cases[];
extern const size_t raster_case_count;

enum { RASTER_CASE_ARRAYS = 12 };

// What a case gives: the picture, and its gradients.
typedef struct RasterCaseRun {
    Arena memory;
    size_t count[RASTER_CASE_ARRAYS];
    double *array[RASTER_CASE_ARRAYS];
    const char *name[RASTER_CASE_ARRAYS];
} RasterCaseRun;

// A rasteriser on the device; on the CPU in its instruction set, with its number of threads.
RasterOptions raster_options_of(Device *device, RasterMethod method, RasterPrecision precision);

// *out is to be freed also after an error.
Status raster_case_run(const RasterCase *c, const RasterOptions *options, RasterCaseRun *out, Error *err);
void raster_case_run_free(RasterCaseRun *run);

// The largest error of `found`, and the array that has it. Infinite where exactly one of two numbers is finite.
double raster_case_error(const RasterCaseRun *expected, const RasterCaseRun *found, const char **where);

#endif
