// SPDX-License-Identifier: Apache-2.0
// Hard shadows: for each light the front faces as the light sees them, in parallel projection. A sample is in shadow if
// the face that the light sees there lies in front of it. The face's own plane is compared, not a stored depth, so that
// a surface does not shadow itself.
#include "base/camera.h"
#include "raster/surface.h"

#include <math.h>
#include <string.h>

// Axes of the light; x, y in -1..1, r grows towards the light.
typedef struct ShadowMap {
    double axis[3][3], middle[3], scale[3];
    RasterGrid grid;
    RasterTiles tiles;
    double *place;   // (sources,3,3)
    uint8_t *wanted; // (tiles,RASTER_TILE) rows of the tiles that samples of the picture fall into; NULL: all
    int32_t *slot;   // (size,size), there
    double bias;     // of r
} ShadowMap;

static void light_axes(const double direction[3], double axis[3][3]) {
    light_unit(direction, axis[2]);
    int least = fabs(axis[2][0]) < fabs(axis[2][1]) ? 0 : 1;
    least = fabs(axis[2][2]) < fabs(axis[2][least]) ? 2 : least;
    double helper[3] = {least == 0, least == 1, least == 2}, raw[3];
    for (int i = 0; i < 3; i++) raw[i] = helper[i] - axis[2][least] * axis[2][i];
    light_unit(raw, axis[0]);
    for (int i = 0; i < 3; i++)
        axis[1][i] = axis[2][(i + 1) % 3] * axis[0][(i + 2) % 3] - axis[2][(i + 2) % 3] * axis[0][(i + 1) % 3];
}

static void to_light(const ShadowMap *map, const double point[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = (light_dot(map->axis[i], point) - map->middle[i]) * map->scale[i];
    out[2] += 1.5; // above 0
}

// So that the whole scene fits, r from 1 to 2.
static void fit_map(ShadowMap *map, const Prepared *p, int size) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, half = 1e-9;
    for (size_t v = 0; v < p->vertices; v++)
        for (int i = 0; i < 3; i++) {
            double at = light_dot(map->axis[i], p->world + 3 * v);
            low[i] = fmin(low[i], at), high[i] = fmax(high[i], at);
        }
    for (int i = 0; i < 3; i++) map->middle[i] = p->vertices ? 0.5 * (low[i] + high[i]) : 0;
    for (int i = 0; i < 2 && p->vertices; i++) half = fmax(half, 0.5 * (high[i] - low[i]));
    double deep = p->vertices ? fmax(high[2] - low[2], 1e-9) : 1;
    map->scale[0] = map->scale[1] = 1 / half;
    map->scale[2] = 1 / deep;
    map->grid = (RasterGrid){size, size, 2.0 / size};
    map->bias = map->grid.step * half / deep; // one texel
}

static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

typedef struct Texel {
    double at[3]; // a point's place on the map
    int row, column;
} Texel;

static Texel find_texel(const ShadowMap *map, const double point[3]) {
    const int last = map->grid.W - 1;
    Texel t;
    to_light(map, point, t.at);
    t.column = (int)clamp((t.at[0] + 1) / map->grid.step, 0, last);
    t.row = (int)clamp((t.at[1] + 1) / map->grid.step, 0, last);
    return t;
}

// Most texels are in no sample's way: a plane reaches far beyond the picture.
static bool find_wanted(ShadowMap *map, const Surface *surface, const Prepared *p, const double *point, Arena *memory) {
    const size_t samples = (size_t)surface->tiles.grid.H * (size_t)surface->tiles.grid.W,
                 tiles = (size_t)raster_tiles_count(&map->tiles);
    map->wanted = arena_array(memory, tiles, RASTER_TILE);
    if (!map->wanted) return false;
    memset(map->wanted, 0, tiles * RASTER_TILE);
#pragma omp parallel for num_threads(p->threads)
    for (size_t i = 0; i < samples; i++) {
        if (surface->slot[i] < 0) continue;
        const Texel t = find_texel(map, point + 3 * i);
        const int tile = t.row / RASTER_TILE * map->tiles.across + t.column / RASTER_TILE;
        uint8_t *wanted = &map->wanted[tile * RASTER_TILE + t.row % RASTER_TILE];
#pragma omp atomic write
        *wanted = 1;
    }
    return true;
}

