// SPDX-License-Identifier: Apache-2.0
// Consecutive lists, made by sorting, so that sums over a list need no atomics: of the particles of a
// bucket, of the samples near a particle, of the edges that share an end, of the rows that were gathered from one.
#ifndef VPD_NN_CUDA_LISTS_H
#define VPD_NN_CUDA_LISTS_H

#include "nn/cuda/launch.h"

struct CudaLists {
    const int32_t *item;  // (count) numbers of what is listed, list by list, ascending in each
    const int32_t *start; // (lists + 2) where each begins; start[lists]: what is in none
};

// From index[i] (count), the list of i or -1. In scratch memory; members are NULL, and the device has failed, when
// there is none.
CudaLists cuda_lists(Device *device, size_t count, const int32_t *index, size_t lists);

// From sorted keys, where each list starts: start[i] (lists + 1) = number of keys below i. Keys may be up to `lists`.
void cuda_list_starts(Device *device, size_t count, const uint64_t *key, size_t lists, int32_t *start);

#endif
