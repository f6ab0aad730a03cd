// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"

#include "nn/columns.h"

static __global__ void copy(CopyColumnsArgs a) {
    GRID_LOOP(at, a.rows * a.cols) {
        size_t i = cuda_quotient(at, a.cols), j = at - i * a.cols;
        real *to = a.to + i * a.to_stride + j, x = a.from[i * a.from_stride + j];
        *to = a.add ? *to + x : x;
    }
}

void copy_columns_cuda(Device *device, const CopyColumnsArgs *a) {
    if (!cuda_op(device, "copy columns", a->rows, a->cols)) return;
    LAUNCH(device, cuda_blocks(a->rows * a->cols), CUDA_THREADS, 0, copy, *a);
}
