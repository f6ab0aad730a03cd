// SPDX-License-Identifier: Apache-2.0
// The front face of each sample, and DIB-R's silhouette around the faces.
#include "raster/cpu/lanes.h"

#include "raster/cpu/functions.h"
#include "raster/pair.h"

// ---- visibility

// Whether no sample of the box lies in the face. A weight is largest at a corner of the box, after rounding too: sums
// and products of rounded numbers never fall where what they are made of rises.
static bool misses(const RasterGrid *grid, const PairFace *f, RasterBox box) {
    const int last = (box.x1 - box.x0) % LANES;
    const real x[2] = {lanes_x(grid->step, grid->W, box.x0)[0], lanes_x(grid->step, grid->W, box.x1 - last)[last]},
               y[2] = {(real)raster_grid_y(grid, box.y0), (real)raster_grid_y(grid, box.y1)};
    for (int k = 0; k < 3; k++) {
        int other = (k + 1) % 3;
        real px = x[f->gx[k] > 0], py = y[f->gy[k] > 0];
        if ((px - f->x[other]) * f->gx[k] + (py - f->y[other]) * f->gy[k] < -f->slack) return true;
    }
    return false;
}

static void face_visible(const RasterVisibleArgs *a, const PairFace *f, int32_t slot, RasterBox box,
                         const uint8_t *wanted, real *nearest, LaneBits *in_front) {
    const RasterGrid *grid = &a->tiles->grid;
    const Wide least = wide_all((real)a->least), most = wide_all((real)a->most), out = wide_all(-f->slack);
    for (int row = box.y0; row <= box.y1; row++) {
        if (wanted && !wanted[row % RASTER_TILE]) continue;
        real py = (real)raster_grid_y(grid, row);
        for (int column = box.x0; column <= box.x1; column += LANES) {
            size_t i = tile_index(row, column);
            Wide px = lanes_x(grid->step, grid->W, column), best = lanes_load(nearest + i), w[3], r = wide_all(0);
            WideMask seen = lanes_first(box.x1 - column + 1);
            for (int k = 0; k < 3; k++) {
                int other = (k + 1) % 3;
                w[k] = (px - f->x[other]) * f->gx[k] + (py - f->y[other]) * f->gy[k];
                r += w[k] * f->r[k];
                seen &= w[k] >= out;
            }
            seen &= (r > best) & (r >= least) & (r <= most);
            if (!lanes_any(seen)) continue;
            best = wide_select(seen, r, best);
            memcpy(nearest + i, &best, sizeof best);
            WideMask slots;
            memcpy(&slots, in_front + i, sizeof slots);
            slots = (slots & ~seen) | (seen & (LaneBits)slot);
            memcpy(in_front + i, &slots, sizeof slots);
        }
    }
}

static void tile_visible(const RasterVisibleArgs *a, int tile) {
    static const uint8_t none[RASTER_TILE];
    const RasterTiles *tiles = a->tiles;
    const uint8_t *wanted = a->wanted ? a->wanted + (size_t)tile * RASTER_TILE : NULL;
    if (wanted && !memcmp(wanted, none, sizeof none)) return;
    real nearest[TILE_SIZE];
    LaneBits in_front[TILE_SIZE];
    for (size_t i = 0; i < TILE_SIZE; i++) nearest[i] = -1, in_front[i] = -1;
    for (int32_t slot = tiles->start[tile]; slot < tiles->start[tile + 1]; slot++) {
        const double *place = a->faces->place + RASTER_PLACE * (size_t)tiles->face[slot];
        PairFace face;
        pair_face(place, &face);
        RasterBox box = raster_tile_box(tiles, tile, raster_box(&tiles->grid, place, 0));
        if (!misses(&tiles->grid, &face, box)) face_visible(a, &face, slot, box, wanted, nearest, in_front);
    }
    const RasterGrid *grid = &tiles->grid;
    const RasterBox box = raster_tile_box(tiles, tile, (RasterBox){0, grid->W - 1, 0, grid->H - 1});
    for (int row = box.y0; row <= box.y1; row++) {
        const LaneBits *from = in_front + tile_index(row, box.x0);
        int32_t *to = a->slot + (size_t)row * (size_t)grid->W + (size_t)box.x0;
        for (int i = 0; i <= box.x1 - box.x0; i++) to[i] = (int32_t)from[i];
    }
}

void CPU_FN(raster_visible)(const RasterVisibleArgs *a) {
    const int tiles = raster_tiles_count(a->tiles);
#pragma omp parallel for schedule(dynamic, 1 + tiles / 1024) num_threads(a->threads)
    for (int tile = 0; tile < tiles; tile++) tile_visible(a, tile);
}

// ---- silhouette: alpha = 1 - product of (1 - exp(-d2 / delta))

typedef struct CoverHit {
    Pair pair;
    WideMask seen;
    Wide e, rest;
} CoverHit;

