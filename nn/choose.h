// SPDX-License-Identifier: Apache-2.0
// Choosing some of many points by random keys, at random or one per voxel (docs/model.md, "Choice of particles").
// Host memory; the same choice on every machine.
#ifndef VPD_NN_CHOOSE_H
#define VPD_NN_CHOOSE_H

#include "base/error.h"
#include "base/random.h"
#include "nn/real.h"

// A candidate: sorted by key, ties by index.
typedef struct Keyed {
    uint64_t key;
    int32_t index;
} Keyed;

// 64 bits of one Philox draw.
static inline uint64_t choose_key(RandomKey key, uint64_t index) {
    Random4 r = random4(key, index);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

void choose_sort(Keyed *items, size_t count);

// Set of voxels, grown as needed and kept between calls.
typedef struct VoxelTable {
    uint64_t *slots; // (capacity) packed coordinates, hashed
    size_t capacity;
    int level; // level of the last call, where the next one starts
} VoxelTable;

void voxel_table_free(VoxelTable *table); // accepts {0}

// items must be sorted. Moves the chosen ones to the front, still sorted, and returns how many in *chosen: all if count
// <= n; else one point (smallest key) per voxel of edge X 2^(-j/4), j the smallest in -8..64 with at least n occupied
// voxels, and of these the n of smallest key. position (.., 3) in metres is indexed by item.index.
Status choose_voxel(VoxelTable *table, Keyed *items, size_t count, size_t n, const real *position, double extent,
                    size_t *chosen, Error *err);

#endif
