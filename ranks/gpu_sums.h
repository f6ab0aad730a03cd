// SPDX-License-Identifier: Apache-2.0
// Sums of parts of the gradients between the GPUs of the ranks (nn/device_sums.h), while the backward pass goes on.
#ifndef VPD_RANKS_GPU_SUMS_H
#define VPD_RANKS_GPU_SUMS_H

#include "ranks/ranks.h"

#include "nn/device_sums.h"

typedef struct GpuSums GpuSums;

typedef struct GpuPart {
    real *values; // (count) in the device's memory
    size_t count;
    bool wanted, complete; // of this step
} GpuPart;

// NULL where the gradients must go through the host's memory; rank 0 says why in a warning.
Status gpu_sums_open(Ranks *ranks, Device *device, size_t count, GpuSums **out, Error *err);
void gpu_sums_free(GpuSums *sums); // accepts NULL; ends sums under way

GpuPart *gpu_sums_part(GpuSums *sums, size_t i);
// Makes the connections, once all parts are set. bf16: as gradients_create.
Status gpu_sums_connect(GpuSums *sums, bool bf16, Error *err);
void gpu_sums_begin(GpuSums *sums); // a step, once `wanted` is set; the same on every rank
void gpu_sums_complete(GpuSums *sums, size_t i);
// Waits for the sums, once all wanted parts are complete.
Status gpu_sums_finish(GpuSums *sums, Error *err);

#endif
