// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/blas.h"
#include "nn/cuda/functions.h"
#include "nn/cuda/sums.h"

#include "nn/linear.h"

// y (rows, cols): every row is a copy of `row`.
static __global__ void fill_rows(size_t rows, size_t cols, const real *row, real *y) {
    GRID_LOOP(i, rows * cols) y[i] = row[cuda_remainder(i, cols)];
}

void linear_forward_cuda(Device *device, const LinearArgs *a) {
    if (!cuda_op(device, "linear forward", a->rows, a->in, a->out)) return;
    if (a->bias)
        LAUNCH(device, cuda_blocks(a->rows * a->out), CUDA_THREADS, 0, fill_rows, a->rows, a->out, a->bias, a->y);
    cuda_matmul(device, PLAIN, PLAIN, a->rows, a->out, a->in, a->x, a->in, a->weight, a->out, a->bias ? 1 : 0, a->y,
                a->out);
}

void linear_backward_cuda(Device *device, const LinearArgs *a) {
    if (!cuda_op(device, "linear backward", a->rows, a->in, a->out)) return;
    if (a->dx)
        cuda_matmul(device, PLAIN, TRANSPOSED, a->rows, a->in, a->out, a->dy, a->out, a->weight, a->out, 1, a->dx,
                    a->in);
    if (a->dweight)
        cuda_matmul(device, TRANSPOSED, PLAIN, a->in, a->out, a->rows, a->x, a->in, a->dy, a->out, 1, a->dweight,
                    a->out);
    if (a->dbias) cuda_add_column_sums(device, a->rows, a->out, CudaMatrix{a->dy, a->out}, a->dbias);
}
