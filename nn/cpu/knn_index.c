// SPDX-License-Identifier: Apache-2.0
// Builds the tree of knn_tree.h. A set of points is halved three times across its longest side, which gives the eight members
// of a group; members are whole subtrees but for the last, so that no pointers are needed. Boxes follow from the leaves
// upwards. Halves are tasks: each works on its own part of one array, so any number of threads builds the same tree.
#include "nn/cpu/functions.h"
#include "nn/cpu/knn_tree.h"

enum { TASK_POINTS = 4096 };

typedef struct Item {
    real key; // the coordinate that the set is halved along
    int32_t id;
} Item;

static inline bool item_before(Item a, Item b) { return (a.key < b.key) | ((a.key == b.key) & (a.id < b.id)); }

static Item median_of_three(Item a, Item b, Item c) {
    if (item_before(b, a)) {
        Item swap = a;
        a = b;
        b = swap;
    }
    return item_before(c, a) ? a : item_before(c, b) ? c : b;
}

// The `middle` smallest items first, in any order. Items differ from each other, so each round drops the pivot at least.
static void select_items(Item *items, size_t count, size_t middle) {
    uint32_t random = 12345;
    while (count > 1 && middle > 0 && middle < count) {
        Item pick[3];
        for (int i = 0; i < 3; i++) pick[i] = items[((uint64_t)(random = random * 1664525u + 1013904223u) * count) >> 32];
        Item pivot = median_of_three(pick[0], pick[1], pick[2]);
        size_t below = 0; // no branch in this loop: half of them would be mispredicted
        for (size_t i = 0; i < count; i++) {
            Item now = items[i];
            items[i] = items[below];
            items[below] = now;
            below += item_before(now, pivot);
        }
        if (below >= middle) {
            count = below;
        } else {
            items += below;
            count -= below;
            middle -= below;
            // The pivot is among the rest and its smallest: put it first and go on without it.
            size_t at = 0;
            while (items[at].id != pivot.id) at++;
            items[at] = items[0];
            items[0] = pivot;
            items++;
            count--;
            middle--;
        }
    }
}

static size_t longest_side(const KnnArgs *a, const Item *items, size_t count) {
    size_t longest = 0, dims = 3 + a->extra;
    real length = -1;
    for (size_t d = 0; d < dims; d++) {
        real low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            real x = knn_coordinate(a->point, a->point_extra, a->extra, (size_t)items[i].id, d);
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        if (high - low > length) {
            length = high - low;
            longest = d;
        }
    }
    return longest;
}

// Orders `count` items so that each run of `part` is one member; `part` becomes an eighth when one member is left.
static void split(const KnnArgs *a, Item *items, size_t count, size_t part) {
    while (count <= part && part > LANES) part /= LANES;
    if (count <= part) return;
    size_t members = chunk_count(count, part), left = (members + 1) / 2 * part, side = longest_side(a, items, count);
    for (size_t i = 0; i < count; i++) items[i].key = knn_coordinate(a->point, a->point_extra, a->extra, (size_t)items[i].id, side);
    select_items(items, count, left);
#pragma omp task if (count > TASK_POINTS)
    split(a, items, left, part);
    split(a, items + left, count - left, part);
}

static bool sort_points(Device *device, const KnnArgs *a, const KnnTree *tree, int32_t *order) {
    ArenaMark mark = arena_mark(&device->scratch);
    Item *items = device_scratch_bytes(device, a->points * sizeof *items);
    if (!items) return false;
    size_t part = LANES;
    for (int level = 0; level < tree->levels; level++) part *= LANES;
    for (size_t i = 0; i < a->points; i++) items[i] = (Item){0, (int32_t)i};
#pragma omp parallel num_threads(a->points > TASK_POINTS ? device->threads : 1)
#pragma omp single
    split(a, items, a->points, part);
    for (size_t i = 0; i < a->points; i++) order[i] = items[i].id;
    arena_release(&device->scratch, mark);
    return true;
}

