// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"

#include "nn/combine.h"

static __global__ void forward(CombineArgs a) {
    GRID_LOOP(at, a.rows * a.cols) {
        size_t i = cuda_quotient(at, a.cols), j = at - i * a.cols - a.first; // wraps left of b's columns
        a.y[at] = a.alpha * a.a[at] + (a.b && j < a.width ? a.beta * a.b[i * a.width + j] : 0);
    }
}

static __global__ void backward_to_a(CombineArgs a) { GRID_LOOP(at, a.rows * a.cols) a.da[at] += a.alpha * a.dy[at]; }

static __global__ void backward_to_b(CombineArgs a) {
    GRID_LOOP(at, a.rows * a.width) {
        size_t i = cuda_quotient(at, a.width), j = at - i * a.width;
        a.db[at] += a.beta * a.dy[i * a.cols + a.first + j];
    }
}

void combine_forward_cuda(Device *device, const CombineArgs *a) {
    if (!cuda_op(device, "combine forward", a->rows, a->cols, a->width)) return;
    LAUNCH(device, cuda_blocks(a->rows * a->cols), CUDA_THREADS, 0, forward, *a);
}

// Not in parallel: da and db may be the same gradient.
void combine_backward_cuda(Device *device, const CombineArgs *a) {
    if (!cuda_op(device, "combine backward", a->rows, a->cols, a->width)) return;
    if (a->da) LAUNCH(device, cuda_blocks(a->rows * a->cols), CUDA_THREADS, 0, backward_to_a, *a);
    if (a->db) LAUNCH(device, cuda_blocks(a->rows * a->width), CUDA_THREADS, 0, backward_to_b, *a);
}
