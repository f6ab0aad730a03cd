// SPDX-License-Identifier: Apache-2.0
// Builds the tree of knn_tree.h: bounds of the points, a radix sort by scenes and cells, then boxes from the leaves
// upwards. A warp takes a part of the points, a leaf, a node.
#include "nn/cuda/functions.h"
#include "nn/cuda/knn_tree.h"
#include "nn/cuda/sort_scan.h"
#include "nn/device_memory.h"

constexpr size_t PART = 1024; // points of a warp's bounds
constexpr int CELL_BITS = 21; // of a cell's number along an axis

// Low and high corner.
struct Bounds {
    real low[3], high[3];
};

static __device__ void join_warp(Bounds *b) {
    for (int d = 0; d < 3; d++) {
        b->low[d] = warp_min(b->low[d]);
        b->high[d] = warp_max(b->high[d]);
    }
}

static __global__ void find_bounds(size_t count, const real *x, Bounds *bounds) {
    WARP_LOOP(part, (count + PART - 1) / PART) {
        Bounds b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
        for (size_t i = part * PART + cuda_lane(); i < count && i < (part + 1) * PART; i += CUDA_WARP)
            for (size_t d = 0; d < 3; d++) {
                b.low[d] = fminf(b.low[d], x[3 * i + d]);
                b.high[d] = fmaxf(b.high[d], x[3 * i + d]);
            }
        join_warp(&b);
        if (cuda_lane() == 0) bounds[part] = b;
    }
}

// One warp: the bounds of all parts go to the first.
static __global__ void join_bounds(size_t parts, Bounds *bounds) {
    Bounds b = bounds[0];
    for (size_t part = cuda_lane(); part < parts; part += CUDA_WARP)
        for (int d = 0; d < 3; d++) {
            b.low[d] = fminf(b.low[d], bounds[part].low[d]);
            b.high[d] = fmaxf(b.high[d], bounds[part].high[d]);
        }
    join_warp(&b);
    if (cuda_lane() == 0) bounds[0] = b;
}

// Two empty bits behind each of 21: they are spread over 63.
static __device__ uint64_t spread_bits(uint64_t bits) {
    bits = (bits | bits << 32) & 0x1f00000000ffffu;
    bits = (bits | bits << 16) & 0x1f0000ff0000ffu;
    bits = (bits | bits << 8) & 0x100f00f00f00f00fu;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3u;
    return (bits | bits << 2) & 0x1249249249249249u;
}

// The number of a cell along a Hilbert curve, by Skilling's transform of its three coordinates ("Programming the
// Hilbert curve", AIP Conference Proceedings 707, 2004). The curve does not jump, so boxes around its pieces are small:
// in Morton order, which jumps, a search looks at 2.5 times as many leaves.
static __device__ uint64_t hilbert_number(uint32_t cell[3]) {
    for (uint32_t bit = 1u << (CELL_BITS - 1); bit > 1; bit /= 2)
        for (int d = 0; d < 3; d++) {
            uint32_t lower = bit - 1, other = (cell[0] ^ cell[d]) & lower;
            if (cell[d] & bit) cell[0] ^= lower;
            else cell[0] ^= other, cell[d] ^= other;
        }
    cell[1] ^= cell[0];
    cell[2] ^= cell[1];
    uint32_t turned = 0;
    for (uint32_t bit = 1u << (CELL_BITS - 1); bit > 1; bit /= 2)
        if (cell[2] & bit) turned ^= bit - 1;
    return spread_bits(cell[0] ^ turned) << 2 | spread_bits(cell[1] ^ turned) << 1 | spread_bits(cell[2] ^ turned);
}

// Keys: the points' scenes, and behind them the numbers of their cells, in a cube around all points. The number of a
// scene has 1 + dropped bits; a cell's number loses those that have no place.
static __global__ void find_cells(KnnArgs a, int dropped, const Bounds *bounds, uint64_t *key, int32_t *value) {
    constexpr int LAST = (1 << CELL_BITS) - 1;
    const Bounds b = *bounds;
    real edge = fmaxf(fmaxf(b.high[0] - b.low[0], b.high[1] - b.low[1]), b.high[2] - b.low[2]);
    GRID_LOOP(i, a.points) {
        uint32_t cell[3];
        for (size_t d = 0; d < 3; d++) {
            real u = edge > 0 ? (a.point[3 * i + d] - b.low[d]) / edge : 0; // in [0, 1]
            cell[d] = static_cast<uint32_t>(u * LAST);
        }
        key[i] = static_cast<uint64_t>(scene_of_row(&a.point_scenes, i, 0)) << (3 * CELL_BITS - dropped) |
                 hilbert_number(cell) >> dropped;
        value[i] = static_cast<int32_t>(i);
    }
}

// The box of a warp's members, from those of the lanes (the same twice for a point).
static __device__ void write_box(const KnnTree &tree, int level, size_t node, int d, real low, real high) {
    low = warp_min(low);
    high = warp_max(high);
    if (cuda_lane() != 0) return;
    *knn_box(tree, level, node, d) = low;
    *knn_box(tree, level, node, tree.dims + d) = high;
}

