// SPDX-License-Identifier: Apache-2.0
// Times the rasterisers: a torus in front of a camera, a picture and the gradient of all of it (docs/rasterisers.md).
#ifndef VPD_BENCH_RASTER_BENCH_H
#define VPD_BENCH_RASTER_BENCH_H

#include "bench/time.h"
#include "raster/raster.h"

typedef struct RasterBench {
    const char *method, *precision;
    int across, around, side;    // faces: 2 across * around; pixels: side x side
    BenchTime forward, backward; // medians
    size_t peak_bytes;
    const char *isa;
} RasterBench;

enum { RASTER_BENCHES = 8 };

// Number `number` of the list, with the device's number of threads.
Status raster_bench(Device *device, int number, int repetitions, RasterBench *out, Error *err);

#endif
