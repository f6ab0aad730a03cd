// SPDX-License-Identifier: Apache-2.0
#include "model/shadows.h"

#include "base/vector.h"
#include "motion/bodies.h"

#include <math.h>
#include <string.h>

enum {
    SPACINGS = 256,   // particles of bodies whose distance to the next one is measured
    DIRECTIONS = 500, // that are tried first, spread evenly over the sphere
    TURNS = 8,        // directions around the best one that are tried then
    CELLS = 192       // of a screen along a side, at most
};
static const double SPREAD = 1.5;                    // times their spacing: how far particles of bodies shade
static const double FIRST_TURN = 0.06, LAST = 0.004; // radians: how far around the best direction
static const double ROOM = 3;   // times what bodies cover at the present: a screen's width, for they may move away
static const double COARSE = 4; // times the spread: bodies whose screen has larger cells are too far apart
static const double EXPLAINED = 0.45; // least correlation of shadows and darkness

// Particles of bodies, or those that stand still.
typedef struct Group {
    size_t count;
    uint32_t *particle;
} Group;

// A plane across the light, with what bodies cover of it.
typedef struct Screen {
    double way[3], u[3], v[3]; // the light's way, and the axes of the plane
    double low[2], cell;       // metres
    size_t wide, high;         // cells
    double *cover, *first;     // (CELLS + 4, CELLS + 4) share of the light that is taken, and where along its way
} Screen;

// How the features of what stands change in the shade.
typedef struct Look {
    double *lit, *change; // (D) in the light; how it differs in the shade
    double length2;       // of `change`
} Look;

struct Shadows {
    size_t count, D; // particles and features
    Group bodies, still;
    double spread; // of the bodies' particles, metres
    Screen screen;
    double *before, *shows; // (still) the shade at the present, and what particles show of it
    Look look;
};

// While a light is searched.
typedef struct Search {
    Shadows *s;
    const ShadowScene *scene;
    Device *device;
    Arena *memory;
    double *shade; // (still)
} Search;

static void *get(const Search *q, size_t count, size_t size) {
    void *out = arena_array(q->memory, count + 1, size);
    if (!out) device_fail(q->device, STATUS_FAILED, "out of memory for the shadows of %zu particles", q->scene->count);
    return out;
}

// ---- groups

static Group group_of(const Search *q, bool moves) {
    Group out = {.particle = get(q, q->scene->count, sizeof *out.particle)};
    for (size_t i = 0; out.particle && i < q->scene->count; i++)
        if ((q->scene->body[i] >= 0) == moves) out.particle[out.count++] = (uint32_t)i;
    return out;
}

// At most `most`, spread evenly.
static Group thin_out(const Search *q, const Group *group, size_t most) {
    Group out = {group->count < most ? group->count : most, NULL};
    out.particle = get(q, out.count, sizeof *out.particle);
    for (size_t k = 0; out.particle && k < out.count; k++)
        out.particle[k] = group->particle[k * group->count / out.count];
    return out;
}

static void position_of(const real *x, size_t particle, double out[3]) {
    for (size_t c = 0; c < 3; c++) out[c] = (double)x[3 * particle + c];
}