static bool allocate(Device *device, Arena *memory, KnnTree *tree) {
    tree->leaves = chunk_count(tree->points, LANES);
    tree->leaf = arena_array(memory, tree->leaves * (size_t)tree->dims * LANES, sizeof *tree->leaf);
    tree->id = arena_array(memory, tree->leaves * LANES, sizeof *tree->id);
    bool ok = tree->leaf && tree->id;
    for (size_t members = tree->leaves; ok && (tree->levels == 0 || members > 1); tree->levels++) {
        members = members ? chunk_count(members, LANES) : 1; // no points: one empty group
        CHECK(tree->levels < KNN_MAX_LEVELS);
        tree->groups[tree->levels] = members;
        tree->box[tree->levels] = arena_array(memory, members * 2 * (size_t)tree->dims * LANES, sizeof(real));
        tree->first[tree->levels] = arena_array(memory, members * LANES, sizeof(int32_t));
        ok = tree->box[tree->levels] && tree->first[tree->levels];
    }
    if (!ok) device_fail(device, STATUS_FAILED, "out of memory for the neighbour search among %zu points", tree->points);
    return ok;
}

static void fill_leaf(const KnnArgs *a, const KnnTree *tree, const int32_t *order, size_t leaf) {
    size_t dims = (size_t)tree->dims;
    real *x = tree->leaf + leaf * dims * LANES;
    for (size_t lane = 0; lane < LANES; lane++) {
        size_t place = leaf * LANES + lane;
        bool there = place < a->points;
        tree->id[place] = there ? order[place] : INT32_MAX;
        for (size_t d = 0; d < dims; d++)
            x[d * LANES + lane] = there ? knn_coordinate(a->point, a->point_extra, a->extra, (size_t)order[place], d) : (real)INFINITY;
    }
}

// Box and smallest index of member `m` of level 0 (a leaf) or above (a group), into lane m % 8 of group m / 8.
static void fill_member(const KnnTree *tree, int level, size_t m) {
    size_t dims = (size_t)tree->dims, below = level == 0 ? tree->leaves : tree->groups[level - 1];
    real *low = tree->box[level] + m / LANES * 2 * dims * LANES + m % LANES, *high = low + dims * LANES;
    for (size_t d = 0; d < dims; d++) {
        low[d * LANES] = INFINITY;
        high[d * LANES] = -INFINITY;
    }
    tree->first[level][m] = INT32_MAX;
    if (m >= below) return;
    const real *from = level == 0 ? tree->leaf + m * dims * LANES : tree->box[level - 1] + m * 2 * dims * LANES;
    const int32_t *ids = level == 0 ? tree->id + m * LANES : tree->first[level - 1] + m * LANES;
    for (size_t i = 0; i < LANES; i++) {
        if (ids[i] == INT32_MAX) continue;
        if (ids[i] < tree->first[level][m]) tree->first[level][m] = ids[i];
        for (size_t d = 0; d < dims; d++) {
            real a = from[d * LANES + i], b = level == 0 ? a : from[(dims + d) * LANES + i];
            if (a < low[d * LANES]) low[d * LANES] = a;
            if (b > high[d * LANES]) high[d * LANES] = b;
        }
    }
}

void CPU_FN(knn_index)(Device *device, Arena *memory, const KnnArgs *a, KnnIndex *index) {
    KnnTree *tree = arena_alloc(memory, sizeof *tree);
    if (tree) *tree = (KnnTree){.point = a->point, .dims = 3 + (int)a->extra, .points = a->points};
    if (!tree || !allocate(device, memory, tree)) {
        device_fail(device, STATUS_FAILED, "out of memory for a neighbour search");
        return;
    }
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *order = device_scratch_bytes(device, a->points * sizeof *order);
    if (!order || !sort_points(device, a, tree, order)) return;
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < tree->leaves; i++) fill_leaf(a, tree, order, i);
    for (int level = 0; level < tree->levels; level++) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
        for (size_t m = 0; m < tree->groups[level] * LANES; m++) fill_member(tree, level, m);
    }
    arena_release(&device->scratch, mark);
    index->tree = tree;
}
