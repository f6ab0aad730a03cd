// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/silu.h"

#include "nn/silu.h"

#include "nn/cuda/functions.h"

static __global__ void forward(SiluArgs a) { GRID_LOOP(i, a.count) a.y[i] = silu_value(a.x[i]); }

static __global__ void backward(SiluArgs a) { GRID_LOOP(i, a.count) a.dx[i] += a.dy[i] * silu_slope(a.x[i]); }

void silu_forward_cuda(Device *device, const SiluArgs *a) {
    if (!cuda_op(device, "silu forward", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, forward, *a);
}

void silu_backward_cuda(Device *device, const SiluArgs *a) {
    if (!cuda_op(device, "silu backward", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, backward, *a);
}
