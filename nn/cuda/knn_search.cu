// SPDX-License-Identifier: Apache-2.0
// k nearest neighbours of each query, a warp to a query: its lanes look at the 32 members of a node at once. Nearest
// boxes come first, those beyond the k-th found are skipped. A box's distance is computed by the same operations in the
// same order as a point's (no fused multiply-add in this file), and rounding is monotone: it never exceeds that of a
// point inside.
#include "nn/cuda/functions.h"
#include "nn/cuda/knn_tree.h"

constexpr uint64_t NOTHING = ~uint64_t{0};

// A warp's shared memory.
struct Room {
    uint64_t *member; // (levels, 32) distance << 32 | lane of each member of the open node, NOTHING once looked at
    real *d2;         // (k) the nearest so far, ordered by (d2, id)
    int32_t *id;
};

// A warp's query, its coordinates in registers: loops over them have constant bounds. The limits are those of the last
// on the list: what a neighbour must be below.
struct Query {
    real x[KNN_MAX_DIMS];
    int32_t self;
    int k;
    Room room;
    real limit;
    int32_t last;
};

static __device__ inline bool takes(const Query &q, real d2, int32_t id) {
    return d2 < q.limit || (d2 == q.limit && id < q.last);
}

// Entries that come later move one place on, from the end of the list; the new one takes the first such place.
static __device__ void insert(Query *q, real d2, int32_t id) {
    int place = 0;
    for (int base = (q->k - 1) / static_cast<int>(CUDA_WARP) * static_cast<int>(CUDA_WARP); base >= 0;
         base -= static_cast<int>(CUDA_WARP)) {
        int at = base + static_cast<int>(cuda_lane());
        bool there = at < q->k;
        real here = there ? q->room.d2[at] : 0;
        int32_t here_id = there ? q->room.id[at] : 0;
        bool later = there && (here > d2 || (here == d2 && here_id > id));
        place += __popc(__ballot_sync(WHOLE_WARP, there && !later));
        if (later && at + 1 < q->k) {
            q->room.d2[at + 1] = here;
            q->room.id[at + 1] = here_id;
        }
        __syncwarp();
    }
    if (cuda_lane() == 0) {
        q->room.d2[place] = d2;
        q->room.id[place] = id;
    }
    __syncwarp();
    q->limit = q->room.d2[q->k - 1];
    q->last = q->room.id[q->k - 1];
}

// Each lane has a point of the leaf.
static __device__ void look_at_leaf(const KnnTree &tree, size_t leaf, Query *q) {
    real d2 = 0;
    for (int d = 0; d < KNN_MAX_DIMS && d < tree.dims; d++) {
        real e = tree.leaf[(leaf * static_cast<size_t>(tree.dims) + static_cast<size_t>(d)) * KNN_WIDTH + cuda_lane()] -
                 q->x[d];
        d2 += e * e;
    }
    int32_t id = tree.id[leaf * KNN_WIDTH + cuda_lane()];
    unsigned wanted = __ballot_sync(WHOLE_WARP, id != q->self && takes(*q, d2, id));
    for (; wanted; wanted &= wanted - 1) {
        int lane = __ffs(static_cast<int>(wanted)) - 1;
        real next = __shfl_sync(WHOLE_WARP, d2, lane);
        int32_t next_id = __shfl_sync(WHOLE_WARP, id, lane);
        if (takes(*q, next, next_id)) insert(q, next, next_id); // the limit may have fallen
    }
}

// Each lane has a member of the node, of level - 1.
static __device__ void open_node(const KnnTree &tree, int level, size_t node, const Query &q) {
    size_t member = node * KNN_WIDTH + cuda_lane();
    uint64_t key = NOTHING;
    if (member < tree.nodes[level - 1]) {
        const real *low = tree.box[level - 1] + member * 2 * static_cast<size_t>(tree.dims), *high = low + tree.dims;
        real d2 = 0;
        for (int d = 0; d < KNN_MAX_DIMS && d < tree.dims; d++) {
            real e = fmaxf(fmaxf(low[d] - q.x[d], q.x[d] - high[d]), 0);
            d2 += e * e;
        }
        key = static_cast<uint64_t>(__float_as_uint(d2)) << 32 | cuda_lane();
    }
    q.room.member[static_cast<size_t>(level) * CUDA_WARP + cuda_lane()] = key; // read by this lane alone
}

