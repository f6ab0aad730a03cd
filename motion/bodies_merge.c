// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_scene.h"

#include "base/union_find.h"

#include <math.h>

static const double EXPLAINS = 0.85; // of the fit of the worse of two motions: the other does as well
static const double GOOD = 0.5;      // no fit that is asked for is worse
static const double BEND = 0.0015;   // times X: motions that differ less agree

// ---- by one motion

static bool *touch(const Scene *s, const Bodies *b, int32_t i, int32_t j) {
    return &s->touches[(size_t)i * b->count + (size_t)j];
}

// Which bodies have pixels that are near to each other in position and colour.
static void find_touches(const Scene *s, const Bodies *b) {
    const Surface *now = &s->now;
    for (size_t k = 0; k < b->count * b->count; k++) s->touches[k] = false;
    for (size_t i = 0; i < now->count; i++) {
        int32_t own = now->label[i];
        if (own < 0) continue;
        for (Walk w = walk_begin(now, now->x + 3 * i); walk_next(&w);) {
            int32_t other = now->label[w.index];
            if (other < 0 || other == own || *touch(s, b, own, other)) continue;
            if (squared_distance(now->x + 3 * (size_t)w.index, now->x + 3 * i) < squared(now->cell) &&
                squared_distance(now->c + 3 * (size_t)w.index, now->c + 3 * i) < squared(now->cell))
                *touch(s, b, own, other) = *touch(s, b, other, own) = true;
        }
    }
}

// How well the motion of j explains the pixels of i, as a share of how well each motion explains its own. A small
// body's own motion follows its noise, so the fit of the larger one's is enough.
static double share_explained(const Scene *s, const Bodies *b, int32_t i, int32_t j) {
    if (!*touch(s, b, i, j)) return 0;
    return scene_explained(s, i, &b->list[j]) / fmin(s->own[i], fmax(GOOD, s->own[j]));
}

// Joins a body with one that it touches and whose motion explains it, the best explained first.
// s->shares: of each pair; -1: not known yet.
static bool merge_one(Scene *s, Bodies *b, int32_t *gone, int32_t *kept) {
    double best = EXPLAINS;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            if (i == j || !b->list[i].count || !b->list[j].count || s->own[i] <= 0) continue;
            if (b->list[i].pixels > b->list[j].pixels) continue;
            double *share = s->shares + i * b->count + j;
            if (*share < 0) *share = share_explained(s, b, (int32_t)i, (int32_t)j);
            if (*share > best) best = *share, *gone = (int32_t)i, *kept = (int32_t)j;
        }
    return best > EXPLAINS;
}

// Body `gone` becomes part of `kept`, whose shares must be found again.
static void merge_into(Scene *s, Bodies *b, int32_t gone, int32_t kept) {
    scene_relabel(s, gone, kept);
    for (size_t i = 0; i < b->points; i++)
        if (b->body[i] == gone) b->body[i] = kept;
    b->list[kept].count += b->list[gone].count;
    b->list[gone].count = 0;
    scene_register(s, kept, false, &b->list[kept]);
    s->own[kept] = scene_explained(s, kept, &b->list[kept]);
    for (size_t i = 0; i < b->count; i++) {
        s->shares[i * b->count + (size_t)kept] = s->shares[(size_t)kept * b->count + i] = -1;
        if (*touch(s, b, gone, (int32_t)i)) *touch(s, b, kept, (int32_t)i) = *touch(s, b, (int32_t)i, kept) = true;
    }
}

bool scene_merge(Scene *s, Bodies *b) {
    int32_t gone = 0, kept = 0;
    bool merged = false;
    for (size_t i = 0; i < b->count * b->count; i++) s->shares[i] = -1;
    find_touches(s, b);
    for (size_t i = 0; i < b->count; i++) s->own[i] = scene_explained(s, (int32_t)i, &b->list[i]);
    for (; merge_one(s, b, &gone, &kept); merged = true) merge_into(s, b, gone, kept);
    return merged;
}

// ---- by motions that agree where they meet

// Of the pixels of body `i` beside `j`: how many, and the share at which both motions agree. Flat pieces slide, so
// agreement is across the surface alone.
static double agreement(const Scene *s, const Bodies *b, int32_t i, int32_t j, size_t *beside) {
    const Surface *now = &s->now;
    double agree = 0;
    *beside = 0;
    for (size_t p = 0; p < now->count; p++) {
        double d2;
        real d[3];
        if (now->label[p] != i) continue;
        int32_t q = scene_nearest(now, now->x + 3 * p, now->c + 3 * p, j, &d2);
        if (q < 0 || d2 > squared(now->cell)) continue;
        way_difference(&b->list[i], &b->list[j], now->x + 3 * p, d);
        agree += fabs((double)element_dot(d, now->normal + 3 * p)) < BEND * s->lengths.extent;
        ++*beside;
    }
    return *beside ? agree / (double)*beside : 0;
}

// Where they meet their motions agree, along much of the smaller one's pixels.
static bool bend_together(const Scene *s, const Bodies *b, size_t i, size_t j) {
    size_t beside;
    if (i == j || !b->list[i].pixels || b->list[i].pixels > b->list[j].pixels) return false;
    if (agreement(s, b, (int32_t)i, (int32_t)j, &beside) < 0.5) return false;
    return (double)beside >= 0.15 * (double)b->list[i].pixels;
}

// The larger body is the root.
static void find_bending(const Scene *s, const Bodies *b, int32_t *parent) {
    for (size_t i = 0; i < b->count; i++) parent[i] = (int32_t)i;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            int32_t x = union_find_root(parent, (int32_t)i), y = union_find_root(parent, (int32_t)j);
            if (x == y || !bend_together(s, b, i, j)) continue;
            bool first = b->list[x].pixels > b->list[y].pixels;
            parent[first ? y : x] = first ? x : y;
        }
}

void scene_merge_bending(Scene *s, Bodies *b) {
    int32_t *parent = s->sure;
    find_bending(s, b, parent);
    for (size_t i = 0; i < b->count; i++) {
        int32_t x = union_find_root(parent, (int32_t)i);
        if (x == (int32_t)i) continue;
        scene_relabel(s, (int32_t)i, x);
        b->list[i].count = b->list[i].pixels = 0;
        b->list[x].bends = true;
    }
    for (size_t i = 0; i < b->count; i++)
        if (b->list[i].bends && b->list[i].pixels) scene_register(s, (int32_t)i, true, &b->list[i]);
}
