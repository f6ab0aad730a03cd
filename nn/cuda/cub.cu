// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sort_scan.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

// With `room` NULL, CUB says how much it needs.
static size_t sort(Device *device, const CudaSortCall &c, void *room, size_t bytes) {
    cuda_ok(device,
            cub::DeviceRadixSort::SortPairs(room, bytes, c.key, c.sorted_key, c.value, c.sorted_value, c.count, 0,
                                            c.bits, cuda_state(device)->stream),
            "cub::DeviceRadixSort");
    return bytes;
}

size_t CudaSortCall::needs(Device *device) const { return sort(device, *this, nullptr, 0); }
void CudaSortCall::run(Device *device) const { sort(device, *this, room, bytes); }

static size_t scan(Device *device, const CudaScanCall &c, void *room, size_t bytes) {
    cuda_ok(device, cub::DeviceScan::ExclusiveSum(room, bytes, c.in, c.out, c.count, cuda_state(device)->stream),
            "cub::DeviceScan");
    return bytes;
}

size_t CudaScanCall::needs(Device *device) const { return scan(device, *this, nullptr, 0); }
void CudaScanCall::run(Device *device) const { scan(device, *this, room, bytes); }
