// SPDX-License-Identifier: Apache-2.0
// Pieces of one hue of what is in none of the large planes: of bodies, and bodies at rest.
#include "motion/bodies_scene.h"

#include <math.h>

enum { FEWEST_PIXELS = 24, CRUMB = 12 }; // of a body at rest; pieces with fewer than CRUMB pixels go to others
static const double LINK = 0.02;         // times X: pixels of a piece are so near to each other, or half a cell
static const double REACH = 2;           // links: crumbs are so near to their piece
static const double AS_WELL = 0.5;       // of the fit under their own motion
static const double HUE = 5;             // lengths of colour: what a hue counts, which shading does not change
static const double DARK = 0.1;          // the sum of colours whose hue counts half

// Squared difference of two hues. A colour of 1 is `unit` long.
static double hue_gap2(const real *a, const real *b, double unit) {
    double sum_a = DARK * unit, sum_b = DARK * unit, sum = 0;
    for (int c = 0; c < 3; c++) sum_a += (double)a[c], sum_b += (double)b[c];
    for (int c = 0; c < 3; c++) sum += squared((double)a[c] / sum_a - (double)b[c] / sum_b);
    return squared(HUE * unit) * sum;
}

static bool stands_out(const Surface *s, size_t i) { return s->outside[i]; }

static bool is_of_hue(const Surface *s, size_t i, size_t j, const Linking *l) {
    double d2 = surface_apart2(s, i, j);
    return d2 < l->most2 && d2 + hue_gap2(s->c + 3 * i, s->c + 3 * j, l->unit) < l->most2;
}

static void count_pieces(const Surface *s, Takes *takes, ScenePiece *piece) {
    for (size_t i = 0; i < s->count; i++)
        if (takes(s, i)) piece[piece[i].first].count++;
}

// The piece of the nearest pixel of a piece that is no crumb, or that of the pixel.
static int32_t larger_piece(const Surface *s, size_t i, Takes *takes, double most2, ScenePiece *piece) {
    int32_t out = piece[i].first;
    for (Walk w = walk_begin(s, s->x + 3 * i); walk_next(&w);) {
        size_t j = (size_t)w.index;
        int32_t of = piece[w.index].first;
        double d2 = surface_apart2(s, i, j);
        if (d2 < most2 && takes(s, j) && piece[of].count >= CRUMB) most2 = d2, out = of;
    }
    return out;
}

// of: the piece of each pixel, named by its first one; -1 for those that are not taken.
static void find_pieces(Scene *s, double link, Takes *takes, int32_t *of) {
    const Surface *now = &s->now;
    double unit = SURFACE_COLOUR * s->lengths.colour_length, reach = REACH * link;
    ScenePiece *piece = s->piece;
    scene_flood(s, now, &(Linking){takes, is_of_hue, squared(link), unit});
    count_pieces(now, takes, piece);
    for (size_t i = 0; i < now->count; i++) {
        of[i] = takes(now, i) ? piece[i].first : -1;
        if (of[i] >= 0 && piece[of[i]].count < CRUMB) of[i] = larger_piece(now, i, takes, squared(reach), piece);
    }
}

// ---- pieces of bodies

// The pixels of a piece that have one label are a run of `items`.
static size_t sort_runs(const Surface *now, const int32_t *of, Keyed *items) {
    size_t count = 0;
    for (size_t i = 0; i < now->count; i++)
        if (of[i] >= 0)
            items[count++] = (Keyed){(uint64_t)of[i] << 32 | (uint32_t)(now->label[i] - LABEL_STILL), (int32_t)i};
    choose_sort(items, count);
    return count;
}

