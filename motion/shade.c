// SPDX-License-Identifier: Apache-2.0
#include "motion/shade.h"

#include "base/vector.h"
#include "motion/bodies.h"

#include <math.h>
#include <string.h>

enum {
    SPACINGS = 256, // particles of bodies whose distance to the next one is measured
    CELLS = 192,    // of a screen along a side, at most, and some at the rim
    RIM = 4
};
static const double SPREAD = 1.5; // times their spacing: how far particles of bodies shade
static const double COARSE = 4;   // times the spread: bodies whose screen has larger cells are too far apart
static const double ROOM = 3;     // times what bodies cover: the least width of a screen with room

void *shade_array(ShadeMemory memory, size_t count, size_t size) {
    void *out = arena_array(memory.arena, count + 1, size);
    if (!out) device_fail(memory.device, STATUS_FAILED, "out of memory for the shadows of bodies");
    return out;
}

ShadeGroup shade_group(ShadeMemory memory, const ShadeScene *scene, bool moves) {
    ShadeGroup out = {.particle = shade_array(memory, scene->count, sizeof *out.particle)};
    for (size_t i = 0; out.particle && i < scene->count; i++)
        if ((scene->body[i] >= 0) == moves) out.particle[out.count++] = (uint32_t)i;
    return out;
}

static void position_of(const real *x, size_t particle, double out[3]) {
    for (size_t c = 0; c < 3; c++) out[c] = (double)x[3 * particle + c];
}

// Median distance of particles of bodies to the nearest other one.
static double spacing_of(const real *x, const ShadeGroup *bodies) {
    double least[SPACINGS];
    size_t count = bodies->count < SPACINGS ? bodies->count : SPACINGS;
    for (size_t k = 0; k < count; k++) {
        size_t at = k * bodies->count / count, i = bodies->particle[at];
        least[k] = INFINITY;
        for (size_t q = 0; q < bodies->count; q++) {
            size_t j = bodies->particle[q];
            double d2 = 0;
            for (size_t c = 0; c < 3; c++) {
                double d = (double)x[3 * i + c] - (double)x[3 * j + c];
                d2 += d * d;
            }
            if (q != at && d2 < least[k]) least[k] = d2;
        }
    }
    return count > 1 ? sqrt(bodies_median(least, count)) : 0;
}

double shade_spread(const ShadeScene *scene, const ShadeGroup *bodies) { return SPREAD * spacing_of(scene->x, bodies); }

// ---- what bodies cover

Screen screen_make(ShadeMemory memory) {
    size_t cells = (CELLS + RIM) * (CELLS + RIM);
    return (Screen){.cover = shade_array(memory, cells, sizeof(double)),
                    .first = shade_array(memory, cells, sizeof(double))};
}

static void add_to_cell(Screen *s, size_t cell, double share, double depth) {
    s->cover[cell] += share;
    if (depth < s->first[cell]) s->first[cell] = depth;
}

bool screen_place(Screen *s, const double way[3], const real *x, const ShadeGroup *bodies, double spread, bool room) {
    double high[2] = {-INFINITY, -INFINITY}, p[3];
    memcpy(s->way, way, sizeof s->way);
    vector_across(way, s->u, s->v);
    s->low[0] = s->low[1] = INFINITY;
    for (size_t k = 0; k < bodies->count; k++) {
        position_of(x, bodies->particle[k], p);
        double at[2] = {vector_dot(s->u, p), vector_dot(s->v, p)};
        for (int c = 0; c < 2; c++) {
            if (at[c] < s->low[c]) s->low[c] = at[c];
            if (at[c] > high[c]) high[c] = at[c];
        }
    }
    double wide = high[0] - s->low[0], tall = high[1] - s->low[1];
    s->cell = fmax(spread, (room ? ROOM : 1) * fmax(wide, tall) / CELLS);
    if (!(s->cell <= COARSE * spread)) return false;
    s->wide = room ? CELLS + RIM : (size_t)(wide / s->cell) + RIM;
    s->high = room ? CELLS + RIM : (size_t)(tall / s->cell) + RIM;
    s->low[0] -= room ? ((CELLS + RIM) * s->cell - wide) / 2 : s->cell;
    s->low[1] -= room ? ((CELLS + RIM) * s->cell - tall) / 2 : s->cell;
    return true;
}

// Where the light through p meets the screen, in cells. False if it does not.
static bool meets(const Screen *s, const double p[3], double *a, double *b) {
    *a = (vector_dot(s->u, p) - s->low[0]) / s->cell, *b = (vector_dot(s->v, p) - s->low[1]) / s->cell;
    return *a >= 0 && *b >= 0 && *a < (double)(s->wide - 1) && *b < (double)(s->high - 1);
}

bool screen_holds(const Screen *s, const real *x, const ShadeGroup *bodies) {
    for (size_t k = 0; k < bodies->count; k++) {
        double p[3], a, b;
        position_of(x, bodies->particle[k], p);
        if (!meets(s, p, &a, &b)) return false;
    }
    return true;
}

void screen_cast(Screen *s, const real *x, const ShadeGroup *bodies) {
    for (size_t k = 0; k < s->wide * s->high; k++) s->cover[k] = 0, s->first[k] = INFINITY;
    for (size_t k = 0; k < bodies->count; k++) {
        double p[3], a, b;
        position_of(x, bodies->particle[k], p);
        if (!meets(s, p, &a, &b)) continue;
        double depth = vector_dot(s->way, p);
        size_t column = (size_t)a, row = (size_t)b, cell = row * s->wide + column;
        a -= (double)column, b -= (double)row;
        add_to_cell(s, cell, (1 - a) * (1 - b), depth);
        add_to_cell(s, cell + 1, a * (1 - b), depth);
        add_to_cell(s, cell + s->wide, (1 - a) * b, depth);
        add_to_cell(s, cell + s->wide + 1, a * b, depth);
    }
    for (size_t k = 0; k < s->wide * s->high; k++)
        if (s->cover[k] > 1) s->cover[k] = 1;
}

static double cell_cover(const Screen *s, size_t cell, double depth) {
    return s->first[cell] < depth ? s->cover[cell] : 0;
}

// The share of the light that does not reach a place.
static double shade_at(const Screen *s, const double *p) {
    double a, b, depth = vector_dot(s->way, p);
    if (!meets(s, p, &a, &b)) return 0;
    size_t column = (size_t)a, row = (size_t)b, cell = row * s->wide + column;
    a -= (double)column, b -= (double)row;
    return (1 - b) * ((1 - a) * cell_cover(s, cell, depth) + a * cell_cover(s, cell + 1, depth)) +
           b * ((1 - a) * cell_cover(s, cell + s->wide, depth) + a * cell_cover(s, cell + s->wide + 1, depth));
}

void screen_shade(const Screen *s, const real *x, const ShadeGroup *still, double *shade) {
    for (size_t k = 0; k < still->count; k++) {
        double p[3];
        position_of(x, still->particle[k], p);
        shade[k] = shade_at(s, p);
    }
}
