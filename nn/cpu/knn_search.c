// SPDX-License-Identifier: Apache-2.0
// k nearest neighbours of each query: nearest boxes first, those beyond the k-th found are skipped. A box's distance is
// computed by the same operations in the same order as a point's, and rounding is monotone, so it never exceeds
// that of a point inside: what is skipped is certain, in floating point too.
//
// Up to eight queries that lie in the same leaf walk the tree together, as one box; at a leaf one vector tells which of
// them need it.
#include "nn/cpu/functions.h"
#include "nn/cpu/knn_tree.h"

#include <omp.h>

enum { CHUNK = 256, STACK = (LANES - 1) * (KNN_MAX_LEVELS + 1) + 1 };

// The k nearest so far, sorted by (d2, id), in whole vectors: entries beyond the k-th are ignored.
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

// Queries that walk together, one a lane.
typedef struct Packet {
    int count, listed; // listed: neighbours wanted, one more than k if a query may find itself
    Lanes q[KNN_MAX_DIMS];
    real low[KNN_MAX_DIMS], high[KNN_MAX_DIMS];
    real limit[LANES]; // distance of the last listed; -1 in empty lanes
    real limit_all;    // the largest of them
    int32_t last_all;  // the largest index of a last listed
    Nearest near[LANES];
} Packet;

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
static void insert_sorted(Nearest *near, real d2, int32_t id) {
    int v = 0;
    while (v + 1 < near->vectors && near->d2[v * LANES + LANES - 1] < d2) v++;
    Lanes *list = (Lanes *)near->d2 + v, *end = (Lanes *)near->d2 + near->vectors, last = lanes_all(-1),
          new_d2 = lanes_all(d2);
    LaneMask *ids = (LaneMask *)near->id + v, last_id = {0}, last_later = {0}, new_id = last_id + id;
    for (; list < end; list++, ids++) {
        Lanes now = *list;
        LaneMask now_id = *ids, later = (now > new_d2) | ((now == new_d2) & (now_id > new_id)),
                 moved = LANES_SHIFT(last_later, later);
        *list = lanes_select(later, lanes_select(moved, LANES_SHIFT(last, now), new_d2), now);
        *ids = (later & ((moved & LANES_SHIFT(last_id, now_id)) | (~moved & new_id))) | (~later & now_id);
        last = now;
        last_id = now_id;
        last_later = later;
    }
}

static inline void nearest_insert(Nearest *near, real d2, int32_t id) {
    if (near->k > 1) insert_sorted(near, d2, id);
    else near->d2[0] = d2, near->id[0] = id;
}

// Distances from q to the eight boxes that stand at `low`, with `high` `dims` rows further.
static inline Lanes box_distances(int dims, const real *q, const real *low) {
    Lanes sum = {0}, zero = {0};
    for (int d = 0; d < dims; d++) {
        Lanes x = lanes_all(q[d]);
        Lanes e = lanes_max(lanes_max(lanes_load(low + d * LANES) - x, x - lanes_load(low + (dims + d) * LANES)), zero);
        sum += e * e;
    }
    return sum;
}

// Distances from the packet's box to eight boxes.
static inline Lanes packet_distances(int dims, const Packet *p, const real *low) {
    Lanes sum = {0}, zero = {0};
    for (int d = 0; d < dims; d++) {
        Lanes e = lanes_max(
            lanes_max(lanes_load(low + d * LANES) - p->high[d], p->low[d] - lanes_load(low + (dims + d) * LANES)),
            zero);
        sum += e * e;
    }
    return sum;
}

// Bit i: query i may find a neighbour in the leaf whose box stands in lane `lane` of the group at `low`.
static inline unsigned queries_that_need(int dims, const Packet *p, const real *low) {
    Lanes sum = {0}, zero = {0};
    for (int d = 0; d < dims; d++) {
        Lanes e = lanes_max(lanes_max(low[d * LANES] - p->q[d], p->q[d] - low[(dims + d) * LANES]), zero);
        sum += e * e;
    }
    return lanes_less_equal(sum, lanes_load(p->limit));
}

