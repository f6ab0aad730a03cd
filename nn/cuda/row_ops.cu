// SPDX-License-Identifier: Apache-2.0
#include "nn/row_ops.h"

#include "nn/cuda/each_row.h"
#include "nn/cuda/functions.h"

static __global__ void gather(RowGatherArgs a) {
    GRID_LOOP(i, a.count * a.width) {
        size_t row = cuda_quotient(i, a.width), c = i - row * a.width,
               from = a.index ? static_cast<size_t>(a.index[row]) : row;
        a.out[row * a.stride + a.column + c] = a.scale * a.x[from * a.width + c];
    }
}

void row_gather_cuda(Device *device, const RowGatherArgs *a) {
    if (!cuda_op(device, "row gather", a->count, a->width)) return;
    LAUNCH(device, cuda_blocks(a->count * a->width), CUDA_THREADS, 0, gather, *a);
}

static __global__ void add(RowAddArgs a) { GRID_LOOP(i, a.count) a.out[i] = a.a[i] + a.factor * a.b[i]; }

void row_add_cuda(Device *device, const RowAddArgs *a) {
    if (!cuda_op(device, "row add", a->count)) return;
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, add, *a);
}

void row_mean_cuda(Device *device, const RowMeanArgs *a) {
    cuda_each_row<RowMeanArgs, row_mean_of>(device, "row mean", a, a->queries);
}
