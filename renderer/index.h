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
// positive finite reach, or beyond 2^20 cells from the origin, are left out.
typedef struct IndexArgs {
    size_t count;
    const real *x;      // (N,3)
    const real *radius; // (N)
    real cell;          // wanted edge; the edge is at least half of the largest reach
    RendererIndex *index;
} IndexArgs;

// Cell coordinate at level 0; monotone in x. Level l has cell >> 2 l.
#define INDEX_CELL(index, x) ((int32_t)real_floor((x) * (index)->inverse_edge))
#define INDEX_CELL_LIMIT 1048576

static inline uint32_t index_hash(int32_t i, int32_t j, int32_t k) {
    uint32_t h = (uint32_t)i * 0x9E3779B1u + (uint32_t)j * 0x85EBCA77u + (uint32_t)k * 0xC2B2AE3Du;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    return h ^ (h >> 13);
}

#endif
