// SPDX-License-Identifier: Apache-2.0
// `vpd bench raster`.
#ifndef VPD_BENCH_REPORT_RASTER_H
#define VPD_BENCH_REPORT_RASTER_H

#include "bench/report_step.h"

Status bench_raster(Device *device, const BenchOptions *options, Error *err);

#endif
