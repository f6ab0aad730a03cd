// SPDX-License-Identifier: Apache-2.0
// k nearest neighbours of each query, a warp to a query: its lanes look at the 32 members of a node at once. Nearest
// boxes come first, those beyond the k-th found are skipped. A box's distance is computed by the same operations in the
// same order as a point's (no fused multiply-add in this file), and rounding is monotone: it never exceeds that of a
// point inside.
//
// What was found is a list of keys (nn/cuda/nearest_list.h), the first 32 in registers. Where many of a leaf's points
// are wanted, as in the first one, they are sorted and merged with the list at once.
#include "nn/cuda/functions.h"
#include "nn/cuda/knn_tree.h"
#include "nn/cuda/nearest_list.h"

constexpr unsigned CLOSED = ~0u; // above the bits of every distance
constexpr int FEW = 8; // so many points of a leaf are taken one by one: 20 instructions each, where merging takes 190

// A warp's query, its coordinates in registers. All loads of a member are on their way before the first is used, since
// their number is a constant.
template <int DIMS> struct Query {
    real x[DIMS];
    int32_t self;
    int k;
    unsigned first_leaf, last_leaf; // of its scene
    uint64_t nearest;               // lane i: the i-th nearest so far
    uint64_t *more;   // (k / 32 rounded up - 1, 32) shared memory: the further ones; each lane has a column
    uint64_t limit;   // what a neighbour must be below: the k-th
    unsigned *opened; // (levels, 32) shared memory: `open_node` of the nodes above the open one
};

// The smaller or the larger of the keys of two lanes.
static __device__ inline uint64_t exchange(uint64_t key, unsigned bit, bool larger) {
    uint64_t other = __shfl_xor_sync(WHOLE_WARP, key, bit);
    return (other < key) == larger ? key : other;
}

// Bitonic sort of a warp's keys, largest first.
static __device__ inline uint64_t sort_down(uint64_t key) {
    for (unsigned run = 2; run <= CUDA_WARP; run *= 2)
        for (unsigned bit = run / 2; bit > 0; bit /= 2)
            key = exchange(key, bit, ((cuda_lane() & bit) == 0) == ((cuda_lane() & run) == 0));
    return key;
}

// The smallest 32 of two lists, smallest first: `up` is sorted so, `down` the other way.
static __device__ inline uint64_t merge(uint64_t up, uint64_t down) {
    uint64_t key = down < up ? down : up;
    for (unsigned bit = CUDA_WARP / 2; bit > 0; bit /= 2) key = exchange(key, bit, (cuda_lane() & bit) != 0);
    return key;
}

template <int DIMS> static __device__ void take(Query<DIMS> *q, uint64_t key) {
    uint64_t row = q->nearest = nearest_insert(q->nearest, &key);
    for (int i = static_cast<int>(CUDA_WARP); i < q->k; i += static_cast<int>(CUDA_WARP)) {
        uint64_t *place = &q->more[i - static_cast<int>(CUDA_WARP) + static_cast<int>(cuda_lane())];
        *place = row = nearest_insert(*place, &key);
    }
    q->limit = __shfl_sync(WHOLE_WARP, row, (q->k - 1) % static_cast<int>(CUDA_WARP));
}

// Each lane has a point of the leaf.
template <int DIMS> static __device__ void look_at_leaf(const KnnTree &tree, size_t leaf, Query<DIMS> *q) {
    real d2 = 0;
    for (int d = 0; d < DIMS; d++) {
        real e = tree.leaf[(leaf * DIMS + static_cast<size_t>(d)) * KNN_WIDTH + cuda_lane()] - q->x[d];
        d2 += e * e;
    }
    int32_t id = tree.id[leaf * KNN_WIDTH + cuda_lane()];
    uint64_t key = id == q->self ? NEAREST_EMPTY : nearest_key(d2, id);
    if (q->k == 1) {
        q->nearest = q->limit = warp_min(key < q->limit ? key : q->limit);
        return;
    }
    unsigned wanted = __ballot_sync(WHOLE_WARP, key < q->limit);
    if (q->k <= static_cast<int>(CUDA_WARP) && __popc(wanted) > FEW) {
        q->nearest = merge(q->nearest, sort_down(key));
        q->limit = __shfl_sync(WHOLE_WARP, q->nearest, q->k - 1);
        return;
    }
    for (; wanted; wanted &= wanted - 1) {
        uint64_t next = __shfl_sync(WHOLE_WARP, key, __ffs(static_cast<int>(wanted)) - 1);
        if (next < q->limit) take(q, next); // the limit may have fallen
    }
}

// Each lane has a member of the node, of level - 1: the bits of its box's squared distance, CLOSED where it has no leaf
// of the query's scene.
template <int DIMS>
static __device__ unsigned open_node(const KnnTree &tree, int level, unsigned node, const Query<DIMS> &q) {
    unsigned member = node << KNN_WIDTH_BITS | cuda_lane();
    int bits = (level - 1) * KNN_WIDTH_BITS; // of a leaf's number below that of the member
    if (member < q.first_leaf >> bits || member > q.last_leaf >> bits) return CLOSED;
    real d2 = 0;
    for (int d = 0; d < DIMS; d++) {
        real low = *knn_box(tree, level - 1, member, d), high = *knn_box(tree, level - 1, member, DIMS + d),
             e = fmaxf(fmaxf(low - q.x[d], q.x[d] - high), 0);
        d2 += e * e;
    }
    return __float_as_uint(d2);
}

