// SPDX-License-Identifier: Apache-2.0
// Sums over processes of numbers in the memory of GPUs, on a stream of their own. Errors fail the device.
// A sum is two messages: each rank sends piece r to rank r, which adds the pieces up and sends the sum back.
#ifndef VPD_NN_DEVICE_SUMS_H
#define VPD_NN_DEVICE_SUMS_H

#include "nn/device.h"

enum { DEVICE_SUMS_ID = 128, DEVICE_SUMS_ALIGN = 64 };

// Sums over processes are cut into a piece for each, which it adds up: element of `count` at which piece `piece`
// begins.
static inline size_t device_sums_piece(size_t count, int ranks, int piece) {
    size_t least = (size_t)ranks * DEVICE_SUMS_ALIGN,
           at = (count + least - 1) / least * DEVICE_SUMS_ALIGN * (size_t)piece;
    return at < count ? at : count;
}

typedef struct DeviceSums {
    // Whether this machine has the library. `gpu` becomes the name of the GPU, which no other in the world has.
    bool (*found)(Device *device, unsigned char gpu[DEVICE_GPU_ID]);
    void (*make_id)(Device *device, unsigned char id[DEVICE_SUMS_ID]); // on rank 0; the others get it from there
    // Takes memory; `longest`: of the sums. bf16: numbers are rounded to bfloat16 before each of the two messages.
    void (*open)(Device *device, int rank, int ranks, size_t longest, bool bf16);
    void (*connect)(Device *device, const unsigned char id[DEVICE_SUMS_ID]); // waits for all ranks, for ever
    // values (count) become sums over the ranks, added in the order of the ranks, after all that the device was asked
    // for so far. Returns at once. Every rank asks for the same sums in the same order.
    void (*add)(Device *device, real *values, size_t count);
    bool (*done)(Device *device); // all sums so far
    // Ends sums that are under way, too; accepts a device without.
    void (*close)(Device *device);
} DeviceSums;

#endif
