// SPDX-License-Identifier: Apache-2.0
// The nearest point of a query near to which a point is known. A point that is nearer to the query than the best so far
// is no further from the guess than the guess and the best are from the query, together. So the points around the
// guess are tried, nearest first, until they are further. Where the list of them is too short for that, the best
// becomes the guess; at last the tree is searched.
#include "nn/cpu/functions.h"
#include "nn/cpu/knn_tree.h"

#include <omp.h>

enum { HOPS = 3 };

typedef struct Best {
    real d2;
    int32_t id;
} Best;

// Tries the points around one; true if no other point can be nearer.
static inline bool try_around(const KnnTree *tree, int dims, const real *q, int32_t guess, Best *best) {
    real way = 0;
    for (size_t b = 0; b < KNN_BLOCKS; b++) {
        Lanes d2 = knn_point_distances(dims, q, tree->around + knn_block_at(tree, (size_t)guess, b));
        const int32_t *id = tree->around_id + (size_t)guess * KNN_AROUND + b * LANES;
        if (b == 0) way = real_sqrt(d2[0]); // the nearest to the guess is itself, or lies where it is
        for (unsigned bits = lanes_at_most(d2, best->d2); bits; bits &= bits - 1) {
            int lane = __builtin_ctz(bits);
            bool first = d2[lane] == best->d2 && id[lane] < best->id;
            if (id[lane] >= 0 && (first || d2[lane] < best->d2)) *best = (Best){d2[lane], id[lane]};
        }
        real most = way + real_sqrt(best->d2);
        if (tree->reach[(size_t)guess * KNN_BLOCKS + b] > most * (real)(1 + 1e-5) + (real)1e-15) return true;
    }
    return false;
}

static inline bool answer(const KnnTree *tree, int dims, const KnnArgs *a, size_t query, Best *best) {
    real q[KNN_MAX_DIMS];
    int32_t guess = a->guess[query];
    for (int d = 0; d < dims; d++) q[d] = knn_coordinate(a->query, a->query_extra, a->extra, query, (size_t)d);
    for (int hop = 0; hop < HOPS; hop++) {
        if (try_around(tree, dims, q, guess, best)) return true;
        if (best->id == guess) return false;
        guess = best->id;
    }
    return false;
}

void CPU_FN(knn_guess)(Device *device, const KnnTree *tree, const KnnArgs *a, real *known2) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->queries; i++) {
        Best best = {INFINITY, INT32_MAX};
        bool sure = tree->dims == 6 ? answer(tree, 6, a, i, &best) : answer(tree, tree->dims, a, i, &best);
        a->index[i] = best.id;
        if (a->distance2) a->distance2[i] = best.d2;
        known2[i] = sure ? -1 : best.d2;
    }
}
