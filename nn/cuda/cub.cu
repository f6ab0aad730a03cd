// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sort_scan.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

// Asks `call` (room, bytes) how much room it needs, then with that room.
template <class Call> static void with_room(Device *device, const char *name, Call call) {
    size_t bytes = 0;
    ArenaMark mark = arena_mark(&device->scratch);
    cudaError_t error = call(nullptr, bytes);
    void *room = error == cudaSuccess ? device_scratch_bytes(device, bytes) : nullptr;
    if (room) error = call(room, bytes);
    cuda_ok(device, error, name);
    arena_release(&device->scratch, mark);
}

void CudaSortCall::run(Device *device) const {
    with_room(device, "cub::DeviceRadixSort", [&](void *room, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(room, bytes, key, sorted_key, value, sorted_value, count, 0, bits,
                                               cuda_state(device)->stream);
    });
}

void CudaScanCall::run(Device *device) const {
    with_room(device, "cub::DeviceScan", [&](void *room, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(room, bytes, in, out, count, cuda_state(device)->stream);
    });
}