// The lane of the open node's nearest member that may hold a neighbour, which is then closed; -1 when there is none.
template <int DIMS>
static __device__ int next_member(const KnnTree &tree, int level, unsigned node, const Query<DIMS> &q,
                                  unsigned *member) {
    unsigned limit = static_cast<unsigned>(q.limit >> 32);
    bool wanted = *member < limit ||
                  (*member == limit && static_cast<unsigned>(tree.first[level - 1][node * KNN_WIDTH + cuda_lane()]) <
                                           static_cast<unsigned>(q.limit)); // ties go to the smaller index
    unsigned nearest = warp_min(wanted ? *member : CLOSED);
    if (nearest == CLOSED) return -1;
    int lane = __ffs(static_cast<int>(__ballot_sync(WHOLE_WARP, wanted && *member == nearest))) - 1;
    if (static_cast<int>(cuda_lane()) == lane) *member = CLOSED;
    return lane;
}

// Whether one node of the level has all leaves of the query's scene.
template <int DIMS> static __device__ bool has_all_leaves(const Query<DIMS> &q, int level) {
    int bits = level * KNN_WIDTH_BITS;
    return q.first_leaf >> bits == q.last_leaf >> bits;
}

// Depth first, from the lowest node that has all leaves; a node's parent follows from its number.
template <int DIMS> static __device__ void walk(const KnnTree &tree, Query<DIMS> *q) {
    int level = 0;
    while (!has_all_leaves(*q, level)) level++;
    unsigned node = q->first_leaf >> level * KNN_WIDTH_BITS;
    if (level == 0) look_at_leaf(tree, node, q);
    unsigned member = level > 0 ? open_node(tree, level, node, *q) : CLOSED;
    while (level > 0) {
        int lane = next_member(tree, level, node, *q, &member);
        unsigned child = node << KNN_WIDTH_BITS | static_cast<unsigned>(lane);
        unsigned *opened = &q->opened[static_cast<size_t>(level) * CUDA_WARP + cuda_lane()]; // read by this lane alone
        if (lane < 0) {
            if (has_all_leaves(*q, level)) return;
            node >>= KNN_WIDTH_BITS;
            level++;
            member = opened[CUDA_WARP];
        } else if (level == 1) {
            look_at_leaf(tree, child, q);
        } else {
            *opened = member;
            node = child;
            member = open_node(tree, --level, node, *q);
        }
    }
}

// Keys of neighbours beyond the first 32.
static __host__ __device__ inline size_t more_keys(int k) {
    return (static_cast<size_t>(k) + CUDA_WARP - 1) / CUDA_WARP * CUDA_WARP - CUDA_WARP;
}
static __host__ __device__ inline size_t room_bytes(int levels, int k) {
    return more_keys(k) * sizeof(uint64_t) + static_cast<size_t>(levels) * CUDA_WARP * sizeof(unsigned);
}

static __device__ void write_key(const KnnArgs &a, size_t query, size_t i, uint64_t key) {
    if (i >= static_cast<size_t>(a.k)) return;
    size_t at = query * static_cast<size_t>(a.k) + i;
    a.index[at] = nearest_id(key);
    if (a.distance2) a.distance2[at] = nearest_distance2(key);
}

// As many queries as points are mostly the points themselves: in the order of the leaves a block's warps read the same
// nodes. A task is then a leaf's place.
template <int DIMS> static __global__ void search(KnnTree tree, KnnArgs a) {
    SHARED(unsigned char, memory);
    bool themselves = a.queries == tree.points;
    size_t more = more_keys(a.k);
    Query<DIMS> q = {};
    q.k = a.k;
    q.more = reinterpret_cast<uint64_t *>(memory + cuda_warp() * room_bytes(tree.levels, a.k));
    q.opened = reinterpret_cast<unsigned *>(q.more + more);
    WARP_LOOP(task, themselves ? tree.nodes[0] * KNN_WIDTH : a.queries) {
        size_t query = themselves ? static_cast<size_t>(tree.id[task]) : task;
        if (query >= a.queries) continue; // no point is there
        for (int d = 0; d < DIMS; d++)
            q.x[d] = knn_coordinate(a.query, a.query_extra, a.extra, query, static_cast<size_t>(d));
        q.self = a.self ? a.self[query] : -1;
        q.nearest = q.limit = NEAREST_EMPTY;
        for (size_t i = cuda_lane(); i < more; i += CUDA_WARP) q.more[i] = NEAREST_EMPTY;
        KnnLeaves leaves = tree.scene[scene_of_row(&a.query_scenes, query, 0)];
        q.first_leaf = leaves.first;
        q.last_leaf = leaves.end - 1;
        if (leaves.first < leaves.end) walk(tree, &q);
        write_key(a, query, cuda_lane(), q.nearest);
        for (size_t i = cuda_lane(); i < more; i += CUDA_WARP) write_key(a, query, CUDA_WARP + i, q.more[i]);
    }
}

void knn_search_cuda(Device *device, const KnnIndex *index, const KnnArgs *a) {
    if (!cuda_op(device, "knn search", index->points, a->queries, a->extra, a->k)) return;
    size_t bytes;
    KnnTree tree = knn_tree_at(index, index->tree, &bytes);
    size_t room = room_bytes(tree.levels, a->k), warps = CUDA_THREADS / CUDA_WARP;
    while (warps > 1 && warps * room > CUDA_USUAL_SHARED) warps /= 2;
    void (*const of_dims[])(KnnTree, KnnArgs) = {search<3>, search<4>, search<5>, search<6>, search<7>};
    static_assert(sizeof of_dims / sizeof *of_dims == KNN_MAX_EXTRA + 1, "a kernel for each number of coordinates");
    cuda_launch(device, "search", cuda_blocks(a->queries, warps), static_cast<unsigned>(warps * CUDA_WARP),
                warps * room, of_dims[index->extra], tree, *a);
}
