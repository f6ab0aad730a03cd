// SPDX-License-Identifier: Apache-2.0
// Sums over processes of numbers in the memory of GPUs, on a stream of their own. Errors fail the device.
#ifndef VPD_NN_DEVICE_SUMS_H
#define VPD_NN_DEVICE_SUMS_H

#include "nn/device.h"

enum { DEVICE_SUMS_ID = 128 };

typedef struct DeviceSums {
    // Whether this machine has the library. `gpu` becomes the name of the GPU, which no other in the world has.
    bool (*found)(Device *device, unsigned char gpu[DEVICE_GPU_ID]);
    void (*make_id)(Device *device, unsigned char id[DEVICE_SUMS_ID]);       // on rank 0; the others get it from there
    void (*open)(Device *device, int rank, int ranks, size_t longest);       // takes memory; `longest`: of the sums
    void (*connect)(Device *device, const unsigned char id[DEVICE_SUMS_ID]); // waits for all ranks, for ever
    // values (count) become sums over the ranks, added in the order of the ranks, after all that the device was asked
    // for so far. Returns at once. Every rank asks for the same sums in the same order.
    void (*add)(Device *device, real *values, size_t count);
    bool (*done)(Device *device); // all sums so far
    // Ends sums that are under way, too; accepts a device without.
    void (*close)(Device *device);
} DeviceSums;

#endif
