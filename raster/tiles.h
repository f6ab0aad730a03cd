// SPDX-License-Identifier: Apache-2.0
// The picture in squares of samples, each with the list of faces near it. One entry of a list is a slot; gradients of
// a face are first summed by slot, and then over its slots in their order.
#ifndef VPD_RASTER_TILES_H
#define VPD_RASTER_TILES_H

#include "base/arena.h"
#include "nn/element.h"

enum { RASTER_TILE = 16 };

// Samples; the centre of sample (row, column) lies at step * (column + 1/2 - W/2, row + 1/2 - H/2) in NDC.
typedef struct RasterGrid {
    int H, W;
    double step;
} RasterGrid;

ELEMENT double raster_grid_x(const RasterGrid *grid, int column) { return grid->step * (column + 0.5 - 0.5 * grid->W); }
ELEMENT double raster_grid_y(const RasterGrid *grid, int row) { return grid->step * (row + 0.5 - 0.5 * grid->H); }

typedef struct RasterTiles {
    RasterGrid grid;
    int across, down;
    int32_t *start; // (across * down + 1) first slot of each tile
    int32_t *face;  // (slots), ascending in each tile
} RasterTiles;

typedef struct RasterBox {
    int x0, x1, y0, y1; // samples, both ends included; empty if x0 > x1 or y0 > y1
} RasterBox;

// First sample whose centre is at least at `least`, and last one that is at most at `most`.
ELEMENT int raster_first_sample(const RasterGrid *grid, int count, double least) {
    double at = ceil(least / grid->step + 0.5 * count - 0.5);
    return at <= 0 ? 0 : at >= count ? count : (int)at;
}

ELEMENT int raster_last_sample(const RasterGrid *grid, int count, double most) {
    double at = floor(most / grid->step + 0.5 * count - 0.5);
    return at < 0 ? -1 : at >= count - 1 ? count - 1 : (int)at;
}

// Samples whose centre lies within `reach` of the bounding box of the face with corners p (3,3).
ELEMENT RasterBox raster_box(const RasterGrid *grid, const double *p, double reach) {
    RasterBox box;
    reach += 1e-6 * grid->step; // a sample on the border may be seen after rounding
    box.x0 = raster_first_sample(grid, grid->W, fmin(fmin(p[0], p[3]), p[6]) - reach);
    box.x1 = raster_last_sample(grid, grid->W, fmax(fmax(p[0], p[3]), p[6]) + reach);
    box.y0 = raster_first_sample(grid, grid->H, fmin(fmin(p[1], p[4]), p[7]) - reach);
    box.y1 = raster_last_sample(grid, grid->H, fmax(fmax(p[1], p[4]), p[7]) + reach);
    return box;
}

// That part of it which lies in the tile.
ELEMENT RasterBox raster_tile_box(const RasterTiles *tiles, int tile, RasterBox box) {
    int x = tile % tiles->across * RASTER_TILE, y = tile / tiles->across * RASTER_TILE;
    if (box.x0 < x) box.x0 = x;
    if (box.y0 < y) box.y0 = y;
    if (box.x1 > x + RASTER_TILE - 1) box.x1 = x + RASTER_TILE - 1;
    if (box.y1 > y + RASTER_TILE - 1) box.y1 = y + RASTER_TILE - 1;
    return box;
}

// False when memory is short, or there are 2^31 slots.
bool raster_tiles_build(RasterTiles *out, RasterGrid grid, size_t faces, const double *place, double reach,
                        Arena *memory);

ELEMENT int raster_tiles_count(const RasterTiles *tiles) { return tiles->across * tiles->down; }
static inline size_t raster_tiles_slots(const RasterTiles *tiles) {
    return (size_t)tiles->start[raster_tiles_count(tiles)];
}

#endif
