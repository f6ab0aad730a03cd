// SPDX-License-Identifier: Apache-2.0
#include "nn/choose.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_LEVEL = -8, LAST_LEVEL = 64, LEVELS = LAST_LEVEL - FIRST_LEVEL + 1, NESTING = 4, CELL_BITS = 21 };
#define EMPTY UINT64_MAX // not a cell: cells have 63 bits
enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, FEW = 32, AHEAD = 32 };

static bool before(Keyed a, Keyed b) { return a.key < b.key || (a.key == b.key && a.index < b.index); }

static void sort_few(Keyed *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        Keyed item = items[i];
        size_t at = i;
        for (; at > 0 && before(item, items[at - 1]); at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

static int compare_index(const void *a, const void *b) {
    int32_t x = ((const Keyed *)a)->index, y = ((const Keyed *)b)->index;
    return x < y ? -1 : x > y;
}

static int digit_of(Keyed item, int shift) { return (int)(item.key >> shift & (DIGITS - 1)); }

// Sorts items that agree in the bits of the key above `shift` + 8: into place by the next eight bits (each item moves
// once), then each digit's items apart.
static void sort_digits(Keyed *items, size_t count, int shift) {
    size_t next[DIGITS] = {0}, end[DIGITS], first = 0;
    if (count <= FEW) {
        sort_few(items, count);
        return;
    }
    if (shift < 0) { // equal keys
        qsort(items, count, sizeof *items, compare_index);
        return;
    }
    for (size_t i = 0; i < count; i++) next[digit_of(items[i], shift)]++;
    for (int d = 0; d < DIGITS; d++) {
        end[d] = first + next[d];
        next[d] = first;
        first = end[d];
    }
    for (int d = 0; d < DIGITS; d++)
        while (next[d] < end[d]) {
            Keyed item = items[next[d]];
            for (int to = digit_of(item, shift); to != d; to = digit_of(item, shift)) {
                Keyed other = items[next[to]];
                items[next[to]++] = item;
                item = other;
            }
            items[next[d]++] = item;
        }
    for (int d = 0; d < DIGITS; d++) {
        size_t begin = d ? end[d - 1] : 0;
        if (end[d] > begin + 1) sort_digits(items + begin, end[d] - begin, shift - DIGIT_BITS);
    }
}

void choose_sort(Keyed *items, size_t count) { sort_digits(items, count, 64 - DIGIT_BITS); }

void voxel_table_free(VoxelTable *table) {
    free(table->slots);
    *table = (VoxelTable){0};
}

static Status reserve(VoxelTable *table, size_t voxels, Error *err) {
    size_t capacity = 64;
    while (capacity < 2 * voxels) capacity *= 2;
    if (capacity <= table->capacity) return STATUS_OK;
    voxel_table_free(table);
    table->slots = malloc(capacity * sizeof *table->slots);
    if (!table->slots) return error_set(err, STATUS_FAILED, "out of memory for %zu voxels", capacity);
    table->capacity = capacity;
    return STATUS_OK;
}

// The cells of AHEAD items or fewer: floor(x / edge) of the three coordinates in 21 bits each. Cells beyond +-2^20
// share the outermost.
static void pack_cells(const Keyed *items, size_t count, const real *position, double edge, uint64_t *out) {
    const double limit = 1 << (CELL_BITS - 1);
    double place[3 * AHEAD] = {0};
    int32_t cell[3 * AHEAD];
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < 3; c++) place[3 * i + c] = (double)position[3 * (size_t)items[i].index + c];
    for (size_t k = 0; k < 3 * AHEAD; k++) { // all of them, as vectors
        double at = place[k] / edge;
        at = at < -limit ? -limit : at > limit - 1 ? limit - 1 : at;
        int32_t towards = (int32_t)at;
        cell[k] = towards - ((double)towards > at) + (1 << (CELL_BITS - 1)); // down, without a call of floor
    }
    for (size_t i = 0; i < count; i++)
        out[i] =
            (uint64_t)cell[3 * i] << 2 * CELL_BITS | (uint64_t)cell[3 * i + 1] << CELL_BITS | (uint64_t)cell[3 * i + 2];
}

// False when the cell is already there.
static bool take_cell(VoxelTable *table, uint64_t cell) {
    size_t slot = hash_slot(cell, table->capacity);
    while (table->slots[slot] != EMPTY && table->slots[slot] != cell) slot = (slot + 1) & (table->capacity - 1);
    bool is_new = table->slots[slot] == EMPTY;
    table->slots[slot] = cell;
    return is_new;
}

// The number of voxels that the items occupy, counted up to `enough`. With `keep` the first item of each voxel is moved
// to the front: items are sorted, so these have the smallest keys. Cells are computed ahead, to prefetch their slots.
static size_t count_voxels(VoxelTable *table, Keyed *items, size_t count, const real *position, double edge,
                           size_t enough, bool keep) {
    size_t occupied = 0;
    memset(table->slots, 0xff, table->capacity * sizeof *table->slots); // EMPTY
    for (size_t first = 0; first < count && occupied < enough; first += AHEAD) {
        uint64_t cells[AHEAD];
        size_t n = count - first < AHEAD ? count - first : AHEAD;
        pack_cells(items + first, n, position, edge, cells);
        for (size_t i = 0; i < n; i++) __builtin_prefetch(&table->slots[hash_slot(cells[i], table->capacity)], 1);
        for (size_t i = 0; i < n && occupied < enough; i++) {
            if (!take_cell(table, cells[i])) continue;
            if (keep) items[occupied] = items[first + i];
            occupied++;
        }
    }
    return occupied;
}

static double level_edge(double extent, int level) { return extent * exp2(-level / (double)NESTING); }

typedef struct LevelSearch {
    VoxelTable *table;
    Keyed *items;
    size_t count, n;
    const real *position;
    double extent;
    signed char known[LEVELS]; // 0 not counted, 1 too few voxels, 2 enough
} LevelSearch;

static bool level_is_enough(LevelSearch *s, int level) {
    signed char *known = &s->known[level - FIRST_LEVEL];
    if (!*known)
        *known =
            count_voxels(s->table, s->items, s->count, s->position, level_edge(s->extent, level), s->n, false) >= s->n
                ? 2
                : 1;
    return *known == 2;
}

// The first level with enough voxels, searched from `level`. Every fourth level nests in the one before, so it has no
// fewer voxels: when none of the four levels below is enough, none further down is.
static int find_level(LevelSearch *s, int level) {
    while (level < LAST_LEVEL && !level_is_enough(s, level)) level++;
    for (int below = 1; below <= NESTING && level - below >= FIRST_LEVEL; below++)
        if (level_is_enough(s, level - below)) {
            level -= below;
            below = 0;
        }
    return level;
}

Status choose_voxel(VoxelTable *table, Keyed *items, size_t count, size_t n, const real *position, double extent,
                    size_t *chosen, Error *err) {
    *chosen = count;
    if (count <= n) return STATUS_OK;
    Status status = reserve(table, n, err); // no more are counted
    if (status != STATUS_OK) return status;
    table->level = find_level(&(LevelSearch){table, items, count, n, position, extent, {0}}, table->level);
    *chosen = count_voxels(table, items, count, position, level_edge(extent, table->level), n, true);
    return STATUS_OK;
}
