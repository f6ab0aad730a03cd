// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_scene.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 2, FEWEST_POINTS = 6 };
static const double FIT_SCALE = 0.002; // times X
static const double SURE = 0.5;        // the least fit of a motion that a pixel follows
static const double MARGIN = 0.25;     // between the fits of two motions: the pixel tells them apart

// ---- first labels

// The field's points, with the colour's length; before: where they were one step before.
typedef struct Places {
    const MotionField *field;
    double colour;
    bool before;
} Places;

// Squared distance of a field's point in position and colour, or more than `most` if it is more.
static double place_distance2(const Places *p, size_t j, const real *x, const real *c, double most) {
    const MotionField *f = p->field;
    double d2 = 0;
    for (size_t d = 0; d < 3 && d2 <= most; d++) {
        d2 += squared((double)(f->position[3 * j + d] - (p->before ? f->motion[3 * j + d] : 0) - x[d]));
        d2 += squared(p->colour * (double)f->colour[3 * j + d] - (double)c[d]);
    }
    return d2;
}

// The nearest of the field's points, the first of equals. A guess near to it makes the search short.
static size_t nearest_place(const Places *p, const real *x, const real *c, size_t guess) {
    double best = place_distance2(p, guess, x, c, INFINITY);
    for (size_t j = 0; j < p->field->count; j++) {
        double d2 = place_distance2(p, j, x, c, best);
        if (d2 < best || (d2 == best && j < guess)) best = d2, guess = j;
    }
    return guess;
}

static void label_first(const Places *p, const Bodies *b, Surface *s) {
    size_t near = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->label[i] = LABEL_UNKNOWN;
        if (i >= s->first_still) continue;
        if (p->field->count) near = nearest_place(p, s->x + 3 * i, s->c + 3 * i, near);
        s->label[i] = p->field->count ? b->body[near] : LABEL_STILL;
    }
}

// ---- labels by motion

// 0 to 1: how well a pixel lies in the plane of near ones that stand still, as a floor does that a body uncovers or
// will cover.
static double flush_with_still(const Scene *s, const Surface *from, size_t i) {
    double best = 0;
    for (Walk w = walk_begin(from, from->x + 3 * i); walk_next(&w);) {
        size_t j = (size_t)w.index;
        real apart[3];
        if (from->label[j] != LABEL_STILL) continue;
        for (size_t c = 0; c < 3; c++) apart[c] = from->x[3 * i + c] - from->x[3 * j + c];
        double agree = squared((double)element_dot(from->normal + 3 * i, from->normal + 3 * j));
        double most = squared(agree) * from->flat[i] * from->flat[j];
        if (most <= best) continue;
        double off = (double)element_dot(apart, from->normal + 3 * j);
        best = fmax(best, most / (1 + squared(off / s->scale)));
    }
    return best;
}

// A pixel that changed depth and that this motion takes to a plane that stands still, along which it would slide: floor
// that a body uncovers or will cover.
static bool slides(const Way *w, const Surface *from, size_t i, const Surface *to) {
    real x[3];
    double d2;
    if (i >= from->first_still) return false;
    rigid_place(w->motion, w->centre, from->x + 3 * i, x);
    int32_t j = scene_nearest(to, x, from->c + 3 * i, LABEL_UNKNOWN, &d2);
    if (j < 0 || (size_t)j < to->first_still || to->label[j] != LABEL_STILL) return false;
    double agree = squared(squared((double)element_dot(from->normal + 3 * i, to->normal + 3 * j)));
    return agree * from->flat[i] * to->flat[j] > SURE;
}

// The fit of a pixel under a body's motion, or as part of what stands (LABEL_STILL). `back`: from now to before.
static double label_fit(const Scene *s, const Bodies *b, int32_t label, size_t i, bool back) {
    const Surface *from = back ? &s->now : &s->past, *to = back ? &s->past : &s->now;
    Way w = way_back(label < 0 ? &STANDING : &b->list[label]);
    if (!back) w = way_inverse(&w);
    if (label >= 0 && slides(&w, from, i, to)) return 0;
    double fit = scene_fit(s, &w, from, i, to, label < 0 ? s->still_scale : s->scale);
    return label < 0 ? fmax(fit, flush_with_still(s, from, i)) : fit;
}

// Marks the bodies near to a pixel, which are those near to all pixels of its cell, as seen in this walk.
static void see_bodies(Scene *s, const Surface *from, size_t i) {
    s->walks++;
    for (Walk w = walk_begin(from, from->x + 3 * i); walk_next(&w);)
        if (from->label[w.index] >= 0) s->seen[from->label[w.index]] = s->walks;
}

