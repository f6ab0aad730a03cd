// SPDX-License-Identifier: Apache-2.0
// Search structure over particles and their reach. Space is cut into cells of edge 2.5 r; every cell that a particle's
// reach touches lists it. Cells are kept by hash: different cells may share a list, which costs candidates, never
// correctness, so memory is linear in N wherever particles are. Coarser levels (edges x 4) only say "nothing here":
// rays cross empty space in large steps, however far away an outlier is.
#ifndef VPD_RENDERER_INDEX_H
#define VPD_RENDERER_INDEX_H

#include "nn/device.h"

enum { INDEX_LEVELS = 7 };

typedef struct RendererIndex {
    size_t count;            // particles
    size_t left_out;         // of them: not finite, without reach, or too far away (a diverged model shows here)
    real edge, inverse_edge; // of a cell, metres
    real low[3], high[3];    // box around every particle's reach; low > high when there is none
    real *packed;            // (N,4) x, y, z, 1/R^2
    uint32_t mask;           // buckets - 1
    int32_t *start;          // (buckets + 1)
    size_t entries;
    int32_t *entry; // (entries) particles by bucket, ascending, perhaps twice in a row
    int levels;     // coarser levels in use; cells of level l are 4^l cells wide
    uint32_t level_mask[INDEX_LEVELS + 1];
    uint8_t *level[INDEX_LEVELS + 1];
} RendererIndex;

// Two calls, since the length of the lists is known only after the first. Particles without a finite position and a
// positive finite reach, or beyond INDEX_CELL_LIMIT cells from the origin, are
// left out.
typedef struct IndexArgs {
    size_t count;
    const real *x;      // (N,3)
    const real *radius; // (N)
    real cell;          // wanted edge; the edge is at least half of the largest reach
    RendererIndex *index;
} IndexArgs;

enum { INDEX_CELL_LIMIT = 1048576 };

#endif
