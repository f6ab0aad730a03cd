// SPDX-License-Identifier: Apache-2.0
// Times a search for the k nearest neighbours of points on surfaces, as unprojected pixels are.
#ifndef VPD_BENCH_KNN_BENCH_H
#define VPD_BENCH_KNN_BENCH_H

#include "bench/time.h"

// Synthetic points near the faces of a box of 1 m, x (count, 3); point i depends on (stream, i) alone.
void knn_bench_points(uint32_t stream, size_t count, real *x);

// Median time of building the index and searching each point's k nearest others.
Status knn_bench(Device *device, size_t points, int k, int repetitions, BenchTime *out, Error *err);

#endif