// Median distance of particles of bodies to the nearest other one.
static double spacing_of(const real *x, const Group *bodies) {
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

// ---- what bodies cover

static void add_to_cell(Screen *s, size_t cell, double share, double depth) {
    s->cover[cell] += share;
    s->first[cell] = fmin(s->first[cell], depth);
}

// A screen across the light around bodies, `times` as wide as what they cover. False if they are too far apart.
static bool place_screen(Screen *s, const double way[3], const real *x, const Group *bodies, double spread,
                         double times) {
    double high[2] = {-INFINITY, -INFINITY}, p[3];
    memcpy(s->way, way, sizeof s->way);
    vector_across(way, s->u, s->v);
    s->low[0] = s->low[1] = INFINITY;
    for (size_t k = 0; k < bodies->count; k++) {
        position_of(x, bodies->particle[k], p);
        double at[2] = {vector_dot(s->u, p), vector_dot(s->v, p)};
        for (int c = 0; c < 2; c++) s->low[c] = fmin(s->low[c], at[c]), high[c] = fmax(high[c], at[c]);
    }
    double wide = high[0] - s->low[0], tall = high[1] - s->low[1];
    s->cell = fmax(spread, times * fmax(wide, tall) / CELLS);
    if (!(s->cell <= COARSE * spread)) return false;
    s->wide = (size_t)(times * wide / s->cell) + 4;
    s->high = (size_t)(times * tall / s->cell) + 4;
    s->low[0] -= (times - 1) / 2 * wide + s->cell;
    s->low[1] -= (times - 1) / 2 * tall + s->cell;
    return true;
}

// The light meets the bodies at these places. Those that are not on the screen shade nothing.
static void cast(Screen *s, const real *x, const Group *bodies) {
    for (size_t k = 0; k < s->wide * s->high; k++) s->cover[k] = 0, s->first[k] = INFINITY;
    for (size_t k = 0; k < bodies->count; k++) {
        double p[3];
        position_of(x, bodies->particle[k], p);
        double a = (vector_dot(s->u, p) - s->low[0]) / s->cell, b = (vector_dot(s->v, p) - s->low[1]) / s->cell,
               depth = vector_dot(s->way, p);
        if (!(a >= 0 && b >= 0 && a < (double)(s->wide - 1) && b < (double)(s->high - 1))) continue;
        size_t column = (size_t)a, row = (size_t)b, cell = row * s->wide + column;
        a -= (double)column, b -= (double)row;
        add_to_cell(s, cell, (1 - a) * (1 - b), depth);
        add_to_cell(s, cell + 1, a * (1 - b), depth);
        add_to_cell(s, cell + s->wide, (1 - a) * b, depth);
        add_to_cell(s, cell + s->wide + 1, a * b, depth);
    }
    for (size_t k = 0; k < s->wide * s->high; k++) s->cover[k] = fmin(s->cover[k], 1);
}

static double cell_cover(const Screen *s, size_t cell, double depth) {
    return s->first[cell] < depth ? s->cover[cell] : 0;
}

// The share of the light that does not reach a place.
static double shade_at(const Screen *s, const double *p) {
    double a = (vector_dot(s->u, p) - s->low[0]) / s->cell, b = (vector_dot(s->v, p) - s->low[1]) / s->cell,
           depth = vector_dot(s->way, p);
    if (!(a >= 0 && b >= 0 && a < (double)(s->wide - 1) && b < (double)(s->high - 1))) return 0;
    size_t column = (size_t)a, row = (size_t)b, cell = row * s->wide + column;
    a -= (double)column, b -= (double)row;
    return (1 - b) * ((1 - a) * cell_cover(s, cell, depth) + a * cell_cover(s, cell + 1, depth)) +
           b * ((1 - a) * cell_cover(s, cell + s->wide, depth) + a * cell_cover(s, cell + s->wide + 1, depth));
}

static void shade_all(const Screen *s, const real *x, const Group *still, double *shade) {
    for (size_t k = 0; k < still->count; k++) {
        double p[3];
        position_of(x, still->particle[k], p);
        shade[k] = shade_at(s, p);
    }
}

// ---- the light

// Some of the particles, among which a light is searched.
typedef struct Sample {
    Group bodies, still;
    double spread; // metres
    double *dark;  // (still) darkness, less its mean, of sum of squares 1
} Sample;

static void find_darkness(const ShadowScene *scene, const Group *still, double *dark) {
    double mean = 0, square = 0;
    for (size_t k = 0; k < still->count; k++) {
        const real *colour = scene->colour + 3 * still->particle[k];
        dark[k] = -((double)colour[0] + (double)colour[1] + (double)colour[2]);
        mean += dark[k] / (double)still->count;
    }
    for (size_t k = 0; k < still->count; k++) dark[k] -= mean, square += dark[k] * dark[k];
    for (size_t k = 0; k < still->count; k++) dark[k] *= square > 0 ? 1 / sqrt(square) : 0;
}

static Sample take_sample(const Search *q, size_t bodies, size_t still) {
    Sample out = {.bodies = thin_out(q, &q->s->bodies, bodies), .still = thin_out(q, &q->s->still, still)};
    out.spread = q->s->spread * sqrt((double)q->s->bodies.count / (double)out.bodies.count);
    out.dark = get(q, still, sizeof *out.dark);
    if (!q->device->failed) find_darkness(q->scene, &out.still, out.dark);
    return out;
}

// Correlation of shade and darkness over particles that stand.
static double explains(const Search *q, const double way[3], const Sample *sample) {
    Screen *screen = &q->s->screen;
    double sum = 0, square = 0, with = 0;
    size_t count = sample->still.count;
    if (!place_screen(screen, way, q->scene->x, &sample->bodies, sample->spread, 1)) return 0;
    cast(screen, q->scene->x, &sample->bodies);
    shade_all(screen, q->scene->x, &sample->still, q->shade);
    for (size_t k = 0; k < count; k++)
        sum += q->shade[k], square += q->shade[k] * q->shade[k], with += q->shade[k] * sample->dark[k];
    square -= sum * sum / (double)count;
    return square > 0 ? with / sqrt(square) : 0;
}

static void direction(size_t k, double out[3]) {
    double z = 1 - (2 * (double)k + 1) / DIRECTIONS, angle = acos(-1) * (1 + sqrt(5)) * ((double)k + 0.5);
    out[0] = sqrt(1 - z * z) * cos(angle), out[1] = sqrt(1 - z * z) * sin(angle), out[2] = z;
}

static void turn(const double way[3], double by, int k, double out[3]) {
    double u[3], v[3], angle = 2 * acos(-1) * k / TURNS;
    vector_across(way, u, v);
    for (int c = 0; c < 3; c++) out[c] = way[c] + by * (cos(angle) * u[c] + sin(angle) * v[c]);
    double length = sqrt(vector_dot(out, out));
    for (int c = 0; c < 3; c++) out[c] /= length;
}

// Turns a direction as long as that explains more. Returns how much it explains.
static double look_closer(const Search *q, const Sample *sample, double best[3]) {
    double way[3], from[3], most = explains(q, best, sample);
    for (double by = FIRST_TURN; by > LAST;) {
        bool better = false;
        memcpy(from, best, sizeof from);
        for (int k = 0; k < TURNS; k++) {
            turn(from, by, k, way);
            double now = explains(q, way, sample);
            if (now > most) most = now, better = true, memcpy(best, way, sizeof way);
        }
        if (!better) by /= 2;
    }
    return most;
}

static bool find_light(const Search *q, double best[3]) {
    double most = 0, way[3];
    Sample few = take_sample(q, 256, 512), many = take_sample(q, 1024, 2048);
    if (q->device->failed) return false;
    for (size_t k = 0; k < DIRECTIONS; k++) {
        direction(k, way);
        double now = explains(q, way, &few);
        if (now > most) most = now, memcpy(best, way, sizeof way);
    }
    return most > 0 && look_closer(q, &many, best) >= EXPLAINED;
}

// ---- what particles show of it

// By least squares.
static void find_look(const ShadowScene *scene, const Group *still, const double *shade, Look *out) {
    double mean = 0, spread = 0, count = (double)still->count;
    for (size_t k = 0; k < still->count; k++) mean += shade[k] / count;
    for (size_t k = 0; k < still->count; k++) spread += (shade[k] - mean) * (shade[k] - mean);
    out->length2 = 0;
    for (size_t d = 0; d < scene->D; d++) {
        double all = 0, with = 0;
        for (size_t k = 0; k < still->count; k++) {
            double f = (double)scene->feature[scene->D * still->particle[k] + d];
            all += f, with += (shade[k] - mean) * f;
        }
        out->change[d] = spread > 0 ? with / spread : 0;
        out->lit[d] = all / count - out->change[d] * mean;
        out->length2 += out->change[d] * out->change[d];
    }
}

// How much of the change a particle shows.
static double shown(const ShadowScene *scene, size_t particle, const Look *look) {
    double sum = 0;
    for (size_t d = 0; d < scene->D; d++)
        sum += ((double)scene->feature[scene->D * particle + d] - look->lit[d]) * look->change[d];
    return sum / look->length2;
}

// What particles show of the shade at them. Some show none, because a light is not found exactly, or because what is in
// sight beside a body stands for what it hides. The look is found once more without those.
static void find_shown(const ShadowScene *scene, const Group *still, const double *shade, Look *look, double *shows) {
    find_look(scene, still, shade, look);
    for (size_t k = 0; k < still->count && look->length2 > 0; k++)
        shows[k] = shown(scene, still->particle[k], look) < shade[k] / 2 ? 0 : shade[k];
    find_look(scene, still, shows, look);
    for (size_t k = 0; k < still->count && look->length2 > 0; k++)
        shows[k] = shade[k] > 0 ? fmin(fmax(shown(scene, still->particle[k], look), 0), 1) : 0;
}

static bool find_shadows(const Search *q) {
    Shadows *s = q->s;
    double way[3];
    ArenaMark mark = arena_mark(q->memory);
    bool found = find_light(q, way);
    arena_release(q->memory, mark);
    if (!found || !place_screen(&s->screen, way, q->scene->x, &s->bodies, s->spread, ROOM)) return false;
    cast(&s->screen, q->scene->x, &s->bodies);
    shade_all(&s->screen, q->scene->x, &s->still, s->before);
    find_shown(q->scene, &s->still, s->before, &s->look, s->shows);
    return s->look.length2 > 0 && isfinite(s->look.length2);
}

// False if there are no bodies, or nothing that they could shade.
static bool begin(Search *q) {
    Shadows *s = q->s = get(q, 1, sizeof *s);
    size_t cells = (CELLS + 4) * (CELLS + 4), D = q->scene->D;
    if (!s) return false;
    *s = (Shadows){.count = q->scene->count, .D = D, .bodies = group_of(q, true), .still = group_of(q, false)};
    size_t still = s->still.count;
    q->shade = get(q, still, sizeof *q->shade);
    s->before = get(q, still, sizeof *s->before), s->shows = get(q, still, sizeof *s->shows);
    s->screen.cover = get(q, cells, sizeof *s->screen.cover), s->screen.first = get(q, cells, sizeof *s->screen.first);
    s->look.lit = get(q, D, sizeof *s->look.lit), s->look.change = get(q, D, sizeof *s->look.change);
    if (q->device->failed || !still) return false;
    s->spread = SPREAD * spacing_of(q->scene->x, &s->bodies);
    return s->spread > 0 && isfinite(s->spread);
}

Shadows *shadows_find(Device *device, Arena *memory, const ShadowScene *scene) {
    Search q = {.scene = scene, .device = device, .memory = memory};
    return begin(&q) && find_shadows(&q) ? q.s : NULL;
}

const double *shadows_way(const Shadows *s) { return s->screen.way; }

// ---- shadows later

// What a particle shows when the shade at it has changed: a share of what it shows, or of what is left, comes or goes.
static double shows_later(double shows, double before, double after) {
    if (after <= before) return before > 0 ? shows * (after / before) : 0;
    return shows + (1 - shows) * (after - before) / (1 - before);
}

const real *shadows_change(Tape *tape, Shadows *s, const real *moved) {
    size_t D = s->D;
    double *after = tape_context(tape, (s->still.count + 1) * sizeof *after);
    real *out = tape_context(tape, D * s->count * sizeof *out);
    if (tape->device->failed) return NULL;
    cast(&s->screen, moved, &s->bodies);
    shade_all(&s->screen, moved, &s->still, after);
    for (size_t k = 0; k < s->still.count; k++) {
        double by = shows_later(s->shows[k], s->before[k], after[k]) - s->shows[k];
        for (size_t d = 0; d < D && by != 0; d++) out[D * s->still.particle[k] + d] = (real)(by * s->look.change[d]);
    }
    return out;
}
