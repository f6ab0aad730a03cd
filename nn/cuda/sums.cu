// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/sums.h"

static __global__ void add_parts(size_t parts, size_t cols, const real *partial, real *to) {
    GRID_LOOP(j, cols) {
        real sum = 0;
        for (size_t part = 0; part < parts; part++) sum += partial[part * cols + j];
        to[j] += sum;
    }
}

void cuda_add_parts(Device *device, size_t parts, size_t cols, const real *partial, real *to) {
    LAUNCH(device, cuda_blocks(cols, CUDA_WARP), CUDA_WARP, 0, add_parts, parts, cols, partial, to);
}

template <class Result> static __global__ void sum_all(size_t count, const double *x, double scale, Result *to) {
    double sum = 0;
    THREAD_LOOP(i, count) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *to = static_cast<Result>(scale * sum);
}

void cuda_sum(Device *device, size_t count, const double *x, double scale, real *to) {
    LAUNCH(device, 1, CUDA_THREADS, 0, sum_all<real>, count, x, scale, to);
}

void cuda_sum(Device *device, size_t count, const double *x, double scale, double *to) {
    LAUNCH(device, 1, CUDA_THREADS, 0, sum_all<double>, count, x, scale, to);
}