// Which body's motion a pixel follows, or LABEL_STILL, where that can be told from the others that are seen; else
// LABEL_UNKNOWN.
static int32_t sure_label(Scene *s, const Bodies *b, size_t i, bool back) {
    double best = 0, second = 0;
    int32_t label = LABEL_UNKNOWN;
    for (int32_t k = LABEL_STILL; k < (int32_t)b->count; k++) {
        if (k >= 0 && (s->seen[k] != s->walks || !b->list[k].count)) continue;
        double fit = label_fit(s, b, k, i, back);
        if (fit > best) second = best, best = fit, label = k;
        else if (fit > second) second = fit;
    }
    return best > SURE && best - second > MARGIN ? label : LABEL_UNKNOWN;
}

static double label_distance2(const Surface *s, size_t j, const real *x, const real *c) {
    return squared_distance(s->x + 3 * j, x) + 4 * squared_distance(s->c + 3 * j, c);
}

// The label of the nearest pixel in position and colour whose label is known, else `otherwise`.
static int32_t near_label(const Surface *s, const int32_t *known, size_t i, int32_t otherwise) {
    double best = INFINITY;
    for (Walk w = walk_begin(s, s->x + 3 * i); walk_next(&w);) {
        double d2 = known[w.index] == LABEL_UNKNOWN ? INFINITY
                                                    : label_distance2(s, (size_t)w.index, s->x + 3 * i, s->c + 3 * i);
        if (d2 < best) best = d2, otherwise = known[w.index];
    }
    return otherwise;
}

// Pixels that are not sure take the label of one that is, or keep theirs.
static void label_again(Scene *s, const Bodies *b, bool back) {
    Surface *from = back ? &s->now : &s->past;
    for (size_t p = 0; p < from->count; p++) {
        size_t i = (size_t)from->order[p].index;
        if (p == 0 || from->order[p].key != from->order[p - 1].key) see_bodies(s, from, i);
        s->sure[i] = sure_label(s, b, i, back);
    }
    for (size_t i = 0; i < from->count; i++) {
        int32_t old = from->label[i] == LABEL_UNKNOWN ? LABEL_STILL : from->label[i];
        from->label[i] = s->sure[i] == LABEL_UNKNOWN ? near_label(from, s->sure, i, old) : s->sure[i];
    }
}

// Pixels of bodies that could not be registered take the label of the nearest other pixel. Those far from all others
// stay.
static void join_crumbs(Scene *s, const Bodies *b) {
    Surface *now = &s->now;
    for (size_t i = 0; i < now->count; i++) {
        int32_t label = now->label[i];
        s->sure[i] = label >= 0 && b->list[label].residual <= 0 ? LABEL_UNKNOWN : label;
    }
    for (size_t i = 0; i < now->count; i++)
        if (s->sure[i] == LABEL_UNKNOWN) now->label[i] = near_label(now, s->sure, i, now->label[i]);
}

// ---- all of it

static void register_all(Scene *s, Bodies *b, bool within) {
    for (size_t i = 0; i < b->count; i++)
        if (b->list[i].count) scene_register(s, (int32_t)i, within, &b->list[i]);
}

static void settle(const MotionField *f, Scene *s, Bodies *b) {
    double colour = SURFACE_COLOUR * s->lengths.colour_length;
    s->still_scale = scene_noise(s);
    s->scale = fmax(FIT_SCALE * s->lengths.extent, s->still_scale);
    label_first(&(Places){f, colour, false}, b, &s->now);
    label_first(&(Places){f, colour, true}, b, &s->past);
    register_all(s, b, false);
    for (int round = 0; round < ROUNDS; round++) {
        scene_merge(s, b);
        label_again(s, b, true);
        label_again(s, b, false);
        scene_attach(s, b, true);
        scene_attach(s, b, false);
        register_all(s, b, true);
    }
    if (scene_merge(s, b)) register_all(s, b, true); // in noise, pieces of a body may meet in the last round
    for (size_t i = 0; i < b->count; i++) b->list[i].pixels = b->list[i].count ? scene_count(&s->now, (int32_t)i) : 0;
    scene_merge_bending(s, b);
    join_crumbs(s, b);
}

// The pixel that a point of the surface is, or the nearest one if it was left out; -1: none is near. c: in metres.
static int32_t pixel_of(const Surface *s, const real *x, const real *c) {
    double best = INFINITY;
    int32_t pixel = -1;
    for (Walk w = walk_begin(s, x); walk_next(&w);) {
        double d2 = label_distance2(s, (size_t)w.index, x, c);
        if (d2 < best) best = d2, pixel = w.index;
    }
    return pixel;
}

// The field's points get the labels of their pixels.
static void label_points(const MotionField *f, const Scene *s, Bodies *b) {
    double colour = SURFACE_COLOUR * s->lengths.colour_length;
    for (size_t j = 0; j < b->count; j++) b->list[j].count = 0;
    for (size_t j = 0; j < f->count; j++) {
        real c[3];
        for (size_t d = 0; d < 3; d++) c[d] = (real)(colour * (double)f->colour[3 * j + d]);
        int32_t pixel = pixel_of(&s->now, f->position + 3 * j, c);
        b->body[j] = pixel < 0 ? LABEL_STILL : s->now.label[pixel];
        if (b->body[j] >= 0) b->list[b->body[j]].count++;
    }
}

