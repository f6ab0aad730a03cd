// SPDX-License-Identifier: Apache-2.0
// Lists of the nearest in a warp's registers: lane i has the i-th, as a key (squared distance << 32 | index), so that
// the order of keys is that of results and taking one is a shuffle.
#ifndef VPD_NN_CUDA_NEAREST_LIST_H
#define VPD_NN_CUDA_NEAREST_LIST_H

#include "nn/cuda/launch.h"

constexpr uint64_t NEAREST_EMPTY = uint64_t{0x7f800000} << 32 | INT32_MAX; // infinity, no index

static __device__ inline uint64_t nearest_key(real d2, int32_t id) {
    return static_cast<uint64_t>(__float_as_uint(d2)) << 32 | static_cast<uint32_t>(id);
}

static __device__ inline real nearest_distance2(uint64_t key) {
    return __uint_as_float(static_cast<unsigned>(key >> 32));
}

// -1 of an empty place.
static __device__ inline int32_t nearest_id(uint64_t key) {
    int32_t id = static_cast<int32_t>(key);
    return id == INT32_MAX ? -1 : id;
}

// Puts *key into a row of 32, smallest first; *key becomes the one that the row gives up, for the next row.
static __device__ inline uint64_t nearest_insert(uint64_t row, uint64_t *key) {
    uint64_t mine = *key, before = __shfl_up_sync(WHOLE_WARP, row, 1), last = __shfl_sync(WHOLE_WARP, row, 31);
    *key = mine < last ? last : mine;
    if (row <= mine) return row;
    return cuda_lane() == 0 || before <= mine ? mine : before;
}

#endif
