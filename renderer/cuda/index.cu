// SPDX-License-Identifier: Apache-2.0
// Lists of particles by bucket are made by a stable sort: equal to the CPU's, entry by entry.
#include "nn/cuda/device.h"
#include "nn/cuda/lists.h"
#include "nn/cuda/sort_scan.h"
#include "renderer/cuda/functions.h"
#include "renderer/march.h"

// Reductions over all particles. Each starts at zero: floats as keys, which integers compare as floats do.
struct IndexTotals {
    unsigned bound[6]; // keys of the largest -low and high
    unsigned long long entries, left_out;
};

static __device__ unsigned key_of(real x) {
    unsigned bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

static __device__ real from_key(unsigned key) { return __uint_as_float(key >> 31 ? key & ~(1u << 31) : ~key); }

static __global__ void measure(IndexArgs a, RendererIndex index, IndexTotals *totals) {
    unsigned bound[6] = {};
    unsigned long long entries = 0, left_out = 0;
    GRID_LOOP(i, a.count) {
        const real *x = a.x + 3 * i;
        real R = a.radius[i];
        real inverse = march_particle_fits(&index, x, R, a.reach) ? element_inverse_R2(R) : 0; // 0 = left out
        reinterpret_cast<float4 *>(index.packed)[i] = {x[0], x[1], x[2], inverse};
        left_out += inverse == 0;
        if (inverse == 0) continue;
        for (int c = 0; c < 3; c++) {
            unsigned low = key_of(-(x[c] - R)), high = key_of(x[c] + R);
            bound[c] = low > bound[c] ? low : bound[c];
            bound[3 + c] = high > bound[3 + c] ? high : bound[3 + c];
        }
        CellBox box = march_cell_box(&index, x, R);
        entries += march_cell_count(&box);
    }
    for (int c = 0; c < 6; c++) {
        bound[c] = warp_max(bound[c]);
        if (cuda_lane() == 0) atomicMax(&totals->bound[c], bound[c]);
    }
    entries = warp_sum(entries);
    left_out = warp_sum(left_out);
    if (cuda_lane() == 0) {
        atomicAdd(&totals->entries, entries);
        atomicAdd(&totals->left_out, left_out);
    }
}

// What the totals say, and levels without marks.
static __global__ void conclude(size_t count, RendererIndex index, const IndexTotals *totals) {
    GRID_LOOP(i, index.level_bytes) index.level[1][i] = 0;
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    IndexFound found = {};
    bool none = totals->left_out == count;
    for (int c = 0; c < 3; c++) {
        found.low[c] = none ? static_cast<real>(INFINITY) : -from_key(totals->bound[c]);
        found.high[c] = none ? -static_cast<real>(INFINITY) : from_key(totals->bound[3 + c]);
    }
    found.entries = totals->entries;
    found.left_out = totals->left_out;
    march_set_levels(&found, index.edge);
    *index.found = found;
}

void index_measure_cuda(Device *device, const IndexArgs *a) {
    if (!cuda_op(device, "index of particles", a->count)) return;
    RendererIndex *index = a->index;
    march_set_edge(index, a->cell, a->reach);
    index->room = a->count * march_most_cells(index, a->reach);
    ArenaMark mark = arena_mark(&device->scratch);
    IndexTotals *totals = static_cast<IndexTotals *>(device_scratch_bytes(device, sizeof *totals));
    cuda_zero(device, totals, sizeof *totals);
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, measure, *a, *index, totals);
    LAUNCH(device, cuda_blocks(index->level_bytes + 1), CUDA_THREADS, 0, conclude, a->count, *index, totals);
    arena_release(&device->scratch, mark);
}

// The cells of each particle; buckets are `behind` all others until they are known.
static __global__ void count_cells(IndexArgs a, RendererIndex index, int32_t *cells, size_t room, uint64_t behind,
                                   uint64_t *bucket) {
    GRID_LOOP(p, a.count) {
        CellBox box = march_cell_box(&index, a.x + 3 * p, a.radius[p]);
        cells[p] = index.packed[4 * p + 3] == 0 ? 0 : static_cast<int32_t>(march_cell_count(&box));
    }
    GRID_LOOP(i, room) bucket[i] = behind;
}

static __device__ void mark_level(const RendererIndex &index, uint32_t scene, const CellBox &box, int level) {
    int shift = 2 * level;
    for (int32_t i = box.low[0] >> shift; i <= box.high[0] >> shift; i++)
        for (int32_t j = box.low[1] >> shift; j <= box.high[1] >> shift; j++)
            for (int32_t k = box.low[2] >> shift; k <= box.high[2] >> shift; k++)
                *march_mark(&index, scene, level, i, j, k) = 1;
}

// Writes the buckets of particle p's cells from first[p] on.
static __global__ void list_cells(IndexArgs a, RendererIndex index, const int32_t *first, uint64_t *bucket,
                                  int32_t *particle) {
    GRID_LOOP(p, a.count) {
        if (index.packed[4 * p + 3] == 0) continue;
        uint32_t scene = scene_of_row(&a.scenes, p, 0);
        CellBox box = march_cell_box(&index, a.x + 3 * p, a.radius[p]);
        int32_t at = first[p];
        for (int32_t i = box.low[0]; i <= box.high[0]; i++)
            for (int32_t j = box.low[1]; j <= box.high[1]; j++)
                for (int32_t k = box.low[2]; k <= box.high[2]; k++) {
                    bucket[at] = march_bucket(&index, scene, i, j, k);
                    particle[at++] = static_cast<int32_t>(p);
                }
        for (int level = 1; level <= index.found->levels; level++) mark_level(index, scene, box, level);
    }
}

void index_fill_cuda(Device *device, const IndexArgs *a) {
    const RendererIndex *index = a->index;
    if (!cuda_op(device, "lists of the index", a->count, index->room)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *cells = static_cast<int32_t *>(device_scratch_bytes(device, a->count * sizeof *cells)),
            *first = static_cast<int32_t *>(device_scratch_bytes(device, a->count * sizeof *first));
    size_t buckets = index_buckets(index);
    CudaPairs pairs = cuda_pairs(device, index->room, index->entry);
    LAUNCH(device, cuda_blocks(a->count > pairs.count ? a->count : pairs.count), CUDA_THREADS, 0, count_cells, *a,
           *index, cells, pairs.count, buckets, pairs.key);
    cuda_exclusive_scan(device, a->count, cells, first);
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, list_cells, *a, *index, first, pairs.key, pairs.value);
    cuda_sort(device, &pairs, cuda_bits(buckets));
    cuda_list_starts(device, pairs.count, pairs.key, buckets, index->start);
    arena_release(&device->scratch, mark);
}
