// SPDX-License-Identifier: Apache-2.0
// Time of a search for the k nearest of points that lie on surfaces, as unprojected pixels do.
#ifndef VPD_BENCH_KNN_BENCH_H
#define VPD_BENCH_KNN_BENCH_H

#include "bench/time.h"

// Synthetic points near the faces of a box of 1 m: point i is keyed by (stream, i), x (count, 3).
void knn_bench_points(uint32_t stream, size_t count, real *x);

// Medians of index and search together, each point's k nearest others.
Status knn_bench(Device *device, size_t points, int k, int repetitions, BenchTime *out, Error *err);

#endif
