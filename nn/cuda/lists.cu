// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/lists.h"

#include "nn/cuda/sort_scan.h"

static __global__ void make_keys(size_t count, const int32_t *index, size_t lists, uint64_t *key, int32_t *item) {
    GRID_LOOP(i, count) {
        key[i] = index[i] < 0 ? lists : static_cast<uint64_t>(index[i]);
        item[i] = static_cast<int32_t>(i);
    }
}

// Each key starts the lists behind the key before it, up to its own.
static __global__ void find_starts(size_t count, const uint64_t *key, size_t lists, int32_t *start) {
    GRID_LOOP(i, count + 1) {
        size_t last = i < count ? key[i] : lists;
        for (size_t list = i > 0 ? key[i - 1] + 1 : 0; list <= last; list++) start[list] = static_cast<int32_t>(i);
    }
}

void cuda_list_starts(Device *device, size_t count, const uint64_t *key, size_t lists, int32_t *start) {
    LAUNCH(device, cuda_blocks(count + 1), CUDA_THREADS, 0, find_starts, count, key, lists, start);
}

CudaLists cuda_lists(Device *device, size_t count, const int32_t *index, size_t lists) {
    int32_t *start = static_cast<int32_t *>(device_scratch_bytes(device, (lists + 2) * sizeof *start));
    CudaPairs pairs = cuda_pairs(device, count);
    LAUNCH(device, cuda_blocks(count), CUDA_THREADS, 0, make_keys, count, index, lists, pairs.key, pairs.value);
    cuda_sort(device, &pairs, cuda_bits(lists));
    cuda_list_starts(device, count, pairs.key, lists + 1, start);
    return {pairs.value, start};
}
