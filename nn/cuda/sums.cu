// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sums.h"

static __global__ void add_parts(size_t parts, size_t cols, const real *partial, real *to) {
    cuda_add_parts_in(parts, cols, partial, to);
}

void cuda_add_parts(Device *device, size_t parts, size_t cols, const real *partial, real *to) {
    LAUNCH(device, cuda_blocks(cols, CUDA_WARP), CUDA_WARP, 0, add_parts, parts, cols, partial, to);
}

static __global__ void sum_all(size_t count, const double *x, double scale, real *to) {
    double sum = 0;
    THREAD_LOOP(i, count) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *to = static_cast<real>(scale * sum);
}

void cuda_sum(Device *device, size_t count, const double *x, double scale, real *to) {
    LAUNCH(device, 1, CUDA_THREADS, 0, sum_all, count, x, scale, to);
}
