// SPDX-License-Identifier: Apache-2.0
// NCCL behind a DeviceSums. It only moves numbers: they are added here, in the order of the ranks, because NCCL's own
// sums may differ from call to call (NVLS), from one number of GPUs' links to another, and from those through the host.
#ifndef VPD_NN_CUDA_NCCL_H
#define VPD_NN_CUDA_NCCL_H

#include "nn/cuda/launch.h"
#include "nn/device_sums.h"

// NULL in a build without NCCL's header.
extern const DeviceSums *const cuda_sums;

void cuda_sums_close(Device *device);

#endif
