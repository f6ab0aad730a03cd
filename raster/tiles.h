// SPDX-License-Identifier: Apache-2.0
// The picture in squares of samples, each with the list of faces near it. One entry of a list is a slot; gradients of
// a face are first summed by slot, and then over its slots in their order.
#ifndef VPD_RASTER_TILES_H
#define VPD_RASTER_TILES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RASTER_TILE = 16 };

// Samples; the centre of sample (row, column) lies at step * (column + 1/2 - W/2, row + 1/2 - H/2) in NDC.
typedef struct RasterGrid {
    int H, W;
    double step;
} RasterGrid;

static inline double raster_grid_x(const RasterGrid *grid, int column) {
    return grid->step * (column + 0.5 - 0.5 * grid->W);
}
static inline double raster_grid_y(const RasterGrid *grid, int row) { return grid->step * (row + 0.5 - 0.5 * grid->H); }

typedef struct RasterTiles {
    RasterGrid grid;
    int across, down;
    int32_t *start; // (across * down + 1) first slot of each tile
    int32_t *face;  // (slots), ascending in each tile
} RasterTiles;

typedef struct RasterBox {
    int x0, x1, y0, y1; // samples, both ends included; empty if x0 > x1 or y0 > y1
} RasterBox;

// Samples whose centre lies within `reach` of the bounding box of the face with corners place (3,3).
RasterBox raster_box(const RasterGrid *grid, const double *place, double reach);
// That part of it which lies in the tile.
RasterBox raster_tile_box(const RasterTiles *tiles, int tile, RasterBox box);

// False when memory is short, or there are 2^31 slots.
bool raster_tiles_build(RasterTiles *out, RasterGrid grid, size_t faces, const double *place, double reach,
                        Arena *memory);

static inline int raster_tiles_count(const RasterTiles *tiles) { return tiles->across * tiles->down; }
static inline size_t raster_tiles_slots(const RasterTiles *tiles) {
    return (size_t)tiles->start[raster_tiles_count(tiles)];
}

#endif
