// SPDX-License-Identifier: Apache-2.0
// k nearest neighbours of each query: nearest boxes first, those beyond the k-th found are skipped. A box's distance is
// computed by the same operations in the same order as a point's, and rounding is monotone, so it never exceeds
// that of a point inside: what is skipped is certain, in floating point too.
#include "nn/cpu/functions.h"
#include "nn/cpu/knn_tree.h"

#include <omp.h>

enum { CHUNK = 64, STACK = (LANES - 1) * (KNN_MAX_LEVELS + 1) + 1 };

// The k nearest so far, sorted by (d2, id), in whole vectors: what lies beyond the k-th does no harm.
typedef struct Nearest {
    int k, vectors;
    real *d2;
    LaneBits *id;
} Nearest;

typedef struct Branch {
    real d2;
    int32_t first; // smallest index below
    int level;     // -1: a leaf
    uint32_t number;
} Branch;

static size_t nearest_bytes(int k) { return chunk_count((size_t)k, LANES) * (sizeof(Lanes) + sizeof(LaneMask)); }

static void nearest_place(Nearest *near, int k, void *memory) {
    *near = (Nearest){.k = k, .vectors = (int)chunk_count((size_t)k, LANES), .d2 = memory};
    near->id = (LaneBits *)(near->d2 + near->vectors * LANES);
}

static void nearest_clear(Nearest *near, real limit) {
    for (int i = 0; i < near->vectors * LANES; i++) {
        near->d2[i] = limit;
        near->id[i] = INT32_MAX;
    }
}

static inline real nearest_limit(const Nearest *near) { return near->d2[near->k - 1]; }

static inline bool nearest_takes(const Nearest *near, real d2, int32_t id) {
    real limit = nearest_limit(near);
    return d2 < limit || (d2 == limit && id < near->id[near->k - 1]);
}

// Entries that come later move one place on, the new one takes the first such place.
static void nearest_insert(Nearest *near, real d2, int32_t id) {
    int v = 0;
    while (v + 1 < near->vectors && near->d2[v * LANES + LANES - 1] < d2) v++;
    Lanes *list = (Lanes *)near->d2 + v, *end = (Lanes *)near->d2 + near->vectors, last = lanes_all(-1), new_d2 = lanes_all(d2);
    LaneMask *ids = (LaneMask *)near->id + v, last_id = {0}, last_later = {0}, new_id = last_id + id;
    for (; list < end; list++, ids++) {
        Lanes now = *list;
        LaneMask now_id = *ids, later = (now > new_d2) | ((now == new_d2) & (now_id > new_id)), moved = LANES_SHIFT(last_later, later);
        *list = lanes_select(later, lanes_select(moved, LANES_SHIFT(last, now), new_d2), now);
        *ids = (later & ((moved & LANES_SHIFT(last_id, now_id)) | (~moved & new_id))) | (~later & now_id);
        last = now;
        last_id = now_id;
        last_later = later;
    }
}

// Distances from q to the eight points, or boxes, that stand at `low` (and `high`, `dims` rows further).
static inline Lanes point_distances(int dims, const real *q, const real *x) {
    Lanes sum = {0};
    for (int d = 0; d < dims; d++) {
        Lanes e = lanes_load(x + d * LANES) - lanes_all(q[d]);
        sum += e * e;
    }
    return sum;
}

static inline Lanes box_distances(int dims, const real *q, const real *low) {
    Lanes sum = {0}, zero = {0};
    for (int d = 0; d < dims; d++) {
        Lanes x = lanes_all(q[d]);
        Lanes e = lanes_max(lanes_max(lanes_load(low + d * LANES) - x, x - lanes_load(low + (dims + d) * LANES)), zero);
        sum += e * e;
    }
    return sum;
}

static inline void visit_leaf(const KnnTree *tree, int dims, const real *q, size_t leaf, Nearest *near) {
    Lanes d2 = point_distances(dims, q, tree->leaf + leaf * (size_t)dims * LANES);
    const int32_t *id = tree->id + leaf * LANES;
    for (unsigned bits = lanes_at_most(d2, nearest_limit(near)); bits; bits &= bits - 1) {
        int lane = __builtin_ctz(bits);
        if (nearest_takes(near, d2[lane], id[lane])) nearest_insert(near, d2[lane], id[lane]);
    }
}

static inline bool branch_after(Branch a, real d2, int32_t first) { return a.d2 < d2 || (a.d2 == d2 && a.first < first); }

// Puts the members of a group that may hold a neighbour on the stack, nearest on top; returns the stack's new size.
static inline int open_group(const KnnTree *tree, int dims, const real *q, Branch group, const Nearest *near, Branch *stack, int size) {
    size_t g = group.number;
    Lanes d2 = box_distances(dims, q, tree->box[group.level] + g * 2 * (size_t)dims * LANES);
    const int32_t *first = tree->first[group.level] + g * LANES;
    int bottom = size;
    for (unsigned bits = lanes_at_most(d2, nearest_limit(near)); bits; bits &= bits - 1) {
        int lane = __builtin_ctz(bits), at = size++;
        for (; at > bottom && branch_after(stack[at - 1], d2[lane], first[lane]); at--) stack[at] = stack[at - 1];
        stack[at] = (Branch){d2[lane], first[lane], group.level - 1, (uint32_t)(g * LANES) + (uint32_t)lane};
    }
    return size;
}

