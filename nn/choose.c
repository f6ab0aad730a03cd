// SPDX-License-Identifier: Apache-2.0
#include "nn/choose.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_LEVEL = -8, LAST_LEVEL = 64, LEVELS = LAST_LEVEL - FIRST_LEVEL + 1, NESTING = 4, CELL_BITS = 21 };

static int compare_keyed(const void *a, const void *b) {
    const Keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void choose_sort(Keyed *items, size_t count) { qsort(items, count, sizeof *items, compare_keyed); }

void voxel_table_free(VoxelTable *table) {
    free(table->cell);
    free(table->item);
    *table = (VoxelTable){0};
}

static Status reserve(VoxelTable *table, size_t points, Error *err) {
    size_t capacity = 64;
    while (capacity < 2 * points) capacity *= 2;
    if (capacity <= table->capacity) return STATUS_OK;
    voxel_table_free(table);
    table->cell = malloc(capacity * sizeof *table->cell);
    table->item = malloc(capacity * sizeof *table->item);
    if (!table->cell || !table->item) {
        voxel_table_free(table);
        return error_set(err, STATUS_FAILED, "out of memory for %zu voxels", capacity);
    }
    table->capacity = capacity;
    return STATUS_OK;
}

// floor(x / a) of the three coordinates in 21 bits each; cells beyond +-2^20 share the outermost.
static uint64_t pack_cell(const real *x, double edge) {
    uint64_t packed = 0;
    for (int c = 0; c < 3; c++) {
        double cell = floor((double)x[c] / edge), limit = 1 << (CELL_BITS - 1);
        cell = cell < -limit ? -limit : cell > limit - 1 ? limit - 1 : cell;
        packed = packed << CELL_BITS | (uint64_t)(int64_t)(cell + limit);
    }
    return packed;
}

// The slot of a cell: the one that holds it, else an empty one.
static size_t find_slot(const VoxelTable *table, uint64_t cell) {
    size_t slot = (size_t)((cell * 0x9E3779B97F4A7C15ull) >> 20) & (table->capacity - 1);
    while (table->item[slot] >= 0 && table->cell[slot] != cell) slot = (slot + 1) & (table->capacity - 1);
    return slot;
}

// How many voxels the points occupy; stops at `enough`.
static size_t count_voxels(VoxelTable *table, const Keyed *items, size_t count, const real *position, double edge, size_t enough) {
    size_t occupied = 0;
    memset(table->item, 0xff, table->capacity * sizeof *table->item);
    for (size_t i = 0; i < count && occupied < enough; i++) {
        uint64_t cell = pack_cell(position + 3 * items[i].index, edge);
        size_t slot = find_slot(table, cell);
        if (table->item[slot] >= 0) continue;
        table->item[slot] = (int32_t)i;
        table->cell[slot] = cell;
        occupied++;
    }
    return occupied;
}

// Keeps the first item of each voxel, up to n: items are sorted, so these have the smallest keys.
static size_t keep_first(VoxelTable *table, Keyed *items, size_t count, size_t n, const real *position, double edge) {
    size_t kept = 0;
    memset(table->item, 0xff, table->capacity * sizeof *table->item);
    for (size_t i = 0; i < count && kept < n; i++) {
        uint64_t cell = pack_cell(position + 3 * items[i].index, edge);
        size_t slot = find_slot(table, cell);
        if (table->item[slot] >= 0) continue;
        table->item[slot] = (int32_t)i;
        table->cell[slot] = cell;
        items[kept++] = items[i];
    }
    return kept;
}

static double level_edge(double extent, int level) { return extent * exp2(-level / (double)NESTING); }

typedef struct LevelSearch {
    VoxelTable *table;
    const Keyed *items;
    size_t count, n;
    const real *position;
    double extent;
    signed char known[LEVELS]; // 0 not counted, 1 too few voxels, 2 enough
} LevelSearch;

static bool level_is_enough(LevelSearch *s, int level) {
    signed char *known = &s->known[level - FIRST_LEVEL];
    if (!*known) *known = count_voxels(s->table, s->items, s->count, s->position, level_edge(s->extent, level), s->n) >= s->n ? 2 : 1;
    return *known == 2;
}

// The first level with enough voxels, looked for from `level`. Every fourth level nests in the one before, so it has no
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
    Status status = reserve(table, count, err);
    if (status != STATUS_OK) return status;
    table->level = find_level(&(LevelSearch){table, items, count, n, position, extent, {0}}, table->level);
    *chosen = keep_first(table, items, count, n, position, level_edge(extent, table->level));
    return STATUS_OK;
}
