// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/segments.h"

#include "nn/cuda/device.h"

constexpr size_t SORTED_IN_SHARED = 2048;

static __global__ void count_ends(size_t rows, const int32_t *index, int32_t *count) {
    GRID_LOOP(r, rows) {
        if (index[r] >= 0) atomicAdd(&count[index[r]], 1);
    }
}

void cuda_count_ends(Device *device, const GnnEdges *edges, int32_t *count) {
    cuda_zero(device, count, edges->others * sizeof *count);
    LAUNCH(device, cuda_blocks(edge_rows(edges)), CUDA_THREADS, 0, count_ends, edge_rows(edges), edges->index, count);
}

// Room for each segment, wherever the counter of used rows then is; end: where it begins, for fill_segments.
static __global__ void reserve_segments(size_t others, const int32_t *count, int32_t *used, int32_t *end) {
    GRID_LOOP(o, others) end[o] = atomicAdd(used, count[o]);
}

static __global__ void fill_segments(size_t rows, const int32_t *index, int32_t *end, int32_t *row) {
    GRID_LOOP(r, rows) {
        if (index[r] >= 0) row[atomicAdd(&end[index[r]], 1)] = static_cast<int32_t>(r);
    }
}

// Bitonic, for any count: rows that are missing to a power of two would be the largest and never move.
static __device__ void sort(int32_t *x, unsigned count) {
    unsigned whole = 1;
    while (whole < count) whole *= 2;
    for (unsigned size = 2; size <= whole; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            for (unsigned i = threadIdx.x; i < whole / 2; i += blockDim.x) {
                unsigned low = i / stride * 2 * stride + i % stride;
                unsigned high = low ^ (stride == size / 2 ? size - 1 : stride);
                if (high >= count || x[low] <= x[high]) continue;
                int32_t other = x[low];
                x[low] = x[high], x[high] = other;
            }
            __syncthreads();
        }
}

static __global__ void sort_segments(size_t others, const int32_t *count, const int32_t *end, int32_t *row) {
    SHARED(int32_t, tile);
    BLOCK_LOOP(o, others) {
        unsigned n = static_cast<unsigned>(count[o]);
        int32_t *segment = row + (end[o] - count[o]), *x = n <= SORTED_IN_SHARED ? tile : segment;
        for (unsigned i = threadIdx.x; i < n && x == tile; i += blockDim.x) tile[i] = segment[i];
        __syncthreads();
        sort(x, n);
        for (unsigned i = threadIdx.x; i < n && x == tile; i += blockDim.x) segment[i] = tile[i];
        __syncthreads();
    }
}

CudaSegments cuda_segments(Device *device, const GnnEdges *edges) {
    size_t rows = edge_rows(edges), others = edges->others;
    int32_t *memory = static_cast<int32_t *>(device_scratch_bytes(device, (2 * others + rows + 1) * sizeof *memory));
    if (!memory) return {};
    CudaSegments s = {memory, memory + others + 1, memory + 2 * others + 1};
    int32_t *used = memory + others;
    cuda_zero(device, used, sizeof *used);
    cuda_count_ends(device, edges, s.count);
    LAUNCH(device, cuda_blocks(others), CUDA_THREADS, 0, reserve_segments, others, s.count, used, s.end);
    LAUNCH(device, cuda_blocks(rows), CUDA_THREADS, 0, fill_segments, rows, edges->index, s.end, s.row);
    LAUNCH(device, cuda_blocks(others, 1), CUDA_THREADS / 2, SORTED_IN_SHARED * sizeof *memory, sort_segments, others,
           s.count, s.end, s.row);
    return s;
}