// The open node's nearest member that may hold a neighbour, which is then closed; NOTHING when there is none.
static __device__ uint64_t next_member(const KnnTree &tree, int level, size_t node, const Query &q) {
    uint64_t *own = &q.room.member[static_cast<size_t>(level) * CUDA_WARP + cuda_lane()], key = *own;
    bool wanted = key != NOTHING && takes(q, __uint_as_float(static_cast<unsigned>(key >> 32)),
                                          tree.first[level - 1][node * KNN_WIDTH + cuda_lane()]);
    uint64_t nearest = warp_min(wanted ? key : NOTHING);
    if (nearest == key) *own = NOTHING;
    return nearest;
}

// Depth first; a node's parent follows from its number.
static __device__ void walk(const KnnTree &tree, Query *q) {
    int level = tree.levels - 1;
    size_t node = 0;
    if (level == 0) look_at_leaf(tree, 0, q);
    else open_node(tree, level, 0, *q);
    while (level > 0 && level < tree.levels) {
        uint64_t member = next_member(tree, level, node, *q);
        size_t child = node * KNN_WIDTH + member % CUDA_WARP;
        if (member == NOTHING) {
            level++;
            node /= KNN_WIDTH;
        } else if (level == 1) {
            look_at_leaf(tree, child, q);
        } else {
            node = child;
            open_node(tree, --level, node, *q);
        }
    }
}

static __host__ __device__ inline size_t room_bytes(int levels, int k) {
    return static_cast<size_t>(levels) * CUDA_WARP * sizeof(uint64_t) +
           ((static_cast<size_t>(k) + 1) / 2 * 2) * (sizeof(real) + sizeof(int32_t));
}

static __device__ Room room_at(unsigned char *memory, int levels, int k) {
    Room room;
    room.member = reinterpret_cast<uint64_t *>(memory);
    room.d2 = reinterpret_cast<real *>(room.member + static_cast<size_t>(levels) * CUDA_WARP);
    room.id = reinterpret_cast<int32_t *>(room.d2 + k);
    return room;
}

static __global__ void search(KnnTree tree, KnnArgs a) {
    SHARED(unsigned char, memory);
    Query q = {};
    q.k = a.k;
    q.room = room_at(memory + cuda_warp() * room_bytes(tree.levels, a.k), tree.levels, a.k);
    WARP_LOOP(query, a.queries) {
        for (int d = 0; d < KNN_MAX_DIMS && d < tree.dims; d++)
            q.x[d] = knn_coordinate(a.query, a.query_extra, a.extra, query, static_cast<size_t>(d));
        q.self = a.self ? a.self[query] : -1;
        q.limit = INFINITY;
        q.last = INT32_MAX;
        for (int i = static_cast<int>(cuda_lane()); i < a.k; i += static_cast<int>(CUDA_WARP)) {
            q.room.d2[i] = INFINITY;
            q.room.id[i] = INT32_MAX;
        }
        __syncwarp();
        walk(tree, &q);
        for (int i = static_cast<int>(cuda_lane()); i < a.k; i += static_cast<int>(CUDA_WARP)) {
            size_t at = query * static_cast<size_t>(a.k) + static_cast<size_t>(i);
            a.index[at] = q.room.id[i] == INT32_MAX ? -1 : q.room.id[i];
            if (a.distance2) a.distance2[at] = q.room.d2[i];
        }
        __syncwarp();
    }
}

void knn_search_cuda(Device *device, const KnnIndex *index, const KnnArgs *a) {
    if (!cuda_op(device, "knn search", index->points, a->queries, a->extra, a->k)) return;
    size_t bytes;
    KnnTree tree = knn_tree_at(index->points, index->extra, index->tree, &bytes);
    size_t room = room_bytes(tree.levels, a->k), warps = CUDA_THREADS / CUDA_WARP;
    while (warps > 1 && warps * room > CUDA_USUAL_SHARED) warps /= 2;
    LAUNCH(device, cuda_blocks(a->queries, warps), static_cast<unsigned>(warps * CUDA_WARP), warps * room, search, tree,
           *a);
}
