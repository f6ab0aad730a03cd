// SPDX-License-Identifier: Apache-2.0
// What loops over few rows share: a thread for each row, and lists that a warp makes.
#ifndef VPD_NN_CUDA_EACH_ROW_H
#define VPD_NN_CUDA_EACH_ROW_H

#include "nn/cuda/launch.h"

// Rows are few and wait for memory: small blocks spread them over more multiprocessors.
constexpr unsigned CUDA_ROW_THREADS = 64;

template <class Args, void (*row)(const Args *, size_t)> __global__ void each_row(Args a, size_t count) {
    GRID_LOOP(i, count) row(&a, i);
}

// row(a, i) for every i < count; rows know nothing of each other.
template <class Args, void (*row)(const Args *, size_t)>
void cuda_each_row(Device *device, const char *name, const Args *a, size_t count) {
    if (!cuda_op(device, name, count)) return;
    LAUNCH(device, cuda_blocks(count, CUDA_ROW_THREADS), CUDA_ROW_THREADS, 0, (each_row<Args, row>), *a, count);
}

// Appends the values of the lanes where `is` holds, in their order, to a list that has `found` of at most k entries;
// returns how many it has then. The whole warp takes part.
static __device__ inline size_t warp_append(bool is, int32_t value, size_t found, size_t k, int32_t *list) {
    unsigned all = __ballot_sync(WHOLE_WARP, is), before = all & ((1u << cuda_lane()) - 1);
    size_t place = found + static_cast<size_t>(__popc(before));
    if (is && place < k) list[place] = value;
    found += static_cast<size_t>(__popc(all));
    return found < k ? found : k;
}

#endif