// Bodies without points go, and those that have few and were not registered.
static bool is_kept(const Body *b) { return b->count && (b->residual > 0 || b->count >= FEWEST_POINTS); }

// Pixels of bodies that go are parts of others or stand still.
static void share_out(const MotionField *f, Scene *s, Bodies *b) {
    scene_leave_crumbs(s, b->count);
    label_points(f, s, b);
    for (size_t i = 0; i < s->now.count; i++)
        if (s->now.label[i] >= 0 && !is_kept(&b->list[s->now.label[i]])) s->now.label[i] = LABEL_STILL;
    scene_attach(s, b, true);
    scene_follow_hues(s, b);
    label_points(f, s, b);
}

// number[label] is the place of each body that is kept, or -1.
static void keep_bodies(Bodies *b, int32_t *number) {
    size_t kept = 0;
    for (size_t j = 0; j < b->count; j++) {
        number[j] = is_kept(&b->list[j]) ? (int32_t)kept : -1;
        if (number[j] >= 0) b->list[kept++] = b->list[j];
    }
    b->count = kept;
}

// Pixels that were left out of the search get the body of one that was not. body: of each pixel of the last frame.
static void label_left_out(const Surface *s, int32_t *body) {
    for (size_t i = s->count; i < s->all; i++) {
        int32_t pixel = pixel_of(s, s->x + 3 * i, s->c + 3 * i);
        if (pixel >= 0) body[s->pixel[i]] = body[s->pixel[pixel]];
    }
}

// body: of each pixel of the last frame.
static void put_labels(const MotionField *f, Scene *s, Bodies *b, int32_t *body) {
    int32_t *number = s->sure;
    share_out(f, s, b);
    keep_bodies(b, number);
    for (size_t j = 0; j < f->count; j++)
        if (b->body[j] >= 0) b->body[j] = number[b->body[j]];
    for (size_t i = 0; i < s->now.count; i++) {
        int32_t label = s->now.label[i];
        if (label >= 0) body[s->now.pixel[i]] = number[label];
        if (label >= 0 && number[label] < 0) s->now.label[i] = LABEL_STILL;
    }
    scene_rest(s, (int32_t)b->count, body);
    label_left_out(&s->now, body);
}

static bool make_scene(const PointCloud *now, const PointCloud *past, size_t bodies, BodyLengths lengths, Scene *s) {
    size_t pixels = now->count + past->count + 1;
    *s = (Scene){.now = surface_make(now->count), .past = surface_make(past->count), .lengths = lengths};
    s->errors = malloc(pixels * sizeof *s->errors);
    s->sure = malloc((pixels + bodies) * sizeof *s->sure);
    s->match = malloc(pixels * sizeof *s->match);
    s->own = malloc((bodies + 1) * sizeof *s->own);
    s->shares = malloc((bodies * bodies + 1) * sizeof *s->shares);
    s->touches = malloc((bodies * bodies + 1) * sizeof *s->touches);
    s->piece = malloc((pixels + bodies) * sizeof *s->piece);
    s->next = malloc(pixels * sizeof *s->next);
    s->reached = malloc(pixels * sizeof *s->reached);
    s->seen = calloc(bodies + 1, sizeof *s->seen);
    s->pixels = malloc((2 * bodies + 1) * sizeof *s->pixels);
    return surface_ready(&s->now) && surface_ready(&s->past) && s->errors && s->sure && s->match && s->own &&
           s->shares && s->touches && s->piece && s->next && s->reached && s->seen && s->pixels;
}

static void free_scene(Scene *s) {
    surface_free(&s->now);
    surface_free(&s->past);
    free(s->errors);
    free(s->sure);
    free(s->match);
    free(s->own);
    free(s->shares);
    free(s->touches);
    free(s->piece);
    free(s->next);
    free(s->reached);
    free(s->seen);
    free(s->pixels);
}

Status bodies_register(const MotionField *f, const PointCloud *now, const PointCloud *past, BodyLengths l,
                       Bodies *bodies, int32_t *body, Error *err) {
    Scene s;
    bool ok = make_scene(now, past, bodies->count, l, &s);
    if (ok) {
        for (size_t i = 0; i < now->count; i++) body[i] = -1;
        s.planes = planes_find(now, l.extent);
        surface_fill(&s.now, now, &s.planes, l);
        surface_fill(&s.past, past, &s.planes, l);
        settle(f, &s, bodies);
        put_labels(f, &s, bodies, body);
    }
    free_scene(&s);
    return ok ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for the pixels of bodies");
}
