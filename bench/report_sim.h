// SPDX-License-Identifier: Apache-2.0
// `vpd bench sim`.
#ifndef VPD_BENCH_REPORT_SIM_H
#define VPD_BENCH_REPORT_SIM_H

#include "bench/report_step.h"

Status bench_sim(Device *device, const BenchOptions *options, Error *err);

#endif
