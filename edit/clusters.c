// SPDX-License-Identifier: Apache-2.0
// Connected components of the particles. Two particles are connected if their grid cells are the same or touch.
#include "edit/scene.h"

#include "base/hash.h"
#include "base/union_find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EMPTY UINT64_MAX
enum { AXIS_BITS = 21, AXIS_CELLS = 1 << AXIS_BITS };

// Hash table of the occupied cells.
typedef struct Cells {
    size_t slots, count; // slots: a power of two, at least twice the cells
    uint64_t *key;       // (slots)
    int32_t *number;     // (slots) of the cell
    uint64_t *place;     // (count) key of each cell, in order of insertion
    int32_t *parent;     // (count) of each cell: those that hang together are a set (base/union_find.h)
    int32_t *of;         // (N) cell of each particle; -1: none
} Cells;

static void cells_free(Cells *cells) {
    free(cells->key);
    free(cells->number);
    free(cells->place);
    free(cells->parent);
    free(cells->of);
}

static size_t slot_of(const Cells *cells, uint64_t key) {
    size_t slot = hash_slot(key, cells->slots);
    while (cells->key[slot] != EMPTY && cells->key[slot] != key) slot = (slot + 1) & (cells->slots - 1);
    return slot;
}

static bool cells_create(Cells *cells, size_t N) {
    *cells = (Cells){.slots = 16};
    while (cells->slots < 2 * N) cells->slots *= 2;
    cells->key = malloc(cells->slots * sizeof *cells->key);
    cells->number = malloc(cells->slots * sizeof *cells->number);
    cells->place = malloc((N + 1) * sizeof *cells->place);
    cells->parent = malloc((N + 1) * sizeof *cells->parent);
    cells->of = malloc((N + 1) * sizeof *cells->of);
    if (!cells->key || !cells->number || !cells->place || !cells->parent || !cells->of) return false;
    memset(cells->key, 0xFF, cells->slots * sizeof *cells->key);
    return true;
}

static Status fill_cells(const RolloutSet *now, const Mask *mask, double edge, Cells *cells, Error *err) {
    double low[3] = {INFINITY, INFINITY, INFINITY};
    for (size_t i = 0; i < 3 * now->N; i++)
        if (mask[i / 3]) low[i % 3] = fmin(low[i % 3], now->positions[i]);
    for (size_t i = 0; i < now->N; i++) {
        uint64_t key = 0;
        cells->of[i] = -1;
        for (size_t c = 0; mask[i] && c < 3; c++) {
            // one free cell at each end, so that neighbours exist
            double cell = floor((now->positions[3 * i + c] - low[c]) / edge) + 1;
            if (!(cell < AXIS_CELLS - 1))
                return error_set(err, STATUS_BAD_INPUT,
                                 "link: %g m is too short for a scene of this size: expected at least %g m", edge,
                                 (now->positions[3 * i + c] - low[c]) / (AXIS_CELLS - 4));
            key = key << AXIS_BITS | (uint64_t)cell;
        }
        if (!mask[i]) continue;
        size_t slot = slot_of(cells, key);
        if (cells->key[slot] == EMPTY) {
            cells->key[slot] = key;
            cells->place[cells->count] = key;
            cells->parent[cells->count] = (int32_t)cells->count;
            cells->number[slot] = (int32_t)cells->count++;
        }
        cells->of[i] = cells->number[slot];
    }
    return STATUS_OK;
}

// 13 of the 26 neighbours are enough, because connections are symmetric.
static void connect(Cells *cells) {
    for (size_t i = 0; i < cells->count; i++)
        for (int n = 14; n < 27; n++) {
            int64_t step = ((int64_t)(n / 9 - 1) * AXIS_CELLS + (n / 3 % 3 - 1)) * AXIS_CELLS + (n % 3 - 1);
            size_t slot = slot_of(cells, cells->place[i] + (uint64_t)step);
            if (cells->key[slot] != EMPTY) union_find_join(cells->parent, (int32_t)i, cells->number[slot]);
        }
}

typedef struct Part {
    size_t particles;
    int32_t root;
} Part;

static int by_size(const void *a, const void *b) {
    const Part *x = a, *y = b;
    if (x->particles != y->particles) return x->particles < y->particles ? 1 : -1;
    return (x->root > y->root) - (x->root < y->root); // ties: the component whose first particle comes first
}

// Numbers the components by size, 1 being the largest. Components of fewer than `least` particles get 0.
static Status number_components(Cells *cells, size_t N, size_t least, uint32_t *out, uint32_t *count, Error *err) {
    Part *parts = calloc(cells->count + 1, sizeof *parts);
    uint32_t *rank = calloc(cells->count + 1, sizeof *rank);
    *count = 0;
    if (parts && rank) {
        for (size_t i = 0; i < cells->count; i++) parts[i].root = (int32_t)i;
        for (size_t i = 0; i < N; i++)
            if (cells->of[i] >= 0) parts[union_find_root(cells->parent, cells->of[i])].particles++;
        qsort(parts, cells->count, sizeof *parts, by_size);
        while (*count < cells->count && parts[*count].particles >= least) {
            rank[parts[*count].root] = *count + 1;
            ++*count;
        }
        for (size_t i = 0; i < N; i++)
            out[i] = cells->of[i] < 0 ? 0 : rank[union_find_root(cells->parent, cells->of[i])];
    }
    free(parts);
    free(rank);
    return parts && rank ? STATUS_OK : scene_no_memory(err);
}

// Selects the particles above the floor, or all of them.
static Status exclude_floor(const EditScene *scene, const ClusterOptions *o, const Mask *among, Mask *mask,
                            Error *err) {
    const RolloutSet *now = scene_now(scene);
    double normal[3] = {0, 0, 1}, offset = o->height, within = 0;
    Status status = STATUS_OK;
    if (o->floor && !o->has_height) status = scene_floor(scene, &o->plane, normal, &offset, &within, err);
    for (size_t i = 0; i < now->N; i++) {
        const float *p = now->positions + 3 * i;
        bool above = normal[0] * p[0] + normal[1] * p[1] + normal[2] * p[2] - offset > within;
        mask[i] = (!among || among[i]) && (!o->floor || above);
    }
    return status;
}

Status scene_clusters(const EditScene *scene, const ClusterOptions *options, const Mask *among, uint32_t **out,
                      uint32_t *count, Error *err) {
    const RolloutSet *now = scene_now(scene);
    Cells cells = {0};
    double edge = options->link;
    Mask *mask = malloc(now->N + 1);
    *out = malloc((now->N + 1) * sizeof **out);
    Status status = mask && *out && cells_create(&cells, now->N) ? STATUS_OK : scene_no_memory(err);
    if (status == STATUS_OK && !(edge > 0)) status = scene_median_radius(scene, &edge, err);
    if (status == STATUS_OK) status = exclude_floor(scene, options, among, mask, err);
    if (status == STATUS_OK) status = fill_cells(now, mask, edge, &cells, err);
    if (status == STATUS_OK) {
        connect(&cells);
        status = number_components(&cells, now->N, (size_t)options->least, *out, count, err);
    }
    cells_free(&cells);
    free(mask);
    if (status != STATUS_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
