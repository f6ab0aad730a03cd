// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sort_scan.h"

// The call keeps its room: when it is done later than it was asked for (nn/cuda/replay.h), other ops have scratch
// memory.
template <class Call> static void submit_with_room(Device *device, Call call) {
    ArenaMark mark = arena_mark(&device->scratch);
    call.bytes = call.needs(device);
    call.room = device_scratch_bytes(device, call.bytes);
    cuda_submit(device, call);
    arena_release(&device->scratch, mark);
}

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
    submit_with_room(device,
                     CudaSortCall{pairs->count, pairs->key, pairs->value, pairs->other_key, pairs->other_value, bits});
    *pairs = {pairs->count, pairs->other_key, pairs->key, pairs->other_value, pairs->value};
}

void cuda_exclusive_scan(Device *device, size_t count, const int32_t *in, int32_t *out) {
    if (count > 0) submit_with_room(device, CudaScanCall{count, in, out});
}
