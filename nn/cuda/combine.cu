// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"

#include "nn/combine.h"

static __global__ void forward(CombineArgs a) {
    GRID_LOOP(i, a.count) a.y[i] = a.alpha * a.a[i] + (a.b ? a.beta * a.b[i] : 0);
}

// One after the other: da and db may be the same gradient.
static __global__ void backward(CombineArgs a) {
    GRID_LOOP(i, a.count) {
        if (a.da) a.da[i] += a.alpha * a.dy[i];
        if (a.db) a.db[i] += a.beta * a.dy[i];
    }
}

void combine_forward_cuda(Device *device, const CombineArgs *a) {
    if (!cuda_op(device, "combine forward", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, forward, *a);
}

void combine_backward_cuda(Device *device, const CombineArgs *a) {
    if (!cuda_op(device, "combine backward", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, backward, *a);
}