// Returns the number of leaves visited. `dims` is a constant in each caller, so that loops over it unroll.
static inline size_t search(const KnnTree *tree, int dims, const real *q, Nearest *near) {
    Branch stack[STACK];
    size_t leaves = 0;
    stack[0] = (Branch){0, 0, tree->levels - 1, 0};
    for (int size = 1; size > 0;) {
        Branch top = stack[--size];
        if (!nearest_takes(near, top.d2, top.first)) continue;
        if (top.level < 0) {
            visit_leaf(tree, dims, q, top.number, near);
            leaves++;
        } else {
            size = open_group(tree, dims, q, top, near, stack, size);
        }
    }
    return leaves;
}

static size_t search_dims(const KnnTree *tree, const real *q, Nearest *near) {
    switch (tree->dims) {
    case 3: return search(tree, 3, q, near);
    case 4: return search(tree, 4, q, near);
    case 5: return search(tree, 5, q, near);
    case 6: return search(tree, 6, q, near);
    default: return search(tree, 7, q, near);
    }
}

// The k-th neighbour of q is no further than that of `last` plus the way between them. The margin covers rounding.
static real limit_from(const Nearest *near, int dims, const real *last, const real *q) {
    real way2 = 0;
    for (int d = 0; d < dims; d++) way2 += (q[d] - last[d]) * (q[d] - last[d]);
    real sum = real_sqrt(nearest_limit(near)) + real_sqrt(way2);
    return sum * sum * (real)(1 + 1e-5) + (real)1e-37;
}

// The list holds one more than k when a query has a point of its own, which is left out here.
static void write_answer(const KnnArgs *a, size_t query, const Nearest *near) {
    int32_t self = a->self ? a->self[query] : -1, *index = a->index + query * (size_t)a->k;
    for (int i = 0, from = 0; i < a->k; i++, from++) {
        if (near->id[from] == self) from++;
        bool there = near->id[from] != INT32_MAX;
        index[i] = there ? (int32_t)near->id[from] : -1;
        if (a->distance2) a->distance2[query * (size_t)a->k + (size_t)i] = there ? near->d2[from] : (real)INFINITY;
    }
}

// Answers `count` queries one after the other; returns the number of leaves visited.
static size_t answer_chunk(const KnnTree *tree, const KnnArgs *a, const int32_t *order, size_t count, Nearest *near) {
    real q[2][KNN_MAX_DIMS] = {{0}};
    size_t leaves = 0;
    for (size_t i = 0; i < count; i++) {
        real *now = q[i % 2];
        for (int d = 0; d < tree->dims; d++) now[d] = knn_coordinate(a->query, a->query_extra, a->extra, (size_t)order[i], (size_t)d);
        nearest_clear(near, i == 0 ? (real)INFINITY : limit_from(near, tree->dims, q[(i + 1) % 2], now));
        leaves += search_dims(tree, now, near);
        write_answer(a, (size_t)order[i], near);
    }
    return leaves;
}

// The leaf that a walk down along the nearest boxes ends in.
static uint32_t home_leaf(const KnnTree *tree, const KnnArgs *a, size_t query) {
    real q[KNN_MAX_DIMS];
    for (int d = 0; d < tree->dims; d++) q[d] = knn_coordinate(a->query, a->query_extra, a->extra, query, (size_t)d);
    uint32_t number = 0;
    for (int level = tree->levels - 1; level >= 0; level--) {
        Lanes d2 = box_distances(tree->dims, q, tree->box[level] + (size_t)number * 2 * (size_t)tree->dims * LANES);
        int best = 0;
        for (int lane = 1; lane < LANES; lane++)
            if (d2[lane] < d2[best]) best = lane;
        number = number * LANES + (uint32_t)best;
    }
    return number;
}

// Queries in the order of their home leaves (counting sort), so that each finds the tree in the cache and starts from its
// predecessor's distance. False without memory.
static bool order_queries(Device *device, const KnnTree *tree, const KnnArgs *a, int32_t *order) {
    if (a->query == tree->point && a->queries == tree->points) {
        memcpy(order, tree->id, a->queries * sizeof *order); // the queries are the points
        return true;
    }
    uint32_t *home = device_scratch_bytes(device, a->queries * sizeof *home);
    uint32_t *place = device_scratch_bytes(device, (tree->leaves + 1) * sizeof *place);
    if (!home || !place) return false;
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->queries; i++) home[i] = home_leaf(tree, a, i);
    memset(place, 0, (tree->leaves + 1) * sizeof *place);
    for (size_t i = 0; i < a->queries; i++) place[home[i] + 1]++;
    for (size_t leaf = 0; leaf < tree->leaves; leaf++) place[leaf + 1] += place[leaf];
    for (size_t i = 0; i < a->queries; i++) order[place[home[i]]++] = (int32_t)i;
    return true;
}

void CPU_FN(knn_search)(Device *device, const KnnIndex *index, const KnnArgs *a) {
    const KnnTree *tree = index->tree;
    int listed = a->k + (a->self ? 1 : 0);
    size_t leaves = 0, each = nearest_bytes(listed);
    int32_t *order = device_scratch_bytes(device, a->queries * sizeof *order);
    char *lists = device_scratch_bytes(device, (size_t)device->threads * each);
    if (!order || !lists || !order_queries(device, tree, a, order)) return;
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) reduction(+ : leaves)
    for (size_t c = 0; c < chunk_count(a->queries, CHUNK); c++) {
        Nearest near;
        nearest_place(&near, listed, lists + (size_t)omp_get_thread_num() * each);
        leaves += answer_chunk(tree, a, order + c * CHUNK, chunk_size(a->queries, CHUNK, c), &near);
    }
    if (a->visited) *a->visited += leaves * LANES;
}