static bool draw_map(ShadowMap *map, const Surface *surface, const RasterBackend *backend, const Prepared *p,
                     const double *point, const double direction[3], int size, Arena *memory) {
    light_axes(direction, map->axis);
    fit_map(map, p, size);
    map->place = arena_array(memory, 9 * p->sources, sizeof *map->place);
    map->slot = arena_array(memory, (size_t)size * (size_t)size, sizeof *map->slot);
    if (!map->place || !map->slot) return false;
    for (size_t s = 0; s < 3 * p->sources; s++) to_light(map, p->world + 3 * p->vertex[s], map->place + 3 * s);
    if (!raster_tiles_build(&map->tiles, map->grid, p->sources, map->place, 0, memory)) return false;
    map->wanted = NULL;
    if (!p->device && !find_wanted(map, surface, p, point, memory)) return false;
    RasterFaces faces = {.count = p->sources, .place = map->place};
    backend->visible(&(RasterVisibleArgs){.faces = &faces,
                                          .tiles = &map->tiles,
                                          .threads = p->threads,
                                          .device = p->device,
                                          .least = 0.5,
                                          .most = 2.5,
                                          .wanted = map->wanted,
                                          .slot = map->slot});
    return true;
}

// Whether the light does not reach a point of the scene's face `source`.
static bool in_shadow(const ShadowMap *map, SurfaceFace *caster, const double point[3], int32_t source) {
    const Texel t = find_texel(map, point);
    int32_t slot = map->slot[(size_t)t.row * (size_t)map->grid.W + (size_t)t.column];
    if (slot < 0 || map->tiles.face[slot] == source) return false;
    const double *place = map->place + RASTER_PLACE * (size_t)map->tiles.face[slot];
    double r = 1 / raster_surface_point(caster, place, t.at[0], t.at[1]).z;
    double low = fmin(fmin(place[2], place[5]), place[8]), high = fmax(fmax(place[2], place[5]), place[8]);
    return clamp(r, low, high) > t.at[2] + map->bias;
}

static void mark(Surface *surface, const Prepared *p, const ShadowMap *map, const double *point, int bit) {
    const RasterGrid *grid = &surface->tiles.grid;
#pragma omp parallel for schedule(dynamic, 8) num_threads(p->threads)
    for (int row = 0; row < grid->H; row++) {
        SurfaceFace caster = {.place = NULL};
        for (size_t i = (size_t)row * (size_t)grid->W, end = i + (size_t)grid->W; i < end; i++) {
            int32_t f = surface_face(surface, i);
            if (f < 0) continue;
            surface->shadow[i] |= (uint8_t)(in_shadow(map, &caster, point + 3 * i, p->source[f]) << bit);
        }
    }
}

static void find_points(const Surface *surface, const Prepared *p, double *point) {
    const RasterGrid *grid = &surface->tiles.grid;
    const double per_pixel = (double)grid->H / p->camera->H;
#pragma omp parallel for schedule(dynamic, 8) num_threads(p->threads)
    for (int row = 0; row < grid->H; row++) {
        SurfaceFace face = {.place = NULL};
        for (int column = 0; column < grid->W; column++) {
            size_t i = (size_t)row * (size_t)grid->W + (size_t)column;
            int32_t f = surface_face(surface, i);
            if (f < 0) continue;
            double z = raster_surface_point(&face, p->faces.place + RASTER_PLACE * (size_t)f,
                                            raster_grid_x(grid, column), raster_grid_y(grid, row))
                           .z;
            camera_unproject_world(p->camera->K, p->camera->world_from_camera, (column + 0.5) / per_pixel,
                                   (row + 0.5) / per_pixel, z, point + 3 * i);
        }
    }
}

bool raster_surface_shadows(Surface *surface, const RasterBackend *backend, const Prepared *p, int size, double *point,
                            Arena *memory) {
    size_t samples = (size_t)surface->tiles.grid.H * (size_t)surface->tiles.grid.W;
    surface->shadow = arena_array(memory, samples, 1);
    if (!surface->shadow) return false;
    memset(surface->shadow, 0, samples);
    find_points(surface, p, point);
    for (int set = 1; set < p->sets; set++) {
        ShadowMap map;
        ArenaMark before = arena_mark(memory);
        if (!draw_map(&map, surface, backend, p, point, p->set[set].light->direction, size, memory)) return false;
        mark(surface, p, &map, point, set - 1);
        arena_release(memory, before);
    }
    return true;
}
