// SPDX-License-Identifier: Apache-2.0
// Search structure over particles and their reach. Space is cut into cells of edge 2.5 r; every cell that a particle's
// reach touches lists it. Cells are kept by hash: different cells may share a list, which costs candidates, never
// correctness, so memory is linear in N wherever particles are. Coarser levels (edges x 4) only say "nothing here":
// rays cross empty space in large steps, however far away an outlier is. Several scenes have tables of their own, one
// behind the other, so that none sees the particles of another.
#ifndef VPD_RENDERER_INDEX_H
#define VPD_RENDERER_INDEX_H

#include "nn/device.h"
#include "nn/scene_rows.h"

enum { INDEX_LEVELS = 7 };

// Summary of the particles.
typedef struct IndexFound {
    real low[3], high[3]; // box around every particle's reach; low > high when there is none
    int32_t levels;       // coarser levels in use; cells of level l are 4^l cells wide
    uint64_t entries;     // entries in the lists
    uint64_t left_out;    // particles that are not finite, without radius, or too far away (a sign of a diverged model)
} IndexFound;

typedef struct RendererIndex {
    size_t count, scenes;    // particles; at least 1
    real edge, inverse_edge; // of a cell, metres
    IndexFound *found;       // (1) device memory
    real *packed;            // (N,4) x, y, z, 1/R^2
    uint32_t mask;           // buckets of a scene - 1
    int32_t *start;          // (scenes * buckets + 1)
    size_t room;             // size of `entry`: needed entries, or a bound when the host does not wait for the number
    int32_t *entry;          // (room) particles by bucket, ascending, perhaps twice in a row
    uint32_t level_mask[INDEX_LEVELS + 1];
    uint8_t *level[INDEX_LEVELS + 1]; // (scenes, level_mask + 1) each, from 1 on, one behind the other
    size_t level_bytes;               // of all of them
} RendererIndex;

// Two calls, since the size of the lists is known only after the first. Particles without a finite position and
// a positive radius up to `reach`, or beyond INDEX_CELL_LIMIT cells from the origin, are left out.
typedef struct IndexArgs {
    size_t count;
    SceneRows scenes;
    const real *x;      // (N,3)
    const real *radius; // (N)
    real reach;         // the largest radius
    real cell;          // wanted edge; the edge is at least half of the reach
    RendererIndex *index;
} IndexArgs;

enum { INDEX_CELL_LIMIT = 1 << 17 };

// Buckets of all scenes.
static inline size_t index_buckets(const RendererIndex *index) { return index->scenes * ((size_t)index->mask + 1); }

#endif
