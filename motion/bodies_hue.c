// SPDX-License-Identifier: Apache-2.0
// Pieces of one hue of what is in none of the large planes: things that move as one, pieces of bodies, bodies at rest.
#include "motion/bodies_scene.h"

#include <math.h>
#include <string.h>

enum { FEWEST_PIXELS = 24, CRUMB = 12 }; // of a body at rest; pieces with fewer than CRUMB pixels go to others
static const double LINK = 0.02;         // times X: pixels of a piece are so near to each other, or half a cell
static const double REACH = 2;           // links: crumbs are so near to their piece
static const double AS_WELL = 0.5;       // of the fit under their own motion
static const double HUE = 5;             // lengths of colour: what a hue counts, which shading does not change
static const double DARK = 0.1;          // the sum of colours whose hue counts half
enum { STARTS = 4 };                     // motions that a thing is tried with
static const double BADLY = 0.5;         // the fit of a pixel that a motion does not explain
static const double BETTER = 0.6;        // of the pixels that standing still does not explain, left by a thing's motion
static const double SLOW = 0.5;          // of the body scale: a slow body moves a thing by less

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

// Numbers of pixels, and whether one is far from the middle.
static void measure_pieces(const Scene *s, const int32_t *of, ScenePiece *piece) {
    const Surface *now = &s->now;
    for (size_t i = 0; i < now->count; i++) piece[i] = (ScenePiece){.first = -1};
    for (size_t i = 0; i < now->count; i++)
        if (of[i] >= 0) piece_add(&piece[of[i]], now->x + 3 * i);
    for (size_t i = 0; i < now->count; i++)
        if (of[i] >= 0) piece[of[i]].wide |= piece_is_far(&piece[of[i]], now->x + 3 * i, s->lengths.extent);
}

// ---- things that move as one

// A piece, shown by pixels of both frames.
typedef struct Thing {
    const int32_t *of; // (pixels of both) the piece that each shows, or -1; those of now first
    int32_t piece;
    int32_t label;    // of a body that has no pixels elsewhere, or LABEL_STILL
    int32_t most;     // body that has more than half of its pixels, now, or LABEL_STILL
    size_t elsewhere; // pixels of that body
} Thing;

// How well a motion explains a thing.
typedef struct Fit {
    double sum;
    size_t badly; // pixels that it does not explain
} Fit;

static Fit thing_fit(const Scene *s, const Thing *t, const Body *by) {
    Way back = way_back(by), forth = way_inverse(&back);
    Fit out = {0};
    for (size_t i = 0; i < s->now.count + s->past.count; i++) {
        bool now = i < s->now.count;
        if (t->of[i] != t->piece) continue;
        double fit = now ? scene_fit(s, &back, &s->now, i, &s->past, s->scale)
                         : scene_fit(s, &forth, &s->past, i - s->now.count, &s->now, s->scale);
        out.sum += fit;
        out.badly += fit < BADLY;
    }
    return out;
}

// The piece of each pixel of before is that of its nearest one of now, if that is of its hue.
static void find_pieces_before(const Scene *s, const int32_t *of, int32_t *before) {
    const Surface *now = &s->now, *past = &s->past;
    double unit = SURFACE_COLOUR * s->lengths.colour_length, most2 = squared(LINK * s->lengths.extent), d2;
    for (size_t i = 0; i < past->count; i++) {
        const real *c = past->c + 3 * i;
        int32_t j = past->outside[i] ? scene_nearest(now, past->x + 3 * i, c, LABEL_UNKNOWN, &d2) : -1;
        before[i] = j >= 0 && hue_gap2(c, now->c + 3 * j, unit) < most2 ? of[j] : -1;
    }
}

// pixels (2, bodies): of each body, now, elsewhere and in the piece.
static void name_thing(const Surface *now, size_t bodies, size_t *pixels, Thing *t) {
    size_t *elsewhere = pixels, *inside = pixels + bodies, count = 0;
    memset(pixels, 0, 2 * bodies * sizeof *pixels);
    for (size_t i = 0; i < now->count; i++) {
        bool shows = t->of[i] == t->piece;
        count += shows;
        if (now->label[i] >= 0) ++*(shows ? &inside[now->label[i]] : &elsewhere[now->label[i]]);
    }
    t->label = t->most = LABEL_STILL;
    for (size_t k = bodies; k-- > 0;) {
        if (elsewhere[k] == 0) t->label = (int32_t)k;
        if (2 * inside[k] > count) t->most = (int32_t)k, t->elsewhere = elsewhere[k];
    }
}

// The bodies whose motions explain a thing best, the best first; returns their number.
static size_t best_starts(const Scene *s, const Bodies *b, const Thing *t, size_t best[STARTS]) {
    double sum[STARTS];
    size_t found = 0;
    for (size_t k = 0; k < b->count; k++) {
        double fit = b->list[k].residual > 0 ? thing_fit(s, t, &b->list[k]).sum : 0;
        size_t at = found;
        for (; at > 0 && sum[at - 1] < fit; at--)
            if (at < STARTS) sum[at] = sum[at - 1], best[at] = best[at - 1];
        if (fit <= 0 || at == STARTS) continue;
        sum[at] = fit, best[at] = k;
        if (found < STARTS) found++;
    }
    return found;
}

