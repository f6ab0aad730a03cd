// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/activation.h"

#include "nn/cuda/functions.h"

static __global__ void forward(ActivationArgs a) { GRID_LOOP(i, a.count) a.y[i] = act_value(a.kind, a.x[i]); }

static __global__ void backward(ActivationArgs a) {
    GRID_LOOP(i, a.count) a.dx[i] += a.dy[i] * act_slope(a.kind, a.x[i]);
}

void activation_forward_cuda(Device *device, const ActivationArgs *a) {
    if (!cuda_op(device, "activation forward", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, forward, *a);
}

void activation_backward_cuda(Device *device, const ActivationArgs *a) {
    if (!cuda_op(device, "activation backward", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, backward, *a);
}
