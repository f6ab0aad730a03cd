// SPDX-License-Identifier: Apache-2.0
// `vpd bench ops` and `vpd bench neighbours`.
#ifndef VPD_BENCH_REPORT_OPS_H
#define VPD_BENCH_REPORT_OPS_H

#include "bench/report_step.h"

Status bench_ops(Device *device, const BenchOptions *options, Error *err);
Status bench_neighbours(Device *device, const BenchOptions *options, Error *err);

#endif
