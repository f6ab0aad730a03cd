// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"

#include "nn/combine.h"

static __global__ void forward(CombineArgs a) {
    GRID_LOOP(i, a.count) a.y[i] = a.alpha * a.a[i] + (a.b ? a.beta * a.b[i] : 0);
}

static __global__ void add(size_t count, real factor, const real *x, real *y) {
    GRID_LOOP(i, count) y[i] += factor * x[i];
}

void combine_forward_cuda(Device *device, const CombineArgs *a) {
    if (!cuda_op(device, "combine forward", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, forward, *a);
}

// Not in parallel: da and db may be the same gradient.
void combine_backward_cuda(Device *device, const CombineArgs *a) {
    if (!cuda_op(device, "combine backward", a->count)) return;
    if (a->da) LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, add, a->count, a->alpha, a->dy, a->da);
    if (a->db) LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, add, a->count, a->beta, a->dy, a->db);
}
