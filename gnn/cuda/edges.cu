// SPDX-License-Identifier: Apache-2.0
// Rows of edges sorted by their other end, so that sums by other end need no atomics: one sort for all edges of a plan.
#include "gnn/edges.h"

#include "gnn/cuda/functions.h"
#include "nn/cuda/sort_scan.h"

// The keys of edges are behind those of the edges before: a key for each other end, then one for absent rows.
static __global__ void make_keys(EdgesOrderArgs a, uint64_t *key, int32_t *value) {
    size_t first = 0, begin = 0; // row and key of these edges
    for (size_t i = 0; i < a.count; i++) {
        const GnnEdges &edges = a.edges[i];
        size_t rows = edges.groups * edges.k;
        GRID_LOOP(row, rows) {
            int32_t other = edges.index[row];
            key[first + row] = begin + (other < 0 ? edges.others : static_cast<size_t>(other));
            value[first + row] = static_cast<int32_t>(row);
        }
        first += rows;
        begin += edges.others + 1;
    }
}

// Rows of the edges before those of a key.
static __device__ size_t rows_before(const EdgesOrderArgs &a, size_t key) {
    size_t rows = 0, end = a.edges[0].others + 1;
    for (size_t i = 0; key >= end && i + 1 < a.count; i++) {
        rows += a.edges[i].groups * a.edges[i].k;
        end += a.edges[i + 1].others + 1;
    }
    return rows;
}

// Each sorted key starts the keys behind the one before it, up to its own.
static __global__ void find_starts(EdgesOrderArgs a, size_t rows, size_t keys, const uint64_t *key) {
    GRID_LOOP(i, rows + 1) {
        size_t end = i < rows ? key[i] + 1 : keys;
        for (size_t at = i > 0 ? key[i - 1] + 1 : 0; at < end; at++)
            a.start[at] = static_cast<int32_t>(i - rows_before(a, at));
    }
}

void edges_order_cuda(Device *device, const EdgesOrderArgs *a) {
    size_t rows = 0, keys = 0;
    for (size_t i = 0; i < a->count; i++) {
        rows += edge_rows(&a->edges[i]);
        keys += a->edges[i].others + 1;
    }
    if (!cuda_op(device, "order of edges", a->count, rows, keys)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    CudaPairs pairs = cuda_pairs(device, rows);
    pairs.other_value = a->row; // where the sort leaves them
    LAUNCH(device, cuda_blocks(rows), CUDA_THREADS, 0, make_keys, *a, pairs.key, pairs.value);
    cuda_sort(device, &pairs, cuda_bits(keys));
    LAUNCH(device, cuda_blocks(rows + 1), CUDA_THREADS, 0, find_starts, *a, rows, keys, pairs.key);
    arena_release(&device->scratch, mark);
}