static __device__ void write_first(const KnnTree &tree, int level, size_t node, int32_t first) {
    first = warp_min(first);
    if (cuda_lane() == 0) tree.first[level][node] = first;
}

// Where the points of a scene begin; `scene` may be the number of scenes: where the last ends.
static __device__ size_t first_point(const KnnArgs &a, size_t scene) {
    return a.point_scenes.first ? static_cast<size_t>(a.point_scenes.first[scene]) : scene * a.points;
}

static __device__ KnnLeaves leaves_of(const KnnArgs &a, size_t scene) {
    size_t begin = first_point(a, scene), count = first_point(a, scene + 1) - begin,
           first = (begin + KNN_GAP * scene) / (KNN_GAP + 1) * KNN_WIDTH;
    return {static_cast<unsigned>(first), static_cast<unsigned>(first + (count + KNN_WIDTH - 1) / KNN_WIDTH)};
}

static __global__ void fill_leaves(KnnTree tree, KnnArgs a, const int32_t *order) {
    GRID_LOOP(scene, tree.scenes) tree.scene[scene] = leaves_of(a, scene);
    WARP_LOOP(leaf, tree.nodes[0]) {
        size_t scene = scene_of_row(&a.point_scenes, leaf * KNN_WIDTH | KNN_GAP, KNN_GAP);
        size_t place = first_point(a, scene) + (leaf - leaves_of(a, scene).first) * KNN_WIDTH + cuda_lane();
        bool there = place < first_point(a, scene + 1);
        int32_t id = there ? order[place] : INT32_MAX;
        tree.id[leaf * KNN_WIDTH + cuda_lane()] = id;
        write_first(tree, 0, leaf, id);
        for (int d = 0; d < tree.dims; d++) {
            size_t coordinate = static_cast<size_t>(d);
            real x =
                there ? knn_coordinate(a.point, a.point_extra, a.extra, static_cast<size_t>(id), coordinate) : INFINITY;
            tree.leaf[(leaf * static_cast<size_t>(tree.dims) + coordinate) * KNN_WIDTH + cuda_lane()] = x;
            write_box(tree, 0, leaf, d, x, there ? x : -INFINITY);
        }
    }
}

static __global__ void fill_nodes(KnnTree tree, int level) {
    WARP_LOOP(node, tree.nodes[level]) {
        size_t member = node * KNN_WIDTH + cuda_lane();
        bool there = member < tree.nodes[level - 1];
        write_first(tree, level, node, there ? tree.first[level - 1][member] : INT32_MAX);
        for (int d = 0; d < tree.dims; d++)
            write_box(tree, level, node, d, there ? *knn_box(tree, level - 1, member, d) : INFINITY,
                      there ? *knn_box(tree, level - 1, member, tree.dims + d) : -INFINITY);
    }
}

// Sorts the points' numbers by scenes and cells; scratch memory.
static const int32_t *sort_points(Device *device, const KnnArgs *a) {
    size_t parts = (a->points + PART - 1) / PART, warps = CUDA_THREADS / CUDA_WARP;
    Bounds *bounds = static_cast<Bounds *>(device_scratch_bytes(device, parts * sizeof *bounds));
    CudaPairs list = cuda_pairs(device, a->points);
    LAUNCH(device, cuda_blocks(parts, warps), CUDA_THREADS, 0, find_bounds, a->points, a->point, bounds);
    LAUNCH(device, parts > 1 ? 1 : 0, CUDA_WARP, 0, join_bounds, parts, bounds);
    int dropped = cuda_bits(scene_rows_count(a->point_scenes) - 1) - 1;
    LAUNCH(device, cuda_blocks(a->points), CUDA_THREADS, 0, find_cells, *a, dropped, bounds, list.key, list.value);
    cuda_sort(device, &list, 1 + 3 * CELL_BITS);
    return list.value;
}

void knn_index_cuda(Device *device, Arena *memory, const KnnArgs *a, KnnIndex *index) {
    if (!cuda_op(device, "knn index", a->points, a->extra, index->scenes)) return;
    size_t bytes, warps = CUDA_THREADS / CUDA_WARP;
    knn_tree_at(index, nullptr, &bytes);
    index->tree = arena_alloc(memory, bytes);
    if (!index->tree) {
        device_no_memory(device, &memory->source, bytes, "the index of a neighbour search");
        return;
    }
    KnnTree tree = knn_tree_at(index, index->tree, &bytes);
    ArenaMark mark = arena_mark(&device->scratch); // behind the tree, which may stand there too
    const int32_t *order = sort_points(device, a);
    LAUNCH(device, cuda_blocks(tree.nodes[0], warps), CUDA_THREADS, 0, fill_leaves, tree, *a, order);
    for (int level = 1; level < tree.levels; level++)
        LAUNCH(device, cuda_blocks(tree.nodes[level], warps), CUDA_THREADS, 0, fill_nodes, tree, level);
    arena_release(&device->scratch, mark);
}
