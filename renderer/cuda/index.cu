// SPDX-License-Identifier: Apache-2.0
// Lists of particles by bucket come of a sort that keeps their order: the same as the CPU's, entry by entry.
#include "nn/cuda/device.h"
#include "nn/cuda/lists.h"
#include "nn/cuda/sort_scan.h"
#include "renderer/cuda/functions.h"
#include "renderer/march.h"

#include <string.h>

// What all particles give together. Zero is the start of each: floats as keys, which integers compare as floats do.
struct IndexTotals {
    unsigned largest;  // bits of the largest reach
    unsigned bound[6]; // keys of the largest -low and high
    unsigned long long entries, left_out;
};

static __device__ unsigned key_of(real x) {
    unsigned bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

static real from_bits(unsigned bits) {
    real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static real from_key(unsigned key) { return from_bits(key >> 31 ? key & ~(1u << 31) : ~key); }

static __global__ void find_largest(IndexArgs a, IndexTotals *totals) {
    real largest = 0;
    GRID_LOOP(i, a.count) {
        real R = a.radius[i];
        if (march_particle_fits(a.x + 3 * i, R, static_cast<real>(1e18)) && R > largest) largest = R;
    }
    largest = warp_max(largest);
    if (cuda_lane() == 0) atomicMax(&totals->largest, __float_as_uint(largest));
}

static __global__ void measure(IndexArgs a, RendererIndex index, IndexTotals *totals) {
    march_set_edge(&index, a.cell, __uint_as_float(totals->largest));
    real limit = index.edge * static_cast<real>(INDEX_CELL_LIMIT);
    unsigned bound[6] = {};
    unsigned long long entries = 0, left_out = 0;
    GRID_LOOP(i, a.count) {
        const real *x = a.x + 3 * i;
        real R = a.radius[i], inverse = march_particle_fits(x, R, limit) ? element_inverse_R2(R) : 0; // 0 = left out
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

void index_measure_cuda(Device *device, const IndexArgs *a) {
    if (!cuda_op(device, "index of particles", a->count)) return;
    RendererIndex *index = a->index;
    ArenaMark mark = arena_mark(&device->scratch);
    IndexTotals *totals = static_cast<IndexTotals *>(device_scratch_bytes(device, sizeof *totals)), host = {};
    cuda_zero(device, totals, sizeof *totals);
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, find_largest, *a, totals);
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, measure, *a, *index, totals);
    cuda_download(device, &host, totals, sizeof host);
    march_set_edge(index, a->cell, from_bits(host.largest));
    for (int c = 0; c < 3; c++) {
        bool none = host.left_out == a->count;
        index->low[c] = none ? static_cast<real>(INFINITY) : -from_key(host.bound[c]);
        index->high[c] = none ? -static_cast<real>(INFINITY) : from_key(host.bound[3 + c]);
    }
    index->entries = host.entries;
    index->left_out = host.left_out;
    march_set_levels(index);
    for (int level = 1; level <= index->levels; level++)
        cuda_zero(device, index->level[level], static_cast<size_t>(index->level_mask[level]) + 1);
    arena_release(&device->scratch, mark);
}

static __global__ void count_cells(IndexArgs a, RendererIndex index, int32_t *cells) {
    GRID_LOOP(p, a.count) {
        CellBox box = march_cell_box(&index, a.x + 3 * p, a.radius[p]);
        cells[p] = index.packed[4 * p + 3] == 0 ? 0 : static_cast<int32_t>(march_cell_count(&box));
    }
}

static __device__ void mark_level(const RendererIndex &index, const CellBox &box, int level) {
    int shift = 2 * level;
    for (int32_t i = box.low[0] >> shift; i <= box.high[0] >> shift; i++)
        for (int32_t j = box.low[1] >> shift; j <= box.high[1] >> shift; j++)
            for (int32_t k = box.low[2] >> shift; k <= box.high[2] >> shift; k++)
                index.level[level][march_hash(i, j, k) & index.level_mask[level]] = 1;
}

// Writes the buckets of particle p's cells from first[p] on.
static __global__ void list_cells(IndexArgs a, RendererIndex index, const int32_t *first, uint64_t *bucket,
                                  int32_t *particle) {
    GRID_LOOP(p, a.count) {
        if (index.packed[4 * p + 3] == 0) continue;
        CellBox box = march_cell_box(&index, a.x + 3 * p, a.radius[p]);
        int32_t at = first[p];
        for (int32_t i = box.low[0]; i <= box.high[0]; i++)
            for (int32_t j = box.low[1]; j <= box.high[1]; j++)
                for (int32_t k = box.low[2]; k <= box.high[2]; k++) {
                    bucket[at] = march_hash(i, j, k) & index.mask;
                    particle[at++] = static_cast<int32_t>(p);
                }
        for (int level = 1; level <= index.levels; level++) mark_level(index, box, level);
    }
}

void index_fill_cuda(Device *device, const IndexArgs *a) {
    const RendererIndex *index = a->index;
    if (!cuda_op(device, "lists of the index", a->count, index->entries)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *cells = static_cast<int32_t *>(device_scratch_bytes(device, a->count * sizeof *cells)),
            *first = static_cast<int32_t *>(device_scratch_bytes(device, a->count * sizeof *first));
    CudaPairs pairs = cuda_pairs(device, index->entries);
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, count_cells, *a, *index, cells);
    cuda_exclusive_scan(device, a->count, cells, first);
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, list_cells, *a, *index, first, pairs.key, pairs.value);
    cuda_sort(device, &pairs, cuda_bits(index->mask));
    cuda_list_starts(device, pairs.count, pairs.key, static_cast<size_t>(index->mask) + 1, index->start);
    cuda_copy(device, index->entry, pairs.value, pairs.count * sizeof *index->entry);
    arena_release(&device->scratch, mark);
}
