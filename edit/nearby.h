// SPDX-License-Identifier: Apache-2.0
// The nearest of many particles, where it is near: a grid of cells by place, in two layers where the last coordinate
// (moving flag and label) differs; shared by edit/tie.c and its test alone.
// Distances are those of nn/knn.h, bit for bit. What would take a long way, as in a file that someone made so, is not
// answered; it is then searched in a tree.
#ifndef VPD_EDIT_NEARBY_H
#define VPD_EDIT_NEARBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NEARBY_DIMS = 7, NEARBY_EXTRA = NEARBY_DIMS - 3, NEARBY_LANES = 4, NEARBY_POINTS = 32 };
#define NEARBY_NONE UINT32_MAX

// Four particles of a cell, or of neighbours along x.
typedef struct NearbyBlock {
    float x[NEARBY_DIMS][NEARBY_LANES]; // infinity behind the last particle
    uint32_t id[NEARBY_LANES];
} NearbyBlock;

typedef struct Nearby {
    float low[3], per_metre; // corner of the grid, and cells per metre
    int cells[3];            // along x, y, z
    uint32_t *start;         // (cells + 1) first particle of each cell, x runs fastest; NULL: nothing is answered
    NearbyBlock *blocks;     // particles in the order of cells
} Nearby;

// Of count > 0 particles at x (count, 3) with further coordinates `extra` (count, 4), all finite. False without memory.
bool nearby_open(Nearby *nearby, size_t count, const float *x, const float *extra, int threads);
void nearby_close(Nearby *nearby); // accepts {0}

// How far a search may go before it is given up.
typedef struct NearbyLimits {
    float rings; // cells around that of the point
    size_t work; // rows of cells and points looked at
} NearbyLimits;

// The nearest particles of `count` points, at most NEARBY_POINTS, ties by smaller index, or NEARBY_NONE: given up. Any
// number of threads at once.
void nearby_find(const Nearby *nearby, NearbyLimits limits, size_t count, const float (*q)[NEARBY_DIMS], uint32_t *out);

#endif
