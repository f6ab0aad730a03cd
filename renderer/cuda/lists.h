// SPDX-License-Identifier: Apache-2.0
// Lists that stand one after another, made by sorting: of the particles of a bucket, of the samples near a particle.
#ifndef VPD_RENDERER_CUDA_LISTS_H
#define VPD_RENDERER_CUDA_LISTS_H

#include "nn/cuda/launch.h"

// From sorted keys, where each list starts: start[i] (lists + 1) = number of keys below i. Keys may be up to `lists`.
void cuda_list_starts(Device *device, size_t count, const uint64_t *key, size_t lists, int32_t *start);

#endif
