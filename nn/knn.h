// SPDX-License-Identifier: Apache-2.0
// Exact k nearest neighbours. Points are halved across their longest side until eight are left: a leaf; boxes around
// eight leaves, eight such groups, and so on, let a query skip distant points. Unlike a grid this needs no cell size,
// so dense and sparse parts of a surface, far outliers and coincident points cost the same, and extra coordinates prune
// too. The number of points looked at by a query does not grow with their number (test: tests/nn_knn_test.c); sorting
// them adds N log N cheap steps.
//
// The result is the same on every back end and for every number of threads, entry by entry: d^2 is summed over the
// coordinates in order, x first, without fused multiply-add, and ties go to the smaller index.
#ifndef VPD_NN_KNN_H
#define VPD_NN_KNN_H

#include "nn/device.h"
#include "nn/scene_rows.h"

enum { KNN_MAX_EXTRA = 4 };

// d^2 = |x_p - x_q|^2 + |e_p - e_q|^2: `extra` are further coordinates, already in metres (colour and moving flag times
// their lengths). All coordinates are finite.
typedef struct KnnArgs {
    size_t points, queries;
    const real *point;                    // (points, 3) metres
    const real *query;                    // (queries, 3)
    size_t extra;                         // 0 .. KNN_MAX_EXTRA
    const real *point_extra;              // (points, extra) or NULL
    const real *query_extra;              // (queries, extra) or NULL
    SceneRows point_scenes, query_scenes; // of as many scenes each: a query sees only the points of its own
    const int32_t *self;  // (queries) index of a point that is no neighbour of the query, -1 none; or NULL
    bool guesses;         // of knn_index: searches for the nearest with guesses follow
    const int32_t *guess; // (queries) with k = 1, one scene and no `self`, a point near to each query, which makes
                          // the search faster; may be `index`; or NULL. Used after `guesses`
    int k;
    int32_t *index;    // (queries, k) nearest first, ties by smaller index; -1 where there are fewer than k
    real *distance2;   // (queries, k) or NULL; infinity where there are fewer
    uint64_t *visited; // host; or NULL. Grows by the number of points whose distance was computed
} KnnArgs;

// Sorted points for several searches.
typedef struct KnnIndex {
    size_t points, extra, scenes; // at least one scene
    void *tree;                   // the back end's own
} KnnIndex;

// On device memory. These fail the device when there is no memory.
void knn(Device *device, const KnnArgs *args);
// With all arrays of args in host memory, without guesses; `index` may be NULL.
void knn_host(Device *device, const KnnArgs *args);
// Sorts args' points into `memory` (an arena of the device's memory, or &device->scratch); queries are not read. The
// points and their table need not outlive the call.
void knn_index(Device *device, Arena *memory, const KnnArgs *args, KnnIndex *index);
// Searches an index; args' points and their table are not read.
void knn_search(Device *device, const KnnIndex *index, const KnnArgs *args);

#endif
