// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/cub.cu.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include "nn/cuda/sort_scan.h"

#include <algorithm>
#include <vector>

size_t CudaSortCall::needs(Device *) const { return 8 * count; }

void CudaSortCall::run(Device *) const {
    cuda_on_cpu_do([call = *this] {
        memset(call.room, 0xff, call.bytes);
        std::vector<std::pair<uint64_t, int32_t>> list(call.count);
        uint64_t mask = call.bits < 64 ? (uint64_t{1} << call.bits) - 1 : ~uint64_t{0};
        for (size_t i = 0; i < list.size(); i++) list[i] = {call.key[i], call.value[i]};
        std::stable_sort(list.begin(), list.end(),
                         [=](auto &a, auto &b) { return (a.first & mask) < (b.first & mask); });
        for (size_t i = 0; i < list.size(); i++) {
            call.sorted_key[i] = list[i].first;
            call.sorted_value[i] = list[i].second;
        }
    });
}

size_t CudaScanCall::needs(Device *) const { return 4 * count; }

void CudaScanCall::run(Device *) const {
    cuda_on_cpu_do([call = *this] {
        memset(call.room, 0xff, call.bytes);
        int32_t sum = 0;
        for (size_t i = 0; i < call.count; i++) {
            call.out[i] = sum;
            sum += call.in[i];
        }
    });
}
