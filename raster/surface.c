// SPDX-License-Identifier: Apache-2.0
#include "raster/surface.h"

#include "raster/texture.h"

#include <string.h>

bool raster_surface_find(Surface *out, const RasterBackend *backend, const Prepared *p, RasterGrid grid,
                         Arena *memory) {
    *out = (Surface){0};
    out->slot = arena_array(memory, (size_t)grid.H * (size_t)grid.W, sizeof *out->slot);
    if (!out->slot || !raster_tiles_build(&out->tiles, grid, p->faces.count, p->faces.place, 0, memory)) return false;
    backend->visible(&(RasterVisibleArgs){.faces = &p->faces,
                                          .tiles = &out->tiles,
                                          .threads = p->threads,
                                          .device = p->device,
                                          .least = 1 / p->camera->far,
                                          .most = 1.000001 / p->camera->near, // of cut faces too, after rounding
                                          .slot = out->slot});
    return true;
}

static void take_face(SurfaceFace *face, const double *p) {
    const double area = (p[3] - p[0]) * (p[7] - p[1]) - (p[6] - p[0]) * (p[4] - p[1]);
    face->place = p;
    for (int i = 0; i < 3; i++) {
        const double *a = p + (i + 1) % 3 * 3, *b = p + (i + 2) % 3 * 3;
        face->gx[i] = -(b[1] - a[1]) / area, face->gy[i] = (b[0] - a[0]) / area;
    }
}

SurfacePoint raster_surface_point(SurfaceFace *face, const double *p, double x, double y) {
    SurfacePoint s;
    double r = 0;
    if (face->place != p) take_face(face, p);
    for (int i = 0; i < 3; i++) {
        const double *a = p + (i + 1) % 3 * 3;
        s.w[i] = (x - a[0]) * face->gx[i] + (y - a[1]) * face->gy[i];
        r += s.w[i] * p[3 * i + 2];
    }
    s.z = 1 / r;
    for (int i = 0; i < 3; i++) s.b[i] = s.w[i] * p[3 * i + 2] * s.z;
    return s;
}

// From dLoss/d(b, z): adds dLoss/d(place) to g.
static void point_back(const SurfaceFace *face, const SurfacePoint *s, const double gb[3], double gz, double *g) {
    const double *place = face->place;
    double mean = gb[0] * s->b[0] + gb[1] * s->b[1] + gb[2] * s->b[2] + s->z * gz, hx = 0, hy = 0;
    for (int i = 0; i < 3; i++) {
        double h = s->z * (gb[i] - mean), gw = h * place[3 * i + 2];
        g[3 * i + 2] += h * s->w[i];
        hx += gw * face->gx[i], hy += gw * face->gy[i];
    }
    for (int i = 0; i < 3; i++) g[3 * i] -= s->w[i] * hx, g[3 * i + 1] -= s->w[i] * hy;
}

// ---- colour

typedef struct SurfaceColour {
    bool known; // `in` and `corner` are those of this face and these shadows: of samples side by side they often are
    size_t face;
    unsigned shadow;
    bool in[1 + RASTER_SHADOWS];         // sets that reach the sample
    double corner[3][RASTER_ATTRIBUTES]; // their sums
    double attribute[RASTER_ATTRIBUTES], texel[3], colour[3];
    const RasterTexture *texture;
    TexturePlace place;
} SurfaceColour;

static void take_corners(const Prepared *p, size_t f, unsigned shadow, SurfaceColour *out) {
    const RasterFaces *faces = &p->faces;
    const size_t A = (size_t)faces->attributes;
    memset(out->corner, 0, sizeof out->corner);
    for (int set = 0; set < p->sets; set++) {
        out->in[set] = set == 0 || !(shadow >> (set - 1) & 1);
        const double *from = faces->attribute + ((size_t)set * faces->count + f) * 3 * A;
        for (size_t k = 0; k < 3 && out->in[set]; k++)
            for (size_t i = 0; i < A; i++) out->corner[k][i] += from[k * A + i];
    }
    out->known = true, out->face = f, out->shadow = shadow;
}

// `out` is of a sample before, or not known.
static void surface_colour(const Surface *surface, const Prepared *p, size_t sample, size_t f, const SurfacePoint *at,
                           SurfaceColour *out) {
    const RasterFaces *faces = &p->faces;
    const size_t A = (size_t)faces->attributes;
    const unsigned shadow = surface->shadow ? surface->shadow[sample] : 0;
    if (!out->known || out->face != f || out->shadow != shadow) take_corners(p, f, shadow, out);
    memset(out->attribute, 0, sizeof out->attribute);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < A; i++) out->attribute[i] += at->b[k] * out->corner[k][i];
    out->texture = faces->texture[f] < 0 ? NULL : faces->textures + faces->texture[f];
    for (int c = 0; c < 3; c++) out->colour[c] = out->attribute[c];
    if (!out->texture) return;
    out->place = texture_place(out->texture, out->attribute[6], out->attribute[7]);
    texture_value(out->texture, &out->place, out->texel);
    for (int c = 0; c < 3; c++) out->colour[c] = out->attribute[c] * out->texel[c] + out->attribute[3 + c];
}

