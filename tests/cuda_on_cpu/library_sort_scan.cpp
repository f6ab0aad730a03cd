// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/sort_scan.cu.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include "nn/cuda/sort_scan.h"

#include <algorithm>
#include <vector>

CudaPairs cuda_pairs(Device *device, size_t count) {
    CudaPairs pairs = {};
    pairs.count = count;
    pairs.key = static_cast<uint64_t *>(device_scratch_bytes(device, count * sizeof(uint64_t)));
    pairs.value = static_cast<int32_t *>(device_scratch_bytes(device, count * sizeof(int32_t)));
    return pairs;
}

void cuda_sort(Device *device, CudaPairs *pairs, int bits) {
    if (device->failed) return;
    cuda_on_cpu_enter();
    std::vector<std::pair<uint64_t, int32_t>> list(pairs->count);
    uint64_t mask = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
    for (size_t i = 0; i < list.size(); i++) list[i] = {pairs->key[i], pairs->value[i]};
    std::stable_sort(list.begin(), list.end(), [=](auto &a, auto &b) { return (a.first & mask) < (b.first & mask); });
    for (size_t i = 0; i < list.size(); i++) {
        pairs->key[i] = list[i].first;
        pairs->value[i] = list[i].second;
    }
    cuda_on_cpu_leave();
}

void cuda_exclusive_scan(Device *device, size_t count, const int32_t *in, int32_t *out) {
    if (device->failed) return;
    cuda_on_cpu_enter();
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = sum;
        sum += in[i];
    }
    cuda_on_cpu_leave();
}
