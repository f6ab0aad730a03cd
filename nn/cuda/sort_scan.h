// SPDX-License-Identifier: Apache-2.0
// Sorts and scans on the device: CUB behind two functions (nn/cuda/cub.cu; tests: tests/cuda_on_cpu/library_cub.cpp).
#ifndef VPD_NN_CUDA_SORT_SCAN_H
#define VPD_NN_CUDA_SORT_SCAN_H

#include "nn/cuda/launch.h"

// Pairs to sort, in scratch memory, with room for what sorting needs.
struct CudaPairs {
    size_t count;
    uint64_t *key, *other_key;    // (count)
    int32_t *value, *other_value; // (count)
};

struct CudaSortCall {
    size_t count;
    const uint64_t *key;
    const int32_t *value;
    uint64_t *sorted_key;
    int32_t *sorted_value;
    int bits;
    void *room = nullptr; // scratch memory
    size_t bytes = 0;

    bool operator==(const CudaSortCall &) const = default;
    size_t needs(Device *device) const; // bytes of room
    void run(Device *device) const;
};

struct CudaScanCall {
    size_t count;
    const int32_t *in;
    int32_t *out;
    void *room = nullptr; // scratch memory
    size_t bytes = 0;

    bool operator==(const CudaScanCall &) const = default;
    size_t needs(Device *device) const;
    void run(Device *device) const;
};

// Members are NULL, and the device has failed, when there is no memory. The first sort leaves its values in `sorted`,
// NULL for scratch memory.
CudaPairs cuda_pairs(Device *device, size_t count, int32_t *sorted = nullptr);
// Sorts by the keys' lowest `bits`, keeping the order of equal ones; the members swap places.
void cuda_sort(Device *device, CudaPairs *pairs, int bits);
// out[i] = in[0] + .. + in[i - 1]; in and out differ.
void cuda_exclusive_scan(Device *device, size_t count, const int32_t *in, int32_t *out);

// Bits that hold the numbers 0 .. largest.
static inline int cuda_bits(uint64_t largest) {
    int bits = 1;
    while (bits < 64 && largest >> bits) bits++;
    return bits;
}

#endif
