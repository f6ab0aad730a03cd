// SPDX-License-Identifier: Apache-2.0
// Small kernels on matrices that several ops use.
#ifndef VPD_NN_CUDA_MATRIX_H
#define VPD_NN_CUDA_MATRIX_H

#include "nn/cuda/launch.h"

// y (rows, cols): every row is a copy of `row` (cols).
void cuda_fill_rows(Device *device, size_t rows, size_t cols, const real *row, real *y);

// y (cols, rows) = the transposed x (rows, cols), or += with `add`.
void cuda_transpose(Device *device, size_t rows, size_t cols, const real *x, bool add, real *y);

#endif