static inline void update_limits(Packet *p) {
    p->limit_all = -1;
    p->last_all = -1;
    for (int i = 0; i < p->count; i++) {
        int32_t last = (int32_t)p->near[i].id[p->listed - 1];
        if (p->limit[i] > p->limit_all) p->limit_all = p->limit[i];
        if (last > p->last_all) p->last_all = last;
    }
}

// Returns the number of queries that looked at the leaf.
static inline int visit_leaf(const KnnTree *tree, int dims, size_t leaf, Packet *p) {
    const real *x = tree->leaf + leaf * (size_t)dims * LANES;
    const int32_t *id = tree->id + leaf * LANES;
    unsigned needed = queries_that_need(dims, p, tree->box[0] + leaf / LANES * 2 * (size_t)dims * LANES + leaf % LANES);
    for (unsigned queries = needed; queries; queries &= queries - 1) {
        int i = __builtin_ctz(queries);
        real q[KNN_MAX_DIMS];
        for (int d = 0; d < dims; d++) q[d] = p->q[d][i];
        Lanes d2 = knn_point_distances(dims, q, x);
        Nearest *near = &p->near[i];
        for (unsigned bits = lanes_at_most(d2, p->limit[i]); bits; bits &= bits - 1) {
            int lane = __builtin_ctz(bits);
            if (!nearest_takes(near, d2[lane], id[lane])) continue;
            nearest_insert(near, d2[lane], id[lane]);
            p->limit[i] = nearest_limit(near);
        }
    }
    if (needed) update_limits(p);
    return __builtin_popcount(needed);
}

static inline bool packet_needs(const Packet *p, real d2, int32_t first) {
    return d2 < p->limit_all || (d2 == p->limit_all && first < p->last_all);
}

static inline bool branch_after(Branch a, real d2, int32_t first) {
    return a.d2 < d2 || (a.d2 == d2 && a.first < first);
}

// Puts the members of a group that may hold a neighbour on the stack, nearest on top; returns the stack's new size.
static inline int open_group(const KnnTree *tree, int dims, Branch group, const Packet *p, Branch *stack, int size) {
    size_t g = group.number;
    Lanes d2 = packet_distances(dims, p, tree->box[group.level] + g * 2 * (size_t)dims * LANES);
    const int32_t *first = tree->first[group.level] + g * LANES;
    int bottom = size;
    for (unsigned bits = lanes_at_most(d2, p->limit_all); bits; bits &= bits - 1) {
        int lane = __builtin_ctz(bits), at = size++;
        for (; at > bottom && branch_after(stack[at - 1], d2[lane], first[lane]); at--) stack[at] = stack[at - 1];
        stack[at] = (Branch){d2[lane], first[lane], group.level - 1, (uint32_t)(g * LANES) + (uint32_t)lane};
    }
    return size;
}

// Returns how often a query looked at a leaf. `dims` is a constant in each caller, so that loops over it unroll.
static inline size_t search(const KnnTree *tree, int dims, Packet *p) {
    Branch stack[STACK];
    size_t looks = 0;
    stack[0] = (Branch){0, 0, tree->levels - 1, 0};
    for (int size = 1; size > 0;) {
        Branch top = stack[--size];
        if (!packet_needs(p, top.d2, top.first)) continue;
        if (top.level < 0) looks += (size_t)visit_leaf(tree, dims, top.number, p);
        else size = open_group(tree, dims, top, p, stack, size);
    }
    return looks;
}

static size_t search_dims(const KnnTree *tree, Packet *p) {
    switch (tree->dims) {
    case 3: return search(tree, 3, p);
    case 4: return search(tree, 4, p);
    case 5: return search(tree, 5, p);
    case 6: return search(tree, 6, p);
    default: return search(tree, 7, p);
    }
}

// The k-th neighbour of query i is no further than that of the packet's previous last query, `far2`, plus the distance
// between the two queries. The margin covers rounding.
static real limit_from(const real *last, real far2, int dims, const Packet *p, int i) {
    real way2 = 0;
    for (int d = 0; d < dims; d++) way2 += (p->q[d][i] - last[d]) * (p->q[d][i] - last[d]);
    real sum = real_sqrt(far2) + real_sqrt(way2);
    return sum * sum * (real)(1 + 1e-5) + (real)1e-37;
}