// The label that more than half of a piece's pixels have, in `beside`.
static void find_majorities(const Surface *now, const Keyed *items, size_t count, ScenePiece *piece) {
    for (size_t i = 0; i < now->count; i++) piece[i] = (ScenePiece){.beside = LABEL_STILL};
    for (size_t k = 0; k < count; k++) piece[items[k].key >> 32].count++;
    for (size_t first = 0, last; first < count; first = last) {
        ScenePiece *p = &piece[items[first].key >> 32];
        for (last = first + 1; last < count && items[last].key == items[first].key;) last++;
        if (2 * (last - first) > p->count) p->beside = now->label[items[first].index];
    }
}

// Whether these pixels follow the motion of a body as well as that of their label.
static bool may_follow(const Scene *s, const Bodies *b, int32_t label, const Keyed *items, size_t count) {
    int32_t own = s->now.label[items[0].index];
    Way to = way_back(&b->list[label]), as_now = way_back(own < 0 ? &STANDING : &b->list[own]);
    double moved = 0, stood = 0;
    for (size_t k = 0; k < count; k++) {
        moved += scene_fit(s, &to, &s->now, (size_t)items[k].index, &s->past, s->scale);
        stood += scene_fit(s, &as_now, &s->now, (size_t)items[k].index, &s->past, s->scale);
    }
    return moved >= AS_WELL * stood;
}

void scene_unite(Scene *s, const Bodies *b) {
    Surface *now = &s->now;
    double cell = now->cell, link = fmax(LINK * s->lengths.extent, cell / REACH);
    ScenePiece *piece = s->piece;
    if (s->planes.count == 0) return;
    surface_grid(now, REACH * link);
    find_pieces(s, link, stands_out, s->sure);
    Keyed *items = now->order;
    size_t count = sort_runs(now, s->sure, items);
    find_majorities(now, items, count, piece);
    for (size_t first = 0, last; first < count; first = last) {
        int32_t to = piece[items[first].key >> 32].beside;
        for (last = first + 1; last < count && items[last].key == items[first].key;) last++;
        if (to < 0 || to == now->label[items[first].index] || !may_follow(s, b, to, items + first, last - first))
            continue;
        for (size_t k = first; k < last; k++) now->label[items[k].index] = to;
    }
    surface_grid(now, cell);
}

// ---- bodies at rest

// Numbers of pixels, and whether one is far from the middle.
static void measure_pieces(const Scene *s, const int32_t *of, ScenePiece *piece) {
    const Surface *now = &s->now;
    for (size_t i = 0; i < now->count; i++) piece[i] = (ScenePiece){.first = -1};
    for (size_t i = 0; i < now->count; i++)
        if (of[i] >= 0) piece_add(&piece[of[i]], now->x + 3 * i);
    for (size_t i = 0; i < now->count; i++)
        if (of[i] >= 0) piece[of[i]].wide |= piece_is_far(&piece[of[i]], now->x + 3 * i, s->lengths.extent);
}

// The bodies' pieces, the largest first, in `items`.
static size_t choose_pieces(size_t count, const ScenePiece *piece, Keyed *items) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (piece[i].count >= FEWEST_PIXELS && !piece[i].wide)
            items[found++] = (Keyed){(uint64_t)(count - piece[i].count), (int32_t)i};
    choose_sort(items, found);
    return found < BODIES_RESTING ? found : BODIES_RESTING;
}

void scene_rest(Scene *s, int32_t first, int32_t *body) {
    Surface *now = &s->now;
    ScenePiece *piece = s->piece;
    double cell = now->cell, link = fmax(LINK * s->lengths.extent, cell / REACH);
    int32_t *of = s->sure;
    if (s->planes.count == 0) return;
    surface_grid(now, REACH * link);
    find_pieces(s, link, scene_is_free, of);
    measure_pieces(s, of, piece);
    size_t count = choose_pieces(now->count, piece, now->order);
    for (size_t k = 0; k < count; k++) piece[now->order[k].index].first = first + (int32_t)k;
    for (size_t i = 0; i < now->count; i++)
        if (of[i] >= 0 && piece[of[i]].first >= 0) body[now->pixel[i]] = piece[of[i]].first;
    surface_grid(now, cell);
}
