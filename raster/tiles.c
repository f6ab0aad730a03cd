// SPDX-License-Identifier: Apache-2.0
#include "raster/tiles.h"

#include <string.h>

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
