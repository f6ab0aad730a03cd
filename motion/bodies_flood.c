// SPDX-License-Identifier: Apache-2.0
// Pieces of pixels that hang together, each found by one flood through a surface's grid.
#include "motion/bodies_scene.h"

#include "base/union_find.h"

#include <math.h>

// Places that are not wanted are of one set with the wanted one behind them, its root. `count`, behind the last, is
// always wanted.
int32_t scene_wanted(int32_t *next, int32_t at) { return union_find_root(next, at); }

void scene_want(const Surface *s, Takes *takes, int32_t *next) {
    for (size_t p = 0; p < s->count; p++) next[p] = (int32_t)p + !takes(s, (size_t)s->order[p].index);
    next[s->count] = (int32_t)s->count;
}

typedef struct Flood {
    const Surface *s;
    const Linking *linking;
    int32_t *next, *reached; // pixels, `count` of them
    size_t count;
} Flood;

// Takes the pixels that are linked to this one out of the grid.
static void reach_from(Flood *f, size_t i) {
    Around around = surface_around(f->s, f->s->x + 3 * i);
    for (int k = 0; k < RUNS; k++) {
        const Run *run = surface_run(f->s, &around, k);
        if (!run) continue;
        for (int32_t p = scene_wanted(f->next, run->first); p < run->last; p = scene_wanted(f->next, p + 1)) {
            int32_t j = f->s->order[p].index;
            if (!f->linking->links(f->s, i, (size_t)j, f->linking)) continue;
            f->next[p] = p + 1;
            f->reached[f->count++] = j;
        }
    }
}

// The piece of the pixel at this place of the grid's order.
static void flood_piece(Flood *f, int32_t at, ScenePiece *piece) {
    int32_t first = f->s->order[at].index;
    f->reached[0] = first, f->count = 1;
    f->next[at] = at + 1;
    for (size_t k = 0; k < f->count; k++) {
        if (f->reached[k] < first) first = f->reached[k];
        reach_from(f, (size_t)f->reached[k]);
    }
    for (size_t k = 0; k < f->count; k++) piece[f->reached[k]].first = first;
}

void scene_flood(Scene *scene, const Surface *s, const Linking *linking) {
    Flood f = {s, linking, scene->next, scene->reached, 0};
    for (size_t i = 0; i < s->count; i++)
        scene->piece[i] = (ScenePiece){.first = (int32_t)i, .beside = -1, .gap2 = INFINITY};
    scene_want(s, linking->takes, f.next);
    for (int32_t at = 0; (at = scene_wanted(f.next, at)) < (int32_t)s->count;) flood_piece(&f, at, scene->piece);
}
