// SPDX-License-Identifier: Apache-2.0
// Builds the tree of knn_tree.h. A set of points is halved three times across its longest side, which gives the eight
// members of a group; members are whole subtrees but for the last, so that no pointers are needed. Boxes follow from
// the leaves upwards. Halves are tasks: each works on its own part of one array, so any number of threads builds the
// same tree.
#include "nn/cpu/functions.h"
#include "nn/cpu/knn_tree.h"
#include "nn/device_memory.h"

enum { TASK_POINTS = 4096, SAMPLE = 25, SAMPLE_POINTS = 256 };

// A point on its way to its leaf: one vector.
typedef struct Item {
    real x[KNN_MAX_DIMS];
    LaneBits id;
} Item;

typedef struct Pivot {
    real key;
    LaneBits id;
} Pivot;

static inline bool before(real key, LaneBits id, Pivot pivot) {
    return (key < pivot.key) | ((key == pivot.key) & (id < pivot.id));
}

// A pivot near rank `middle`, a little on its far side seen from the nearer end: the next round then works on a small
// rest.
static Pivot choose_pivot(const Item *items, size_t count, size_t middle, size_t side, uint32_t *random) {
    Pivot sample[SAMPLE];
    size_t n = count < SAMPLE_POINTS ? 3 : SAMPLE;
    for (size_t i = 0; i < n; i++) {
        *random = *random * 1664525u + 1013904223u;
        const Item *pick = &items[(uint64_t)*random * count >> 32];
        size_t at = i;
        for (; at > 0 && before(pick->x[side], pick->id, sample[at - 1]); at--) sample[at] = sample[at - 1];
        sample[at] = (Pivot){pick->x[side], pick->id};
    }
    if (n < SAMPLE) return sample[1];
    size_t rank = middle * SAMPLE / count;
    return sample[2 * middle <= count ? rank + 2 : rank < 2 ? 0 : rank - 2];
}

// The `middle` smallest items along `side` first, in any order. Items differ, so each round drops the pivot at least.
static void select_items(Item *items, size_t count, size_t middle, size_t side) {
    uint32_t random = 12345;
    while (count > 1 && middle > 0 && middle < count) {
        Pivot pivot = choose_pivot(items, count, middle, side, &random);
        size_t below = 0; // no branch in this loop: half of them would be mispredicted
        for (size_t i = 0; i < count; i++) {
            Item now = items[i];
            items[i] = items[below];
            items[below] = now;
            below += before(now.x[side], now.id, pivot);
        }
        if (below >= middle) {
            count = below;
            continue;
        }
        // The pivot is the smallest of the rest: put it first and go on without it.
        size_t at = below;
        while (items[at].id != pivot.id) at++;
        Item swap = items[at];
        items[at] = items[below];
        items[below] = swap;
        items += below + 1;
        count -= below + 1;
        middle -= below + 1;
    }
}

static size_t longest_side(const Item *items, size_t count, size_t dims) {
    Lanes low = lanes_load(items[0].x), high = low;
    for (size_t i = 1; i < count; i++) {
        Lanes x = lanes_load(items[i].x); // the last lane is the index, unused here
        low = lanes_min(low, x);
        high = lanes_max(high, x);
    }
    Lanes length = high - low;
    size_t longest = 0;
    for (size_t d = 1; d < dims; d++)
        if (length[d] > length[longest]) longest = d;
    return longest;
}

// Orders `count` items so that each run of `part` is one member; `part` becomes an eighth when one member is left.
static void split(Item *items, size_t count, size_t part, size_t dims) {
    while (count <= part && part > LANES) part /= LANES;
    if (count <= part) return;
    size_t left = (chunk_count(count, part) + 1) / 2 * part;
    select_items(items, count, left, longest_side(items, count, dims));
#pragma omp task if (count > TASK_POINTS)
    split(items, left, part, dims);
    split(items + left, count - left, part, dims);
}

static void sort_points(Device *device, const KnnArgs *a, const KnnTree *tree, Item *items) {
    size_t part = LANES;
    for (int level = 0; level < tree->levels; level++) part *= LANES;
#pragma omp parallel num_threads(tree->points > TASK_POINTS ? device->threads : 1)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < tree->points; i++) {
            items[i] = (Item){.id = (LaneBits)(tree->begin + i)};
            for (size_t d = 0; d < 3 + a->extra; d++)
                items[i].x[d] = knn_coordinate(a->point, a->point_extra, a->extra, tree->begin + i, d);
        }
