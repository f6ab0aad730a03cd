// SPDX-License-Identifier: Apache-2.0
#include "nn/choose.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_LEVEL = -8, LAST_LEVEL = 64, CELL_BITS = 21 };

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

Status choose_voxel(VoxelTable *table, Keyed *items, size_t count, size_t n, const real *position, double extent,
                    size_t *chosen, Error *err) {
    *chosen = count;
    if (count <= n) return STATUS_OK;
    Status status = reserve(table, count, err);
    if (status != STATUS_OK) return status;
    double edge = 0;
    for (int j = FIRST_LEVEL; j <= LAST_LEVEL; j++) {
        edge = extent * exp2(-j / 4.0);
        if (count_voxels(table, items, count, position, edge, n) >= n) break;
    }
    *chosen = keep_first(table, items, count, n, position, edge);
    return STATUS_OK;
}
