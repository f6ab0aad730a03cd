// SPDX-License-Identifier: Apache-2.0
// SoftRas by tiles: for each face of a tile, the samples of its bounding box, a vector at a time.
#include "raster/cpu/lanes.h"

#include "raster/cpu/functions.h"
#include "raster/pair.h"
#include "raster/texture.h"

typedef struct Soft {
    const RasterSoftArgs *a;
    real inverse_sigma, limit2, far, inverse_range; // inverse_range: 1 / ((far - near) gamma)
} Soft;

// Sums of the samples of one tile, and with a gradient dLoss/d(colour, alpha) behind them.
typedef struct SoftTile {
    real most[TILE_SIZE], sum[TILE_SIZE], colour[3][TILE_SIZE], clear[TILE_SIZE];
    real colour_grad[3][TILE_SIZE], alpha_grad[TILE_SIZE];
} SoftTile;

// Gradient of one face over the samples of a tile.
typedef struct FaceSums {
    Wide x[3], y[3], r[3], attribute[3][RASTER_ATTRIBUTES];
} FaceSums;

// A face, its attributes at the corners and its texture.
typedef struct SoftFace {
    PairFace pair;
    real attribute[3][RASTER_ATTRIBUTES];
    const RasterTexture *texture;
    double *texel_grad;
} SoftFace;

// Colour of a face at the samples of one vector.
typedef struct FaceColour {
    Wide b[3], depth, attribute[RASTER_ATTRIBUTES], texel[3], colour[3];
} FaceColour;

static Soft soft_constants(const RasterSoftArgs *a) {
    return (Soft){.a = a,
                  .inverse_sigma = (real)(1 / a->sigma),
                  .limit2 = (real)a->limit2,
                  .far = (real)a->far,
                  .inverse_range = (real)(1 / ((a->far - a->near) * a->gamma))};
}

CPU_INLINE SoftSum load_sum(const SoftTile *t, size_t i) {
    return (SoftSum){lanes_load(t->most + i),
                     lanes_load(t->sum + i),
                     {lanes_load(t->colour[0] + i), lanes_load(t->colour[1] + i), lanes_load(t->colour[2] + i)},
                     lanes_load(t->clear + i)};
}

static inline void store(real *to, Wide value) { memcpy(to, &value, sizeof value); }

CPU_INLINE void store_sum(SoftTile *t, size_t i, const SoftSum *s) {
    store(t->most + i, s->most);
    store(t->sum + i, s->sum);
    for (int c = 0; c < 3; c++) store(t->colour[c] + i, s->colour[c]);
    store(t->clear + i, s->clear);
}

// ---- colour of a face

static void texel_lanes(const RasterTexture *texture, WideMask seen, FaceColour *out) {
    out->texel[0] = out->texel[1] = out->texel[2] = wide_all(1);
    for (int j = 0; j < LANES; j++) {
        if (!seen[j]) continue;
        double value[3];
        TexturePlace place = texture_place(texture, out->attribute[6][j], out->attribute[7][j]);
        texture_value(texture, &place, value);
        for (int c = 0; c < 3; c++) out->texel[c][j] = (real)value[c];
    }
}

static void texel_lanes_back(const SoftFace *face, WideMask seen, const Wide g[3], FaceColour *at, Wide *gu, Wide *gv) {
    *gu = *gv = wide_all(0);
    for (int j = 0; j < LANES; j++) {
        if (!seen[j]) continue;
        double g_value[3], u, v;
        TexturePlace place = texture_place(face->texture, at->attribute[6][j], at->attribute[7][j]);
        for (int c = 0; c < 3; c++) g_value[c] = g[c][j];
        texture_back(face->texture, &place, g_value, face->texel_grad, &u, &v);
        (*gu)[j] = (real)u, (*gv)[j] = (real)v;
    }
}

CPU_INLINE void face_colour(const SoftFace *f, const Pair *p, WideMask seen, bool textured, FaceColour *out) {
    out->depth = pair_depth(&f->pair, p->w, out->b);
    for (int k = 0; k < (textured ? 8 : 3); k++)
        out->attribute[k] =
            out->b[0] * f->attribute[0][k] + out->b[1] * f->attribute[1][k] + out->b[2] * f->attribute[2][k];
    if (textured) texel_lanes(f->texture, seen, out);
    for (int c = 0; c < 3; c++)
        out->colour[c] = textured ? out->attribute[c] * out->texel[c] + out->attribute[3 + c] : out->attribute[c];
}

// From dLoss/d(colour): adds to the attributes' sums; dLoss/db to gb.
CPU_INLINE void face_colour_back(const SoftFace *f, FaceColour *at, WideMask seen, bool textured, const Wide gc[3],
                                 FaceSums *sums, Wide gb[3]) {
    Wide g[RASTER_ATTRIBUTES], g_texel[3];
    for (int c = 0; c < 3; c++) {
        g[c] = textured ? gc[c] * at->texel[c] : gc[c];
        if (textured) g[3 + c] = gc[c], g_texel[c] = gc[c] * at->attribute[c];
    }
    if (textured) texel_lanes_back(f, seen, g_texel, at, &g[6], &g[7]);
    for (int i = 0; i < 3; i++) {
        gb[i] = wide_all(0);
        for (int k = 0; k < (textured ? 8 : 3); k++) {
            gb[i] += g[k] * f->attribute[i][k];
            sums->attribute[i][k] += g[k] * at->b[i];
        }
    }
}

