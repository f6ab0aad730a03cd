// SPDX-License-Identifier: Apache-2.0
#include "raster/tiles.h"

#include <math.h>
#include <string.h>

// First sample whose centre is at least at `least`, and last one that is at most at `most`.
static int first_sample(const RasterGrid *grid, int count, double least) {
    double at = ceil(least / grid->step + 0.5 * count - 0.5);
    return at <= 0 ? 0 : at >= count ? count : (int)at;
}

static int last_sample(const RasterGrid *grid, int count, double most) {
    double at = floor(most / grid->step + 0.5 * count - 0.5);
    return at < 0 ? -1 : at >= count - 1 ? count - 1 : (int)at;
}

RasterBox raster_box(const RasterGrid *grid, const double *p, double reach) {
    reach += 1e-6 * grid->step; // a sample on the border may be seen after rounding
    return (RasterBox){first_sample(grid, grid->W, fmin(fmin(p[0], p[3]), p[6]) - reach),
                       last_sample(grid, grid->W, fmax(fmax(p[0], p[3]), p[6]) + reach),
                       first_sample(grid, grid->H, fmin(fmin(p[1], p[4]), p[7]) - reach),
                       last_sample(grid, grid->H, fmax(fmax(p[1], p[4]), p[7]) + reach)};
}

RasterBox raster_tile_box(const RasterTiles *tiles, int tile, RasterBox box) {
    int x = tile % tiles->across * RASTER_TILE, y = tile / tiles->across * RASTER_TILE;
    if (box.x0 < x) box.x0 = x;
    if (box.y0 < y) box.y0 = y;
    if (box.x1 > x + RASTER_TILE - 1) box.x1 = x + RASTER_TILE - 1;
    if (box.y1 > y + RASTER_TILE - 1) box.y1 = y + RASTER_TILE - 1;
    return box;
}

// Goes through the tiles of each face: counts them, or with a list enters the face.
static size_t visit(RasterTiles *tiles, size_t faces, const double *place, double reach, int32_t *at, bool enter) {
    size_t slots = 0;
    for (size_t f = 0; f < faces; f++) {
        RasterBox box = raster_box(&tiles->grid, place + 9 * f, reach);
        if (box.x0 > box.x1 || box.y0 > box.y1) continue;
        for (int y = box.y0 / RASTER_TILE; y <= box.y1 / RASTER_TILE; y++)
            for (int x = box.x0 / RASTER_TILE; x <= box.x1 / RASTER_TILE; x++, slots++) {
                int32_t *one = &at[y * tiles->across + x];
                if (enter) tiles->face[*one] = (int32_t)f;
                if (slots < INT32_MAX) ++*one;
            }
    }
    return slots;
}

bool raster_tiles_build(RasterTiles *out, RasterGrid grid, size_t faces, const double *place, double reach,
                        Arena *memory) {
    *out = (RasterTiles){.grid = grid,
                         .across = (grid.W + RASTER_TILE - 1) / RASTER_TILE,
                         .down = (grid.H + RASTER_TILE - 1) / RASTER_TILE};
    size_t count = (size_t)raster_tiles_count(out);
    out->start = arena_array(memory, count + 1, sizeof *out->start);
    int32_t *at = arena_array(memory, count + 1, sizeof *at);
    if (!out->start || !at) return false;
    memset(at, 0, (count + 1) * sizeof *at);
    size_t slots = visit(out, faces, place, reach, at, false);
    out->face = slots < INT32_MAX ? arena_array(memory, slots, sizeof *out->face) : NULL;
    if (!out->face) return false;
    int32_t sum = 0;
    for (size_t i = 0; i <= count; i++) {
        int32_t here = at[i];
        out->start[i] = at[i] = sum;
        sum += here;
    }
    visit(out, faces, place, reach, at, true);
    return true;
}
