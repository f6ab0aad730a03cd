// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sort_scan.h"

CudaPairs cuda_pairs(Device *device, size_t count, int32_t *sorted) {
    CudaPairs pairs = {};
    pairs.count = count;
    for (uint64_t **key : {&pairs.key, &pairs.other_key})
        *key = static_cast<uint64_t *>(device_scratch_bytes(device, count * sizeof **key));
    pairs.value = static_cast<int32_t *>(device_scratch_bytes(device, count * sizeof *pairs.value));
    pairs.other_value =
        sorted ? sorted : static_cast<int32_t *>(device_scratch_bytes(device, count * sizeof *pairs.value));
    return pairs;
}

void cuda_sort(Device *device, CudaPairs *pairs, int bits) {
    if (pairs->count == 0) return;
    cuda_submit(device,
                CudaSortCall{pairs->count, pairs->key, pairs->value, pairs->other_key, pairs->other_value, bits});
    *pairs = {pairs->count, pairs->other_key, pairs->key, pairs->other_value, pairs->value};
}

void cuda_exclusive_scan(Device *device, size_t count, const int32_t *in, int32_t *out) {
    if (count > 0) cuda_submit(device, CudaScanCall{count, in, out});
}