// Registers the thing, which has the label of no body, and restores the labels. labels (pixels of both) is used.
static void register_thing(Scene *s, const Thing *t, int32_t label, int32_t *labels, Body *motion) {
    Surface *now = &s->now, *past = &s->past;
    memcpy(labels, now->label, now->count * sizeof *labels);
    memcpy(labels + now->count, past->label, past->count * sizeof *labels);
    for (size_t i = 0; i < now->count; i++)
        if (t->of[i] == t->piece) now->label[i] = label;
    for (size_t i = 0; i < past->count; i++)
        if (t->of[now->count + i] == t->piece) past->label[i] = label;
    scene_register(s, label, true, motion);
    memcpy(now->label, labels, now->count * sizeof *labels);
    memcpy(past->label, labels + now->count, past->count * sizeof *labels);
}

static void label_thing(Surface *now, const Thing *t, int32_t label) {
    for (size_t i = 0; i < now->count; i++)
        if (t->of[i] == t->piece) now->label[i] = label;
}

static void move_thing(Scene *s, Bodies *b, const Thing *t, int32_t *labels) {
    Fit stood = thing_fit(s, t, &STANDING), moved = {0};
    size_t best[STARTS], starts;
    Body motion = STANDING;
    if (stood.badly < CRUMB || t->label < 0) return;
    starts = best_starts(s, b, t, best);
    for (size_t k = 0; k < starts; k++) {
        Body trial = b->list[best[k]];
        register_thing(s, t, (int32_t)b->count, labels, &trial);
        Fit fit = thing_fit(s, t, &trial);
        if (fit.sum > moved.sum) moved = fit, motion = trial;
    }
    if (moved.sum <= 0 || (double)moved.badly > BETTER * (double)stood.badly || moved.badly + CRUMB > stood.badly)
        return;
    b->list[t->label] = motion;
    label_thing(&s->now, t, t->label);
}

// A thing that one body has most of, and few pixels elsewhere.
static void register_whole(Scene *s, Bodies *b, const Thing *t, int32_t *labels) {
    Body *body = &b->list[t->most], trial = *body;
    register_thing(s, t, t->most, labels, &trial);
    if (thing_fit(s, t, &trial).sum > thing_fit(s, t, body).sum) *body = trial;
}

// Whether a body hardly moves the thing's middle.
static bool is_slow(const Scene *s, const Thing *t, const Body *body) {
    const ScenePiece *p = &s->piece[t->piece];
    real middle[3], off[3];
    for (int c = 0; c < 3; c++) middle[c] = (real)(p->middle[c] / (double)p->count);
    way_difference(body, &STANDING, middle, off);
    return (double)element_dot(off, off) < squared(SLOW * s->scale);
}

// A thing that stands still beside a slow body, whose motion explains it as well as that of its neighbours. What slides
// along itself fits standing still better than its own motion, too: a stripe of a body, or a finger that leaves the
// picture. So what a fast body has stays.
static void leave_slow(Scene *s, const Bodies *b, const Thing *t) {
    const Body *body = &b->list[t->most];
    if (is_slow(s, t, body) && thing_fit(s, t, &STANDING).sum > thing_fit(s, t, body).sum)
        label_thing(&s->now, t, LABEL_STILL);
}

// What stands beside slow bodies leaves them first, so that they are registered without it.
static void tell_thing(Scene *s, Bodies *b, bool leaves, Thing *t) {
    name_thing(&s->now, b->count, s->pixels, t);
    bool shared = t->most >= 0 && t->elsewhere >= FEWEST_PIXELS;
    if (leaves != shared) return;
    if (t->most >= 0 && !shared) register_whole(s, b, t, s->next);
    else if (s->piece[t->piece].wide) return; // it may be a table
    else if (shared) leave_slow(s, b, t);
    else move_thing(s, b, t, s->next);
}

// of (pixels of both): the piece of each pixel of now; those of before follow.
static void move_things(Scene *s, Bodies *b, int32_t *of) {
    Surface *now = &s->now;
    ScenePiece *piece = s->piece;
    if (b->count == 0) return;
    measure_pieces(s, of, piece);
    find_pieces_before(s, of, of + now->count);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < now->count; i++)
            if (piece[i].count >= FEWEST_PIXELS) tell_thing(s, b, pass == 0, &(Thing){.of = of, .piece = (int32_t)i});
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

// Overwrites the grid's order.
static void unite(Scene *s, const Bodies *b, const int32_t *of) {
    Surface *now = &s->now;
    ScenePiece *piece = s->piece;
    Keyed *items = now->order;
    size_t count = sort_runs(now, of, items);
    find_majorities(now, items, count, piece);
    for (size_t first = 0, last; first < count; first = last) {
        int32_t to = piece[items[first].key >> 32].beside;
        for (last = first + 1; last < count && items[last].key == items[first].key;) last++;
        if (to < 0 || to == now->label[items[first].index] || !may_follow(s, b, to, items + first, last - first))
            continue;
        for (size_t k = first; k < last; k++) now->label[items[k].index] = to;
    }
}

void scene_follow_hues(Scene *s, Bodies *b) {
    Surface *now = &s->now;
    double cell = now->cell, link = fmax(LINK * s->lengths.extent, cell / REACH);
    if (s->planes.count == 0) return;
    surface_grid(now, REACH * link);
    find_pieces(s, link, stands_out, s->sure);
    surface_grid(now, cell);
    move_things(s, b, s->sure);
    unite(s, b, s->sure);
    surface_grid(now, cell);
}

// ---- bodies at rest

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