// ---- samples

typedef struct SoftHit {
    Pair pair;
    WideMask seen;
    Wide d, rest, l;
    FaceColour colour;
} SoftHit;

// What the samples of one vector see of a face; false if none sees it. `inside`: those that belong to the face's box.
CPU_INLINE bool soft_hit(const Soft *s, const SoftFace *f, Wide px, Wide py, WideMask box, bool textured, SoftHit *h) {
    pair_locate(&f->pair, px, py, &h->pair);
    h->seen = box & (h->pair.inside | (h->pair.d2 < wide_all(s->limit2)));
    if (!lanes_any(h->seen)) return false;
    face_colour(f, &h->pair, h->seen, textured, &h->colour);
    h->seen &= h->colour.depth <= wide_all(s->far);
    h->d = pair_soft(&h->pair, s->inverse_sigma, &h->rest);
    h->l = (s->far - h->colour.depth) * s->inverse_range;
    return true;
}

CPU_INLINE void soft_add(SoftTile *t, size_t i, SoftHit *h) {
    SoftSum sum = load_sum(t, i);
    Wide zero = wide_all(0), one = wide_all(1);
    soft_sum_add(&sum, wide_select(h->seen, h->d, zero), wide_select(h->seen, h->rest, one),
                 wide_select(h->seen, h->l, sum.most), h->colour.colour);
    store_sum(t, i, &sum);
}

CPU_INLINE void soft_add_back(const Soft *s, const SoftFace *f, const SoftTile *t, size_t i, SoftHit *h, bool textured,
                              FaceSums *sums) {
    SoftSum sum = load_sum(t, i);
    Wide zero = wide_all(0), gl, gd2, face_gc[3], gb[3], gw[3], gc[3], ga = lanes_load(t->alpha_grad + i);
    ga = wide_select(h->seen, ga, zero);
    for (int c = 0; c < 3; c++) gc[c] = wide_select(h->seen, lanes_load(t->colour_grad[c] + i), zero);
    soft_sum_back(&sum, &h->pair, h->d, h->rest, h->l, h->colour.colour, s->inverse_sigma, gc, ga, &gl, &gd2, face_gc);
    face_colour_back(f, &h->colour, h->seen, textured, face_gc, sums, gb);
    pair_depth_back(&f->pair, h->pair.w, h->colour.b, h->colour.depth, -gl * s->inverse_range, gb, gw, sums->r);
    pair_locate_back(&f->pair, &h->pair, gw, gd2, sums->x, sums->y);
}

CPU_INLINE void soft_box(const Soft *s, const SoftFace *f, SoftTile *t, RasterBox box, bool textured, FaceSums *sums) {
    const RasterGrid *grid = &s->a->tiles->grid;
    for (int row = box.y0; row <= box.y1; row++) {
        Wide py = wide_all((real)raster_grid_y(grid, row));
        for (int column = box.x0; column <= box.x1; column += LANES) {
            size_t i = tile_index(row, column);
            SoftHit hit;
            WideMask in_box = lanes_first(box.x1 - column + 1);
            if (!soft_hit(s, f, lanes_x(grid->step, grid->W, column), py, in_box, textured, &hit)) continue;
            if (sums) soft_add_back(s, f, t, i, &hit, textured, sums);
            else soft_add(t, i, &hit);
        }
    }
}

static void load_face(const Soft *s, int32_t face, int part, SoftFace *out) {
    const RasterFaces *faces = s->a->faces;
    const RasterTexelSums *texels = &s->a->texels;
    size_t f = (size_t)face, A = (size_t)faces->attributes;
    pair_face(faces->place + RASTER_PLACE * f, &out->pair);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < A; k++) out->attribute[i][k] = (real)faces->attribute[(3 * f + i) * A + k];
    out->texture = faces->texture[f] < 0 ? NULL : faces->textures + faces->texture[f];
    out->texel_grad = out->texture && texels->parts
                          ? texels->sum + (size_t)part * texels->texels + texels->first[faces->texture[f]]
                          : NULL;
}

static void tile_forward(const Soft *s, int tile, SoftTile *t) {
    const RasterTiles *tiles = s->a->tiles;
    for (int32_t slot = tiles->start[tile]; slot < tiles->start[tile + 1]; slot++) {
        SoftFace face;
        load_face(s, tiles->face[slot], 0, &face);
        RasterBox box =
            raster_box(&tiles->grid, s->a->faces->place + RASTER_PLACE * (size_t)tiles->face[slot], sqrt(s->a->limit2));
        box = raster_tile_box(tiles, tile, box);
        if (face.texture) soft_box(s, &face, t, box, true, NULL);
        else soft_box(s, &face, t, box, false, NULL);
    }
}