#pragma omp single
        split(items, tree->points, part, (size_t)tree->dims);
    }
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
    if (!ok) device_no_memory(device, &memory->source, 0, "the index of a neighbour search");
    return ok;
}

static void fill_leaf(const Item *items, const KnnTree *tree, size_t leaf) {
    size_t dims = (size_t)tree->dims;
    real *x = tree->leaf + leaf * dims * LANES;
    for (size_t lane = 0; lane < LANES; lane++) {
        size_t place = leaf * LANES + lane;
        bool there = place < tree->points;
        tree->id[place] = there ? (int32_t)items[place].id : INT32_MAX;
        for (size_t d = 0; d < dims; d++) x[d * LANES + lane] = there ? items[place].x[d] : (real)INFINITY;
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

// Copies the coordinates of the points around `point`; those that do not exist are infinitely far.
static void fill_around(const KnnTree *tree, const KnnArgs *a, size_t point, const real *distance2) {
    const int32_t *id = tree->around_id + point * KNN_AROUND;
    for (size_t j = 0; j < KNN_AROUND; j++) {
        real *x = tree->around + knn_block_at(tree, point, j / LANES) + j % LANES;
        for (size_t d = 0; d < (size_t)tree->dims; d++)
            x[d * LANES] =
                id[j] < 0 ? (real)INFINITY : knn_coordinate(a->point, a->point_extra, a->extra, (size_t)id[j], d);
    }
    for (size_t b = 0; b < KNN_BLOCKS; b++)
        tree->reach[point * KNN_BLOCKS + b] = real_sqrt(distance2[point * KNN_AROUND + (b + 1) * LANES - 1]);
}

// Lists the points around each; false without memory.
static bool list_around(Device *device, Arena *memory, const KnnIndex *index, const KnnArgs *a) {
    KnnTree *tree = index->tree;
    size_t entries = tree->points * KNN_AROUND;
    tree->around = arena_array(memory, entries * (size_t)tree->dims, sizeof *tree->around);
    tree->around_id = arena_array(memory, entries, sizeof *tree->around_id);
    tree->reach = arena_array(memory, tree->points * KNN_BLOCKS, sizeof *tree->reach);
    real *distance2 = device_scratch(device, entries);
    if (!tree->around || !tree->around_id || !tree->reach || !distance2) return false;
    KnnArgs search = {.queries = tree->points,
                      .query = a->point,
                      .extra = a->extra,
                      .query_extra = a->point_extra,
                      .k = KNN_AROUND,
                      .index = tree->around_id,
                      .distance2 = distance2};
    CPU_FN(knn_search)(device, index, &search);
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < tree->points; i++) fill_around(tree, a, i, distance2);
    return !device->failed;
}

static void build(Device *device, Arena *memory, const KnnArgs *a, KnnTree *tree) {
    if (!allocate(device, memory, tree)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    Item *items = device_scratch_bytes(device, tree->points * sizeof *items);
    if (!items) return;
    sort_points(device, a, tree, items);
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < tree->leaves; i++) fill_leaf(items, tree, i);
    for (int level = 0; level < tree->levels; level++) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
        for (size_t m = 0; m < tree->groups[level] * LANES; m++) fill_member(tree, level, m);
    }
    arena_release(&device->scratch, mark);
}

void CPU_FN(knn_index)(Device *device, Arena *memory, const KnnArgs *a, KnnIndex *index) {
    KnnTree *trees = index->tree = arena_array(memory, index->scenes, sizeof *trees);
    if (!trees) device_no_memory(device, &memory->source, 0, "a neighbour search");
    for (size_t scene = 0; scene < index->scenes && !device->failed; scene++) {
        KnnRows rows = knn_rows(a->point_scenes.first, a->points, scene);
        trees[scene] =
            (KnnTree){.point = a->point, .dims = 3 + (int)a->extra, .begin = rows.begin, .points = rows.count};
        build(device, memory, a, &trees[scene]);
    }
    if (a->guesses && a->points && !device->failed && !list_around(device, memory, index, a))
        device_no_memory(device, &memory->source, 0, "the index of a neighbour search");
}
