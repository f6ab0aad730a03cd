// SPDX-License-Identifier: Apache-2.0
// Exact k nearest neighbours in a uniform grid (counting sort of the points, shells of cells around the query). Cost is
// linear in the number of points for points on surfaces. The result is the same on every back end, entry by entry.
#ifndef VPD_NN_KNN_H
#define VPD_NN_KNN_H

#include "nn/device.h"

enum { KNN_MAX_EXTRA = 4 };

// d^2 = |x_p - x_q|^2 + |e_p - e_q|^2: `extra` are further coordinates, already in metres (colour and moving flag times
// their lengths). Shells of the 3-D grid are widened until the distance in position alone exceeds the k-th found.
typedef struct KnnArgs {
    size_t points, queries;
    const real *point;         // (points, 3) metres
    const real *query;         // (queries, 3)
    size_t extra;              // 0 .. KNN_MAX_EXTRA
    const real *point_extra;   // (points, extra) or NULL
    const real *query_extra;   // (queries, extra) or NULL
    const int32_t *self;       // (queries) index of a point that is no neighbour of the query, -1 none; or NULL
    int k;
    int32_t *index;            // (queries, k) nearest first, ties by smaller index; -1 where there are fewer than k
    real *distance2;           // (queries, k) or NULL; infinity where there are fewer
} KnnArgs;

// Runs on device memory. Calls device->nn->knn; fails the device when there is no scratch memory.
void knn(Device *device, const KnnArgs *args);

#endif
