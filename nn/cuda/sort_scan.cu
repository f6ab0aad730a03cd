// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sort_scan.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

CudaPairs cuda_pairs(Device *device, size_t count) {
    CudaPairs pairs = {};
    pairs.count = count;
    for (uint64_t **key : {&pairs.key, &pairs.other_key})
        *key = static_cast<uint64_t *>(device_scratch_bytes(device, count * sizeof **key));
    for (int32_t **value : {&pairs.value, &pairs.other_value})
        *value = static_cast<int32_t *>(device_scratch_bytes(device, count * sizeof **value));
    return pairs;
}

void cuda_sort(Device *device, CudaPairs *pairs, int bits) {
    if (device->failed || pairs->count == 0) return;
    cudaStream_t stream = cuda_state(device)->stream;
    cub::DoubleBuffer<uint64_t> keys(pairs->key, pairs->other_key);
    cub::DoubleBuffer<int32_t> values(pairs->value, pairs->other_value);
    size_t bytes = 0;
    ArenaMark mark = arena_mark(&device->scratch);
    cudaError_t error = cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, pairs->count, 0, bits, stream);
    void *room = error == cudaSuccess ? device_scratch_bytes(device, bytes) : nullptr;
    if (room) error = cub::DeviceRadixSort::SortPairs(room, bytes, keys, values, pairs->count, 0, bits, stream);
    cuda_ok(device, error, "cub::DeviceRadixSort");
    arena_release(&device->scratch, mark);
    *pairs = {pairs->count, keys.Current(), keys.Alternate(), values.Current(), values.Alternate()};
}

void cuda_exclusive_scan(Device *device, size_t count, const int32_t *in, int32_t *out) {
    if (device->failed || count == 0) return;
    cudaStream_t stream = cuda_state(device)->stream;
    size_t bytes = 0;
    ArenaMark mark = arena_mark(&device->scratch);
    cudaError_t error = cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, count, stream);
    void *room = error == cudaSuccess ? device_scratch_bytes(device, bytes) : nullptr;
    if (room) error = cub::DeviceScan::ExclusiveSum(room, bytes, in, out, count, stream);
    cuda_ok(device, error, "cub::DeviceScan");
    arena_release(&device->scratch, mark);
}
