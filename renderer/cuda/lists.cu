// SPDX-License-Identifier: Apache-2.0
#include "renderer/cuda/lists.h"

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
