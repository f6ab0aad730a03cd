// SPDX-License-Identifier: Apache-2.0
#include "model/shadows.h"

#include <math.h>
#include <string.h>

// Features of particles, row by row.
typedef struct Features {
    size_t D;
    const real *row; // (.., D)
} Features;

// How the features of what stands change in the shade.
typedef struct Look {
    double *lit, *change; // (D) in the light; how it differs in the shade
    double length2;       // of `change`
} Look;

struct Shadows {
    size_t count, D; // particles and features
    ShadeGroup bodies, still;
    double spread; // metres
    Screen screen;
    double *shown; // (count, 2) the shade at the present, and what particles show of it
    Look look;
};

// ---- what particles show

// By least squares.
static void find_look(const Features *f, const ShadeGroup *still, const double *shade, Look *out) {
    double mean = 0, spread = 0, count = (double)still->count;
    for (size_t k = 0; k < still->count; k++) mean += shade[k] / count;
    for (size_t k = 0; k < still->count; k++) spread += (shade[k] - mean) * (shade[k] - mean);
    out->length2 = 0;
    for (size_t d = 0; d < f->D; d++) {
        double all = 0, with = 0;
        for (size_t k = 0; k < still->count; k++) {
            double value = (double)f->row[f->D * still->particle[k] + d];
            all += value, with += (shade[k] - mean) * value;
        }
        out->change[d] = spread > 0 ? with / spread : 0;
        out->lit[d] = all / count - out->change[d] * mean;
        out->length2 += out->change[d] * out->change[d];
    }
}

// How much of the change a particle shows.
static double shown(const Features *f, size_t particle, const Look *look) {
    double sum = 0;
    for (size_t d = 0; d < f->D; d++) sum += ((double)f->row[f->D * particle + d] - look->lit[d]) * look->change[d];
    return sum / look->length2;
}

// What particles show of the shade at them. Some show none, because a light is not found exactly, or because what is in
// sight beside a body stands for what it hides. The look is found once more without those.
static void find_shown(const Features *f, const ShadeGroup *still, const double *shade, Look *look, double *shows) {
    memset(shows, 0, still->count * sizeof *shows);
    find_look(f, still, shade, look);
    for (size_t k = 0; k < still->count && look->length2 > 0; k++)
        shows[k] = shown(f, still->particle[k], look) < shade[k] / 2 ? 0 : shade[k];
    find_look(f, still, shows, look);
    for (size_t k = 0; k < still->count && look->length2 > 0; k++)
        shows[k] = shade[k] > 0 ? fmin(fmax(shown(f, still->particle[k], look), 0), 1) : 0;
}

static bool begin(ShadeMemory memory, const ShadeScene *scene, size_t D, Shadows *out) {
    *out = (Shadows){.count = scene->count,
                     .D = D,
                     .bodies = shade_group(memory, scene, true),
                     .still = shade_group(memory, scene, false),
                     .screen = screen_make(memory),
                     .shown = shade_array(memory, 2 * scene->count, sizeof *out->shown)};
    out->look.lit = shade_array(memory, D, sizeof *out->look.lit);
    out->look.change = shade_array(memory, D, sizeof *out->look.change);
    return !memory.device->failed && out->still.count > 0;
}

Shadows *shadows_find(ShadeMemory memory, const ShadeScene *scene, const double way[3], size_t D, const real *feature) {
    Shadows *s = shade_array(memory, 1, sizeof *s);
    Features features = {D, feature};
    if (!s || !begin(memory, scene, D, s)) return NULL;
    s->spread = shade_spread(scene, &s->bodies);
    if (!(s->spread > 0 && isfinite(s->spread))) return NULL;
    if (!screen_place(&s->screen, way, scene->x, &s->bodies, s->spread, true)) return NULL;
    double *shade = shade_array(memory, s->still.count, sizeof *shade),
           *shows = shade_array(memory, s->still.count, sizeof *shows);
    if (memory.device->failed) return NULL;
    screen_cast(&s->screen, scene->x, &s->bodies);
    screen_shade(&s->screen, scene->x, &s->still, shade);
    find_shown(&features, &s->still, shade, &s->look, shows);
    memset(s->shown, 0, 2 * s->count * sizeof *s->shown);
    for (size_t k = 0; k < s->still.count; k++)
        s->shown[2 * s->still.particle[k]] = shade[k], s->shown[2 * s->still.particle[k] + 1] = shows[k];
    return s->look.length2 > 0 && isfinite(s->look.length2) ? s : NULL;
}

const double *shadows_shown(const Shadows *s) { return s->shown; }

// ---- shadows later

// What a particle shows when the shade at it has changed: a share of what it shows, or of what is left, comes or goes.
static double shows_later(double shows, double before, double after) {
    if (after <= before) return before > 0 ? shows * (after / before) : 0;
    return shows + (1 - shows) * (after - before) / (1 - before);
}

// Adds to `out` (.., D) what the shade of now (still) changes.
static void add_change(const Shadows *s, const ShadeGroup *still, const double *shown, const double *shade, real *out) {
    for (size_t k = 0; k < still->count; k++) {
        size_t i = still->particle[k];
        double by = shows_later(shown[2 * i + 1], shown[2 * i], shade[k]) - shown[2 * i + 1];
        for (size_t d = 0; d < s->D && by != 0; d++) out[s->D * i + d] += (real)(by * s->look.change[d]);
    }
}

const real *shadows_change(Tape *tape, Shadows *s, const real *moved) {
    double *shade = tape_context(tape, (s->still.count + 1) * sizeof *shade);
    real *out = tape_context(tape, s->D * s->count * sizeof *out);
    if (tape->device->failed) return NULL;
    screen_cast(&s->screen, moved, &s->bodies);
    screen_shade(&s->screen, moved, &s->still, shade);
    add_change(s, &s->still, s->shown, shade, out);
    return out;
}

void shadows_cast(ShadeMemory memory, Shadows *s, const ShadeScene *scene, const double *shown, real *feature) {
    ShadeGroup bodies = shade_group(memory, scene, true), still = shade_group(memory, scene, false);
    double *shade = shade_array(memory, still.count, sizeof *shade), way[3], spread = s->spread;
    memcpy(way, s->screen.way, sizeof way);
    if (memory.device->failed) return;
    if (!screen_holds(&s->screen, scene->x, &bodies) &&
        !screen_place(&s->screen, way, scene->x, &bodies, spread, false))
        return;
    screen_cast(&s->screen, scene->x, &bodies);
    screen_shade(&s->screen, scene->x, &still, shade);
    add_change(s, &still, shown, shade, feature);
}
