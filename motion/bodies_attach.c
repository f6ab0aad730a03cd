// SPDX-License-Identifier: Apache-2.0
// Pieces of pixels: those beside a body that seem to stand still, and those of a body that are far from it.
#include "motion/bodies_scene.h"

#include <math.h>

enum { FEWEST_PIXELS = 12 };        // of a piece whose motion can be told
static const double REACH = 0.04;   // times X: pixels of a piece are so near to each other
static const double AS_WELL = 0.85; // of the fit of what stands still

int32_t scene_piece(ScenePiece *piece, int32_t i) {
    while (piece[i].first != i) i = piece[i].first = piece[piece[i].first].first;
    return i;
}

void piece_join(ScenePiece *piece, size_t i, size_t j) {
    int32_t a = scene_piece(piece, (int32_t)i), b = scene_piece(piece, (int32_t)j);
    if (a != b) piece[a > b ? a : b].first = a > b ? b : a;
}

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

// Links pixel i with those near to it, and finds the nearest pixel of a body.
static void link_pixel(const Surface *s, size_t i, double reach2, ScenePiece *piece) {
    for (Walk w = walk_begin(s, s->x + 3 * i); walk_next(&w);) {
        size_t j = (size_t)w.index;
        bool joins = j < i && scene_is_free(s, j);
        if (!joins && s->label[j] < 0) continue;
        double d2 = gap2(s->x + 3 * i, s->x + 3 * j) + gap2(s->c + 3 * i, s->c + 3 * j);
        if (d2 >= reach2) continue;
        if (!joins) {
            if (d2 < piece[i].gap2) piece[i].gap2 = d2, piece[i].beside = s->label[j];
            continue;
        }
        piece_join(piece, i, j);
    }
}

static void find_pieces(const Surface *s, double reach2, ScenePiece *piece) {
    for (size_t i = 0; i < s->count; i++) piece[i] = (ScenePiece){.first = (int32_t)i, .beside = -1, .gap2 = INFINITY};
    for (size_t i = 0; i < s->count; i++)
        if (scene_is_free(s, i)) link_pixel(s, i, reach2, piece);
    for (size_t i = 0; i < s->count; i++) {
        ScenePiece *p = &piece[scene_piece(piece, (int32_t)i)];
        if (piece[i].gap2 < p->gap2) p->gap2 = piece[i].gap2, p->beside = piece[i].beside;
        piece_add(p, s->x + 3 * i);
    }
}

// Sums of fits, and whether a pixel is far from the middle.
static void judge_pieces(const Scene *s, const Bodies *b, const Surface *from, bool back, ScenePiece *piece) {
    const Surface *to = back ? &s->past : &s->now;
    Way still = way_back(&STANDING);
    for (size_t i = 0; i < from->count; i++) {
        ScenePiece *p = &piece[scene_piece(piece, (int32_t)i)];
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

// Pieces of the pixels of each body, and their sizes.
static void link_bodies(const Surface *s, double reach2, ScenePiece *piece) {
    for (size_t i = 0; i < s->count; i++) piece[i] = (ScenePiece){.first = (int32_t)i};
    for (size_t i = 0; i < s->count; i++)
        for (Walk w = walk_begin(s, s->x + 3 * i); s->label[i] >= 0 && walk_next(&w);) {
            size_t j = (size_t)w.index;
            if (j < i && s->label[j] == s->label[i] && gap2(s->x + 3 * i, s->x + 3 * j) < reach2)
                piece_join(piece, i, j);
        }
    for (size_t i = 0; i < s->count; i++) piece[scene_piece(piece, (int32_t)i)].count++;
}

void scene_leave_crumbs(Scene *s, size_t bodies) {
    Surface *now = &s->now;
    double cell = now->cell, reach = fmax(REACH * s->lengths.extent, cell);
    ScenePiece *piece = s->piece, *of = s->piece + now->count;
    surface_grid(now, reach);
    link_bodies(now, squared(reach), piece);
    measure_bodies(now, bodies, of);
    for (size_t i = 0; i < now->count; i++) {
        int32_t label = now->label[i];
        if (label < 0 || piece[scene_piece(piece, (int32_t)i)].count >= FEWEST_PIXELS) continue;
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
    find_pieces(from, squared(reach), piece);
    judge_pieces(s, b, from, back, piece);
    for (size_t i = 0; i < from->count; i++)
        if (scene_is_free(from, i)) s->sure[i] = joined(&piece[scene_piece(piece, (int32_t)i)]);
        else s->sure[i] = from->label[i];
    for (size_t i = 0; i < from->count; i++) from->label[i] = s->sure[i];
    surface_grid(from, cell);
}