static void write_sums(const FaceSums *sums, bool textured, int attributes, double *out) {
    for (int i = 0; i < 3; i++) {
        out[3 * i] = lanes_sum(sums->x[i]);
        out[3 * i + 1] = lanes_sum(sums->y[i]);
        out[3 * i + 2] = lanes_sum(sums->r[i]);
        for (int k = 0; k < attributes; k++)
            out[9 + attributes * i + k] = k < 3 || textured ? lanes_sum(sums->attribute[i][k]) : 0;
    }
}

static void tile_backward(const Soft *s, int tile, int part, SoftTile *t) {
    const RasterTiles *tiles = s->a->tiles;
    const int A = s->a->faces->attributes;
    for (int32_t slot = tiles->start[tile]; slot < tiles->start[tile + 1]; slot++) {
        SoftFace face;
        FaceSums sums;
        memset(&sums, 0, sizeof sums);
        load_face(s, tiles->face[slot], part, &face);
        RasterBox box =
            raster_box(&tiles->grid, s->a->faces->place + RASTER_PLACE * (size_t)tiles->face[slot], sqrt(s->a->limit2));
        box = raster_tile_box(tiles, tile, box);
        if (face.texture) soft_box(s, &face, t, box, true, &sums);
        else soft_box(s, &face, t, box, false, &sums);
        write_sums(&sums, face.texture, A, s->a->slot_grad + (size_t)slot * raster_row(s->a->faces));
    }
}

// ---- tiles

// Samples of a tile: `index` in the picture, `at` in the tile.
#define FOR_TILE(tiles, tile)                                                                                          \
    for (int y = 0, row = (tile) / (tiles)->across * RASTER_TILE; y < RASTER_TILE && row < (tiles)->grid.H;            \
         y++, row++)                                                                                                   \
        for (size_t x = 0, column = (size_t)((tile) % (tiles)->across * RASTER_TILE),                                  \
                    index = (size_t)row * (size_t)(tiles)->grid.W + column, at = (size_t)y * TILE_ROW;                 \
             x < RASTER_TILE && column < (size_t)(tiles)->grid.W; x++, column++, index++, at++)

static void tile_begin(const Soft *s, SoftTile *t) {
    for (size_t i = 0; i < TILE_SIZE; i++) {
        t->most[i] = (real)(1e-3 / s->a->gamma); // the background's weight is exp(1e-3 / gamma)
        t->sum[i] = t->clear[i] = 1;
        for (int c = 0; c < 3; c++) t->colour[c][i] = (real)s->a->background[c];
    }
}

static void tile_end(const Soft *s, int tile, const SoftTile *t) {
    const RasterTiles *tiles = s->a->tiles;
    size_t count = (size_t)tiles->grid.H * (size_t)tiles->grid.W;
    real *state = s->a->state;
    FOR_TILE(tiles, tile) {
        real values[RASTER_STATE] = {t->most[at], t->sum[at], 0, 0, 0, t->clear[at]};
        for (size_t c = 0; c < 3; c++) values[2 + c] = t->colour[c][at] / t->sum[at];
        for (size_t c = 0; c < 3; c++) s->a->colour[3 * index + c] = values[2 + c];
        s->a->alpha[index] = 1 - values[5];
        for (size_t k = 0; k < RASTER_STATE; k++) state[k * count + index] = values[k];
    }
}

static void tile_restore(const Soft *s, int tile, SoftTile *t) {
    const RasterTiles *tiles = s->a->tiles;
    size_t count = (size_t)tiles->grid.H * (size_t)tiles->grid.W;
    const real *state = s->a->state;
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < TILE_SIZE; i++) t->sum[i] = 1;
    FOR_TILE(tiles, tile) {
        t->most[at] = state[index], t->sum[at] = state[count + index], t->clear[at] = state[5 * count + index];
        for (size_t c = 0; c < 3; c++) {
            t->colour[c][at] = state[(2 + c) * count + index];
            t->colour_grad[c][at] = s->a->colour_grad ? (real)s->a->colour_grad[3 * index + c] : 0;
        }
        t->alpha_grad[at] = s->a->alpha_grad ? (real)s->a->alpha_grad[index] : 0;
    }
}

void CPU_FN(raster_soft)(const RasterSoftArgs *a) {
    const Soft s = soft_constants(a);
    const int tiles = raster_tiles_count(a->tiles);
#pragma omp parallel for schedule(dynamic) num_threads(a->threads)
    for (int tile = 0; tile < tiles; tile++) {
        SoftTile t;
        tile_begin(&s, &t);
        tile_forward(&s, tile, &t);
        tile_end(&s, tile, &t);
    }
}

void CPU_FN(raster_soft_back)(const RasterSoftArgs *a) {
    const Soft s = soft_constants(a);
    const int tiles = raster_tiles_count(a->tiles), parts = a->texels.parts ? a->texels.parts : tiles;
#pragma omp parallel for schedule(dynamic) num_threads(a->threads)
    for (int part = 0; part < parts; part++)
        for (int tile = (int)((long)tiles * part / parts); tile < (int)((long)tiles * (part + 1) / parts); tile++) {
            SoftTile t;
            tile_restore(&s, tile, &t);
            tile_backward(&s, tile, part, &t);
        }
}
