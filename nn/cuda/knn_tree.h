// SPDX-License-Identifier: Apache-2.0
// Points in the order of the cells of a fine grid along a space-filling curve (Hilbert's), in leaves of 32; boxes of
// the leaves, of 32 leaves, and so on, tell what a query may skip. Everything stands in one piece of device memory
// whose layout follows from the numbers of points, scenes and coordinates, so that the host reads nothing back.
//
// Each scene has leaves and nodes of level 1 of its own: those of scene c begin at node (p + 1023 c) / 1024, where p is
// its first point. That is behind those of the scenes before, and the host need not know p. All share the nodes above.
#ifndef VPD_NN_CUDA_KNN_TREE_H
#define VPD_NN_CUDA_KNN_TREE_H

#include "nn/cuda/launch.h"

#include "nn/knn.h"

constexpr int KNN_MAX_DIMS = 3 + KNN_MAX_EXTRA, KNN_MAX_LEVELS = 7; // 32^7 points: more than an int32 counts
constexpr int KNN_WIDTH_BITS = 5;
constexpr size_t KNN_WIDTH = CUDA_WARP;               // points of a leaf, members of a node
constexpr size_t KNN_GAP = KNN_WIDTH * KNN_WIDTH - 1; // places between scenes, at most

// Where the leaves of a scene are.
struct KnnLeaves {
    unsigned first, end;
};

// A node of level 0 is a leaf, whose members are points. The last level has one node, the root.
struct KnnTree {
    int dims, levels;
    size_t points, scenes;
    KnnLeaves *scene;               // (scenes)
    real *leaf;                     // (nodes[0], dims, 32) coordinates, infinity beyond the scene's last point
    int32_t *id;                    // (nodes[0], 32) index of the point, INT32_MAX beyond the scene's last
    size_t nodes[KNN_MAX_LEVELS];   // at least one
    real *box[KNN_MAX_LEVELS];      // (nodes / 32, 2 low and high, dims, 32); low = infinity of an empty node
    int32_t *first[KNN_MAX_LEVELS]; // (nodes) smallest index inside
};

// The layout of an index at `memory` (NULL: to learn the size); *bytes is its size.
static inline KnnTree knn_tree_at(const KnnIndex *index, void *memory, size_t *bytes) {
    KnnTree tree = {};
    size_t dims = 3 + index->extra;
    *bytes = 0;
    auto take = [=](size_t count) { // four bytes each: real or int32_t
        void *here = memory ? static_cast<char *>(memory) + *bytes : nullptr;
        *bytes += count * sizeof(real);
        return here;
    };
    tree.dims = static_cast<int>(dims);
    tree.points = index->points;
    tree.scenes = index->scenes;
    size_t members = tree.points + KNN_GAP * (tree.scenes - 1); // places for points
    for (; tree.levels == 0 || members > 1; tree.levels++) {
        CHECK(tree.levels < KNN_MAX_LEVELS);
        members = members ? (members + KNN_WIDTH - 1) / KNN_WIDTH : 1;
        if (tree.levels == 0) tree.leaf = static_cast<real *>(take(members * dims * KNN_WIDTH));
        if (tree.levels == 0) tree.id = static_cast<int32_t *>(take(members * KNN_WIDTH));
        tree.box[tree.levels] = static_cast<real *>(take((members + KNN_WIDTH - 1) / KNN_WIDTH * KNN_WIDTH * 2 * dims));
        tree.first[tree.levels] = static_cast<int32_t *>(take(members));
        tree.nodes[tree.levels] = members;
    }
    tree.scene = static_cast<KnnLeaves *>(take(2 * tree.scenes));
    return tree;
}

// Side 0 .. 2 dims - 1 of a node's box: the low ones, then the high ones. Those of 32 nodes lie side by side.
static __device__ inline real *knn_box(const KnnTree &tree, int level, size_t node, int side) {
    size_t row = node / KNN_WIDTH * 2 * static_cast<size_t>(tree.dims) + static_cast<size_t>(side);
    return tree.box[level] + row * KNN_WIDTH + node % KNN_WIDTH;
}

// Coordinate d of row i of x (rows of three) and extra (rows of `count`).
static __device__ inline real knn_coordinate(const real *x, const real *extra, size_t count, size_t i, size_t d) {
    return d < 3 ? x[3 * i + d] : extra[count * i + d - 3];
}

#endif
