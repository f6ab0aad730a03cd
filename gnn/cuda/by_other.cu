// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/by_other.h"

#include "nn/cuda/sort_scan.h"

static __global__ void make_keys(GnnEdges edges, uint64_t *key, int32_t *row) {
    GRID_LOOP(i, edges.groups * edges.k) {
        key[i] = edges.index[i] < 0 ? edges.others : static_cast<uint64_t>(edges.index[i]);
        row[i] = static_cast<int32_t>(i);
    }
}

// Row i begins all other ends behind that of the row before it, up to its own.
static __global__ void find_starts(size_t rows, size_t others, const uint64_t *key, int32_t *start) {
    GRID_LOOP(i, rows + 1) {
        size_t last = i < rows ? key[i] : others + 1;
        for (size_t other = i > 0 ? key[i - 1] + 1 : 0; other <= last; other++) start[other] = static_cast<int32_t>(i);
    }
}

RowsByOther rows_by_other(Device *device, const GnnEdges *edges) {
    size_t rows = edges->groups * edges->k;
    int32_t *start = static_cast<int32_t *>(device_scratch_bytes(device, (edges->others + 2) * sizeof *start));
    CudaPairs pairs = cuda_pairs(device, rows);
    LAUNCH(device, cuda_blocks(rows), CUDA_THREADS, 0, make_keys, *edges, pairs.key, pairs.value);
    cuda_sort(device, &pairs, cuda_bits(edges->others));
    LAUNCH(device, cuda_blocks(rows + 1), CUDA_THREADS, 0, find_starts, rows, edges->others, pairs.key, start);
    return {pairs.value, start};
}