// Loads the next queries; `far2` is infinite where there is no former packet. known2: of each query, or NULL.
static void packet_fill(Packet *p, const KnnTree *tree, const KnnArgs *a, const int32_t *query, int count,
                        const real *known2, const real *last, real far2) {
    p->count = count;
    for (int d = 0; d < tree->dims; d++) {
        real low = INFINITY, high = -INFINITY;
        for (int i = 0; i < LANES; i++) {
            real x = knn_coordinate(a->query, a->query_extra, a->extra, (size_t)query[i < count ? i : 0], (size_t)d);
            p->q[d][i] = x;
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        p->low[d] = low;
        p->high[d] = high;
    }
    for (int i = 0; i < LANES; i++) {
        p->limit[i] = i < count ? limit_from(last, far2, tree->dims, p, i) : -1;
        if (i < count && known2 && known2[query[i]] < p->limit[i]) p->limit[i] = known2[query[i]];
        if (i < count) nearest_clear(&p->near[i], p->limit[i]);
    }
    update_limits(p);
}

// A query's own point is left out of its list, which holds one more for that.
static void write_answer(const KnnArgs *a, size_t query, const Nearest *near) {
    int32_t self = a->self ? a->self[query] : -1, *index = a->index + query * (size_t)a->k;
    real *distance2 = a->distance2 ? a->distance2 + query * (size_t)a->k : NULL;
    int before = 0;
    while (before < a->k && near->id[before] != self) before++;
    for (int part = 0; part < 2; part++) { // before and behind the own point
        int first = part ? before : 0, last = part ? a->k : before;
        for (int i = first; i < last; i++)
            index[i] = near->id[i + part] == INT32_MAX ? -1 : (int32_t)near->id[i + part];
        for (int i = first; distance2 && i < last; i++)
            distance2[i] = near->id[i + part] == INT32_MAX ? (real)INFINITY : near->d2[i + part];
    }
}

// Queries in the order in which they are answered.
typedef struct Queries {
    KnnRows all; // of the scene
    size_t count;
    int32_t *order; // (count) rows
    uint32_t *home; // leaf of each, in that order
    real *known2;   // (queries of all scenes) how far the answer is at most, squared; or NULL
} Queries;

// Answers `count` queries, those with the same home leaf together; returns how often one looked at a leaf.
static size_t answer_chunk(const KnnTree *tree, const KnnArgs *a, const Queries *queries, size_t first, size_t count,
                           Packet *p) {
    const int32_t *order = queries->order + first;
    const uint32_t *home = queries->home + first;
    real last[KNN_MAX_DIMS] = {0}, far2 = INFINITY;
    size_t looks = 0;
    for (size_t i = 0; i < count;) {
        int n = 1;
        while (n < LANES && i + (size_t)n < count && home[i + (size_t)n] == home[i]) n++;
        packet_fill(p, tree, a, order + i, n, queries->known2, last, far2);
        looks += search_dims(tree, p);
        for (int j = 0; j < n; j++) write_answer(a, (size_t)order[i + (size_t)j], &p->near[j]);
        for (int d = 0; d < tree->dims; d++) last[d] = p->q[d][n - 1];
        far2 = p->limit[n - 1];
        i += (size_t)n;
    }
    return looks;
}

// The leaf that a walk down along the nearest boxes ends in.
static uint32_t home_leaf(const KnnTree *tree, const KnnArgs *a, size_t query) {
    real q[KNN_MAX_DIMS];
    for (int d = 0; d < tree->dims; d++) q[d] = knn_coordinate(a->query, a->query_extra, a->extra, query, (size_t)d);
    uint32_t number = 0;
    for (int level = tree->levels - 1; level >= 0; level--) {
        Lanes d2 = box_distances(tree->dims, q, tree->box[level] + (size_t)number * 2 * (size_t)tree->dims * LANES);
        number = number * LANES + (uint32_t)lanes_first_least(d2);
    }
    return number;
}

// Queries in the order of their home leaves (counting sort), and those leaves in the same order, so that each packet
// finds the tree in the cache and starts from its predecessor's distance. `listed`: those that are asked, or NULL for
// all. False without memory.
static bool order_queries(Device *device, const KnnTree *tree, const KnnArgs *a, const int32_t *listed, Queries *out) {
    bool same_rows = out->all.begin == tree->begin && out->all.count == tree->points;
    if (!listed && a->query == tree->point && same_rows) { // the queries are the points
        memcpy(out->order, tree->id, out->count * sizeof *out->order);
        for (size_t i = 0; i < out->count; i++) out->home[i] = (uint32_t)(i / LANES);
        return true;
    }
    uint32_t *unsorted = device_scratch_bytes(device, out->count * sizeof *unsorted);
    uint32_t *place = device_scratch_bytes(device, (tree->leaves + 2) * sizeof *place);
    if (!unsorted || !place) return false;
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < out->count; i++)
        unsorted[i] = home_leaf(tree, a, listed ? (size_t)listed[i] : out->all.begin + i);
    memset(place, 0, (tree->leaves + 2) * sizeof *place);
    for (size_t i = 0; i < out->count; i++) place[unsorted[i] + 1]++;
    for (size_t leaf = 0; leaf < tree->leaves; leaf++) place[leaf + 1] += place[leaf];
    for (size_t i = 0; i < out->count; i++) {
        uint32_t to = place[unsorted[i]]++;
        out->order[to] = listed ? listed[i] : (int32_t)(out->all.begin + i);
        out->home[to] = unsorted[i];
    }
    return true;
}

