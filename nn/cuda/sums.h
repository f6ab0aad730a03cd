// SPDX-License-Identifier: Apache-2.0
// Sums over rows in a fixed order: parts of CUDA_SUM_ROWS rows each, then the parts in their order.
#ifndef VPD_NN_CUDA_SUMS_H
#define VPD_NN_CUDA_SUMS_H

#include "nn/cuda/launch.h"

constexpr size_t CUDA_SUM_ROWS = 256;

// to[j] += sum_i x[i * stride + j] for j < cols; scratch memory is marked and released.
void cuda_add_column_sums(Device *device, size_t rows, size_t cols, const real *x, size_t stride, real *to);

// *to = (float)(scale * sum of count values), in double; count may be 0.
void cuda_sum(Device *device, size_t count, const double *x, double scale, real *to);

#endif