// From dLoss/d(colour): adds to the attributes of a slot's row; dLoss/db to gb.
static void surface_colour_back(const Prepared *p, const SurfacePoint *at, const SurfaceColour *s, const double gc[3],
                                double *row, double *texel_grad, double gb[3]) {
    size_t A = (size_t)p->faces.attributes;
    double g[RASTER_ATTRIBUTES] = {gc[0], gc[1], gc[2]}, g_texel[3];
    if (s->texture) {
        for (int c = 0; c < 3; c++) g[c] = gc[c] * s->texel[c], g[3 + c] = gc[c], g_texel[c] = gc[c] * s->attribute[c];
        texture_back(s->texture, &s->place, g_texel, texel_grad, &g[6], &g[7]);
    }
    for (size_t k = 0; k < 3; k++) {
        gb[k] = 0;
        for (size_t i = 0; i < A; i++) gb[k] += g[i] * s->corner[k][i];
        for (int set = 0; set < p->sets; set++)
            for (size_t i = 0; i < A && s->in[set]; i++)
                row[RASTER_PLACE + (3 * (size_t)set + k) * A + i] += g[i] * at->b[k];
    }
}

void raster_surface_draw(const Surface *surface, const Prepared *p, double *colour, double *depth) {
    const RasterGrid *grid = &surface->tiles.grid;
#pragma omp parallel for schedule(dynamic, 8) num_threads(p->threads)
    for (int row = 0; row < grid->H; row++) {
        SurfaceFace face = {.place = NULL};
        SurfaceColour shown = {.known = false};
        for (int column = 0; column < grid->W; column++) {
            size_t sample = (size_t)row * (size_t)grid->W + (size_t)column;
            int32_t f = surface_face(surface, sample);
            SurfacePoint at = {.z = 0};
            memcpy(shown.colour, p->scene->background, sizeof shown.colour);
            if (f >= 0) {
                at = raster_surface_point(&face, p->faces.place + RASTER_PLACE * (size_t)f, raster_grid_x(grid, column),
                                          raster_grid_y(grid, row));
                if (colour) surface_colour(surface, p, sample, (size_t)f, &at, &shown);
            }
            if (depth) depth[sample] = at.z;
            if (colour) memcpy(colour + 3 * sample, shown.colour, sizeof shown.colour);
        }
    }
}

typedef struct SurfaceBack {
    const Surface *surface;
    const Prepared *p;
    const double *colour_grad, *depth_grad;
    double *slot_grad;
    const RasterTexelSums *texels;
} SurfaceBack;

static void sample_back(const SurfaceBack *b, int row, int column, int part) {
    const Prepared *p = b->p;
    const RasterGrid *grid = &b->surface->tiles.grid;
    size_t sample = (size_t)row * (size_t)grid->W + (size_t)column;
    int32_t f = surface_face(b->surface, sample);
    if (f < 0) return;
    const double *place = p->faces.place + RASTER_PLACE * (size_t)f;
    double gb[3] = {0}, *grad = b->slot_grad + (size_t)b->surface->slot[sample] * prepared_row(p);
    SurfaceFace face = {.place = NULL};
    SurfacePoint at = raster_surface_point(&face, place, raster_grid_x(grid, column), raster_grid_y(grid, row));
    if (b->colour_grad) {
        SurfaceColour shown = {.known = false};
        const RasterTexelSums *t = b->texels;
        surface_colour(b->surface, p, sample, (size_t)f, &at, &shown);
        double *texel_grad =
            t->parts && shown.texture ? t->sum + (size_t)part * t->texels + t->first[p->faces.texture[f]] : NULL;
        surface_colour_back(p, &at, &shown, b->colour_grad + 3 * sample, grad, texel_grad, gb);
    }
    point_back(&face, &at, gb, b->depth_grad ? b->depth_grad[sample] : 0, grad);
}

void raster_surface_back(const Surface *surface, const Prepared *p, const double *colour_grad, const double *depth_grad,
                         double *slot_grad, const RasterTexelSums *texels) {
    const SurfaceBack b = {surface, p, colour_grad, depth_grad, slot_grad, texels};
    const RasterTiles *tiles = &surface->tiles;
    const int count = raster_tiles_count(tiles), parts = texels->parts ? texels->parts : count;
    memset(slot_grad, 0, raster_tiles_slots(tiles) * prepared_row(p) * sizeof *slot_grad);
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
    for (int part = 0; part < parts; part++)
        for (int tile = (int)((long)count * part / parts); tile < (int)((long)count * (part + 1) / parts); tile++) {
            int y0 = tile / tiles->across * RASTER_TILE, x0 = tile % tiles->across * RASTER_TILE;
            for (int y = y0; y < y0 + RASTER_TILE && y < tiles->grid.H; y++)
                for (int x = x0; x < x0 + RASTER_TILE && x < tiles->grid.W; x++) sample_back(&b, y, x, part);
        }
}
