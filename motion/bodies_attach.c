// SPDX-License-Identifier: Apache-2.0
// Pieces of pixels: those beside a body that seem to stand still, and those of a body that are far from it.
#include "motion/bodies_scene.h"

#include <math.h>

enum { FEWEST_PIXELS = 12 };        // of a piece whose motion can be told
static const double REACH = 0.04;   // times X: pixels of a piece are so near to each other
static const double AS_WELL = 0.85; // of the fit of what stands still

void piece_add(ScenePiece *piece, const real *x) {
    for (size_t c = 0; c < 3; c++) piece->middle[c] += (double)x[c];
    piece->count++;
}

bool piece_is_far(const ScenePiece *piece, const real *x, double extent) {
    double d2 = 0;
    for (size_t c = 0; c < 3; c++) d2 += squared((double)x[c] - piece->middle[c] / (double)piece->count);
    return d2 > squared(SCENE_WIDEST * extent);
}

bool scene_is_free(const Surface *s, size_t i) { return s->label[i] == LABEL_STILL && s->outside[i]; }

static bool is_near(const Surface *s, size_t i, size_t j, const Linking *l) {
    return surface_apart2(s, i, j) < l->most2;
}

static bool is_of_body(const Surface *s, size_t i) { return s->label[i] >= 0; }

// The body of the pixel of one, of those wanted, that is nearest to pixel i, if it is nearer than the piece's.
static void look_beside(const Surface *s, size_t i, int32_t *next, ScenePiece *p) {
    Around around = surface_around(s, s->x + 3 * i);
    for (int k = 0; k < RUNS; k++) {
        const Run *run = surface_run(s, &around, k);
        if (!run) continue;
        for (int32_t at = scene_wanted(next, run->first); at < run->last; at = scene_wanted(next, at + 1)) {
            size_t j = (size_t)s->order[at].index;
            double d2 = surface_apart2(s, i, j);
            if (d2 < p->gap2) p->gap2 = d2, p->beside = s->label[j];
        }
    }
}

static void find_pieces(Scene *scene, const Surface *s, double reach2) {
    ScenePiece *piece = scene->piece;
    scene_flood(scene, s, &(Linking){scene_is_free, is_near, reach2, 0});
    scene_want(s, is_of_body, scene->next);
    for (size_t i = 0; i < s->count; i++) {
        ScenePiece *p = &piece[piece[i].first];
        if (p->count == 0) p->gap2 = reach2;
        if (scene_is_free(s, i)) look_beside(s, i, scene->next, p);
        piece_add(p, s->x + 3 * i);
    }
}

// Sums of fits, and whether a pixel is far from the middle.
static void judge_pieces(const Scene *s, const Bodies *b, const Surface *from, bool back, ScenePiece *piece) {
    const Surface *to = back ? &s->past : &s->now;
    Way still = way_back(&STANDING);
    for (size_t i = 0; i < from->count; i++) {
        ScenePiece *p = &piece[piece[i].first];
        if (p->beside < 0 || p->count < FEWEST_PIXELS) continue;
        Way w = way_back(&b->list[p->beside]);
        if (!back) w = way_inverse(&w);
        p->wide |= piece_is_far(p, from->x + 3 * i, s->lengths.extent);
        p->moved += scene_fit(s, &w, from, i, to, s->scale);
        p->stood += scene_fit(s, &still, from, i, to, s->scale);
    }
}

// of: all pixels of each body.
static void measure_bodies(const Surface *s, size_t bodies, ScenePiece *of) {
    for (size_t k = 0; k < bodies; k++) of[k] = (ScenePiece){0};
    for (size_t i = 0; i < s->count; i++)
        if (s->label[i] >= 0) piece_add(&of[s->label[i]], s->x + 3 * i);
}

static bool is_of_same(const Surface *s, size_t i, size_t j, const Linking *l) {
    return s->label[i] == s->label[j] && squared_distance(s->x + 3 * i, s->x + 3 * j) < l->most2;
}

// Pieces of the pixels of each body, and their sizes.
static void link_bodies(Scene *scene, double reach2) {
    ScenePiece *piece = scene->piece;
    scene_flood(scene, &scene->now, &(Linking){is_of_body, is_of_same, reach2, 0});
    for (size_t i = 0; i < scene->now.count; i++) piece[piece[i].first].count++;
}

void scene_leave_crumbs(Scene *s, size_t bodies) {
    Surface *now = &s->now;
    double cell = now->cell, reach = fmax(REACH * s->lengths.extent, cell);
    ScenePiece *piece = s->piece, *of = s->piece + now->count;
    surface_grid(now, reach);
    link_bodies(s, squared(reach));
    measure_bodies(now, bodies, of);
    for (size_t i = 0; i < now->count; i++) {
        int32_t label = now->label[i];
        if (label < 0 || piece[piece[i].first].count >= FEWEST_PIXELS) continue;
        if (piece_is_far(&of[label], now->x + 3 * i, s->lengths.extent)) now->label[i] = LABEL_STILL;
    }
    surface_grid(now, cell);
}

// Pixels of bodies in the planes are those of what stands still, but for bodies that mostly lie there.
static void leave_planes(const Bodies *b, Surface *from, ScenePiece *of) {
    for (size_t k = 0; k < b->count; k++) of[k].count = of[k].within = 0;
    for (size_t i = 0; i < from->count; i++)
        if (from->label[i] >= 0) of[from->label[i]].count++, of[from->label[i]].within += !from->outside[i];
    for (size_t i = 0; i < from->count; i++) {
        int32_t label = from->label[i];
        if (label >= 0 && !from->outside[i] && 2 * of[label].within < of[label].count) from->label[i] = LABEL_STILL;
    }
}

// The body that a piece becomes part of, or LABEL_STILL.
static int32_t joined(const ScenePiece *p) {
    return p->beside >= 0 && !p->wide && p->moved >= AS_WELL * p->stood ? p->beside : LABEL_STILL;
}

void scene_attach(Scene *s, const Bodies *b, bool back) {
    Surface *from = back ? &s->now : &s->past;
    double cell = from->cell, reach = fmax(REACH * s->lengths.extent, cell);
    ScenePiece *piece = s->piece;
    if (s->planes.count == 0) return;
    leave_planes(b, from, piece);
    surface_grid(from, reach);
    find_pieces(s, from, squared(reach));
    judge_pieces(s, b, from, back, piece);
    for (size_t i = 0; i < from->count; i++)
        if (scene_is_free(from, i)) s->sure[i] = joined(&piece[piece[i].first]);
        else s->sure[i] = from->label[i];
    for (size_t i = 0; i < from->count; i++) from->label[i] = s->sure[i];
    surface_grid(from, cell);
}