// Answers the queries whose guesses suffice; returns the number of the others, which are `listed`.
static size_t try_guesses(Device *device, const KnnTree *tree, const KnnArgs *a, real *known2, int32_t *listed) {
    size_t left = 0;
    CPU_FN(knn_guess)(device, tree, a, known2);
    for (size_t i = 0; i < a->queries; i++)
        if (known2[i] >= 0) listed[left++] = (int32_t)i;
    return left;
}

static void search_scene(Device *device, const KnnTree *tree, const KnnArgs *a, KnnRows rows) {
    bool guessed = a->guess && tree->around;
    int listed = a->k + (a->self ? 1 : 0);
    size_t looks = 0, each = LANES * nearest_bytes(listed), room = guessed ? rows.count : 0;
    Queries q = {.all = rows, .count = rows.count};
    q.order = device_scratch_bytes(device, rows.count * sizeof *q.order);
    q.home = device_scratch_bytes(device, rows.count * sizeof *q.home);
    real *known2 = device_scratch(device, room + 1);
    int32_t *left = device_scratch_bytes(device, (room + 1) * sizeof *left);
    char *lists = device_scratch_bytes(device, (size_t)device->threads * each);
    if (!q.order || !q.home || !lists || !known2 || !left) return;
    if (guessed) {
        q.known2 = known2;
        q.count = try_guesses(device, tree, a, known2, left);
    }
    if (!order_queries(device, tree, a, guessed ? left : NULL, &q)) return;
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) reduction(+ : looks)
    for (size_t c = 0; c < chunk_count(q.count, CHUNK); c++) {
        Packet packet = {.listed = listed};
        char *memory = lists + (size_t)omp_get_thread_num() * each;
        for (int i = 0; i < LANES; i++)
            nearest_place(&packet.near[i], listed, memory + (size_t)i * nearest_bytes(listed));
        looks += answer_chunk(tree, a, &q, c * CHUNK, chunk_size(q.count, CHUNK, c), &packet);
    }
    if (a->visited) *a->visited += looks * LANES;
}

void CPU_FN(knn_search)(Device *device, const KnnIndex *index, const KnnArgs *a) {
    const KnnTree *trees = index->tree;
    for (size_t scene = 0; scene < index->scenes && !device->failed; scene++) {
        KnnRows rows = knn_rows(a->query_scenes.first, a->queries, scene);
        ArenaMark mark = arena_mark(&device->scratch);
        if (rows.count) search_scene(device, &trees[scene], a, rows);
        arena_release(&device->scratch, mark);
    }
}
