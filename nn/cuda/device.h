// SPDX-License-Identifier: Apache-2.0
// Opens and closes a GPU as a Device, and moves memory. The tables of the modules are filled in by the caller.
#ifndef VPD_NN_CUDA_DEVICE_H
#define VPD_NN_CUDA_DEVICE_H

#include "nn/cuda/launch.h"

// Fills name, source, scratch and state of an empty `device`. Each failure has a sentence of its own: no driver, driver
// too old, no GPU, no GPU of this index, a GPU that this build has no code for.
Status cuda_device_open(Device *device, int index, Error *err);
int cuda_device_gpus(unsigned char first[DEVICE_GPU_ID]); // device_gpus
// Frees device->state, its stream, and what libraries made for it; accepts a device that failed to open.
void cuda_device_close(Device *device);

void cuda_zero(Device *device, void *memory, size_t bytes);
void cuda_copy(Device *device, void *to, const void *from, size_t bytes);
// The host's memory may be reused after the call.
void cuda_upload(Device *device, void *to, const void *host, size_t bytes);
// Waits for all work of the device: beside cuda_wait the only call that does.
void cuda_download(Device *device, void *host, const void *from, size_t bytes);
void cuda_wait(Device *device);

#endif