CPU_INLINE bool cover_hit(const RasterCoverArgs *a, const PairFace *f, int row, int column, int last, CoverHit *h) {
    const RasterGrid *grid = &a->tiles->grid;
    pair_locate(f, lanes_x(grid->step, grid->W, column), wide_all((real)raster_grid_y(grid, row)), &h->pair);
    h->seen = lanes_first(last - column + 1) & (h->pair.d2 < wide_all((real)a->limit2));
    h->e = wide_exp(-h->pair.d2 * (real)(1 / a->delta));
    h->rest = wide_select(h->seen, 1 - h->e, wide_all(1));
    return lanes_any(h->seen);
}

CPU_INLINE void face_cover(const RasterCoverArgs *a, const PairFace *f, RasterBox box, real *clear) {
    for (int row = box.y0; row <= box.y1; row++)
        for (int column = box.x0; column <= box.x1; column += LANES) {
            size_t i = tile_index(row, column);
            CoverHit hit;
            if (!lanes_any(lanes_load(clear + i) != wide_all(0))) continue; // covered
            if (!cover_hit(a, f, row, column, box.x1, &hit)) continue;
            Wide now = lanes_load(clear + i) * hit.rest;
            memcpy(clear + i, &now, sizeof now);
        }
}

// d alpha / d d2 = -exp(-d2 / delta) / delta times the product over other faces. `clear`: dLoss/d alpha times the whole
// product.
CPU_INLINE void face_cover_back(const RasterCoverArgs *a, const PairFace *f, RasterBox box, const real *clear,
                                double *out) {
    const Wide zero = wide_all(0), none[3] = {zero, zero, zero}, tiny = wide_all((real)1e-7);
    Wide gx[3] = {zero, zero, zero}, gy[3] = {zero, zero, zero};
    for (int row = box.y0; row <= box.y1; row++)
        for (int column = box.x0; column <= box.x1; column += LANES) {
            size_t i = tile_index(row, column);
            CoverHit hit;
            if (!lanes_any(lanes_load(clear + i) != wide_all(0))) continue; // covered
            if (!cover_hit(a, f, row, column, box.x1, &hit)) continue;
            Wide slope = lanes_load(clear + i) * hit.e * (real)(-1 / a->delta) / wide_max(hit.rest, tiny);
            pair_locate_back(f, &hit.pair, none, wide_select(hit.seen, slope, zero), gx, gy);
        }
    for (int k = 0; k < 3; k++) out[3 * k] = lanes_sum(gx[k]), out[3 * k + 1] = lanes_sum(gy[k]), out[3 * k + 2] = 0;
}

static void tile_cover(const RasterCoverArgs *a, int tile, real *clear, bool back) {
    const RasterTiles *tiles = a->tiles;
    for (int32_t slot = tiles->start[tile]; slot < tiles->start[tile + 1]; slot++) {
        const double *place = a->faces->place + RASTER_PLACE * (size_t)tiles->face[slot];
        PairFace face;
        pair_face(place, &face);
        RasterBox box = raster_tile_box(tiles, tile, raster_box(&tiles->grid, place, sqrt(a->limit2)));
        size_t row = raster_row(a->faces);
        if (back)
            face_cover_back(a, &face, box, clear, memset(a->slot_grad + (size_t)slot * row, 0, row * sizeof(double)));
        else face_cover(a, &face, box, clear);
    }
}

typedef enum CoverStep { COVER_BEGIN, COVER_END, COVER_BACK } CoverStep;

// The product begins with 1, or with 0 where a face covers; in the end alpha is written. Backward it becomes dLoss/d
// alpha times the product.
static void tile_samples(const RasterCoverArgs *a, int tile, real *clear, CoverStep step) {
    const RasterTiles *tiles = a->tiles;
    int y0 = tile / tiles->across * RASTER_TILE, x0 = tile % tiles->across * RASTER_TILE;
    for (int y = y0; y < y0 + RASTER_TILE && y < tiles->grid.H; y++)
        for (int x = x0; x < x0 + RASTER_TILE && x < tiles->grid.W; x++) {
            size_t i = (size_t)y * (size_t)tiles->grid.W + (size_t)x, at = tile_index(y, x);
            if (step == COVER_BEGIN) clear[at] = !a->covered[i];
            if (step == COVER_BACK) clear[at] = (real)(a->alpha_grad[i] * (1 - a->alpha[i]));
            if (step == COVER_END) a->alpha[i] = 1 - (double)clear[at];
        }
}

void CPU_FN(raster_cover)(const RasterCoverArgs *a) {
    const int tiles = raster_tiles_count(a->tiles);
#pragma omp parallel for schedule(dynamic) num_threads(a->threads)
    for (int tile = 0; tile < tiles; tile++) {
        real clear[TILE_SIZE] = {0};
        tile_samples(a, tile, clear, COVER_BEGIN);
        tile_cover(a, tile, clear, false);
        tile_samples(a, tile, clear, COVER_END);
    }
}

void CPU_FN(raster_cover_back)(const RasterCoverArgs *a) {
    const int tiles = raster_tiles_count(a->tiles);
#pragma omp parallel for schedule(dynamic) num_threads(a->threads)
    for (int tile = 0; tile < tiles; tile++) {
        real clear[TILE_SIZE] = {0};
        tile_samples(a, tile, clear, COVER_BACK);
        tile_cover(a, tile, clear, true);
    }
}
