// SPDX-License-Identifier: Apache-2.0
// The trees that knn_index builds and knn_search walks, one for each scene: leaves of eight points, boxes in groups of
// eight.
#ifndef VPD_NN_CPU_KNN_TREE_H
#define VPD_NN_CPU_KNN_TREE_H

#include "nn/cpu/cpu.h"
#include "nn/cpu/lanes.h"
#include "nn/knn.h"

enum { KNN_MAX_DIMS = 3 + KNN_MAX_EXTRA, KNN_MAX_LEVELS = 10 }; // 8^(levels + 1) points: more than an int32 counts
enum { KNN_AROUND = 16, KNN_BLOCKS = KNN_AROUND / LANES };      // points that are listed around each, by eight

typedef struct KnnTree {
    const real *point; // as given; compared with the queries' address, never read after knn_index
    int dims, levels;
    size_t begin, points, leaves;  // begin: the scene's first point among those of all scenes
    real *leaf;                    // (leaves, dims, 8) coordinates, infinity beyond the last point
    int32_t *id;                   // (leaves, 8) index of the point among all, INT32_MAX beyond the last
    size_t groups[KNN_MAX_LEVELS]; // level 0: groups of eight leaves; level l: of eight groups of level l - 1; the last
                                   // has one
    real *box[KNN_MAX_LEVELS];     // (groups, 2 low and high, dims, 8) boxes of the eight members, low = infinity where
                                   // there is none
    int32_t *first[KNN_MAX_LEVELS]; // (groups, 8) smallest index in each member, INT32_MAX where there is none
    // For guesses; else NULL. The points nearest to each, itself included.
    int32_t *around_id; // (points, KNN_AROUND) nearest first, -1 where there are fewer
    real *around;       // (points, KNN_AROUND / 8, dims, 8) their coordinates
    real *reach;        // (points, KNN_AROUND / 8) distance of the last of eight, infinity where there are fewer
} KnnTree;

// Answers queries with guesses. known2 (queries): -1; or how far away the answer is at most, squared, where it is not
// sure.
void CPU_FN(knn_guess)(Device *device, const KnnTree *tree, const KnnArgs *args, real *known2);

// Rows of a scene.
typedef struct KnnRows {
    size_t begin, count;
} KnnRows;

static inline KnnRows knn_rows(const int32_t *first, size_t count, size_t scene) {
    if (!first) return (KnnRows){0, count};
    return (KnnRows){(size_t)first[scene], (size_t)(first[scene + 1] - first[scene])};
}

// The coordinates of row i of x (rows of three) and extra (rows of `count`).
static inline real knn_coordinate(const real *x, const real *extra, size_t count, size_t i, size_t d) {
    return d < 3 ? x[3 * i + d] : extra[count * i + d - 3];
}

// Where the coordinates of eight points around a point begin.
static inline size_t knn_block_at(const KnnTree *tree, size_t point, size_t block) {
    return (point * KNN_BLOCKS + block) * LANES * (size_t)tree->dims;
}

// Distances from q to the eight points that stand at x.
static inline Lanes knn_point_distances(int dims, const real *q, const real *x) {
    Lanes sum = {0};
    for (int d = 0; d < dims; d++) {
        Lanes e = lanes_load(x + d * LANES) - lanes_all(q[d]);
        sum += e * e;
    }
    return sum;
}

#endif
