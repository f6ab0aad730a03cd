// SPDX-License-Identifier: Apache-2.0
// A warp takes a row.
#include "nn/layer_norm.h"

#include "nn/cuda/functions.h"
#include "nn/cuda/sums.h"

// Mean of a row and 1 / sqrt(variance + epsilon).
struct Moments {
    real mean, rate;
};

static __device__ Moments row_moments(size_t cols, const real *x) {
    real sum = 0, square = 0, count = static_cast<real>(cols);
    for (size_t j = cuda_lane(); j < cols; j += CUDA_WARP) sum += x[j];
    real mean = warp_sum(sum) / count;
    for (size_t j = cuda_lane(); j < cols; j += CUDA_WARP) square += (x[j] - mean) * (x[j] - mean);
    return {mean, 1 / real_sqrt(warp_sum(square) / count + NORM_EPSILON)};
}

static __global__ void forward(LayerNormArgs a) {
    WARP_LOOP(i, a.rows) {
        const real *x = a.x + i * a.cols;
        real *y = a.y + i * a.cols;
        Moments m = row_moments(a.cols, x);
        for (size_t j = cuda_lane(); j < a.cols; j += CUDA_WARP)
            y[j] = (x[j] - m.mean) * m.rate * a.gain[j] + a.offset[j];
    }
}

void layer_norm_forward_cuda(Device *device, const LayerNormArgs *a) {
    if (!cuda_op(device, "layer norm forward", a->rows, a->cols)) return;
    LAUNCH(device, cuda_blocks(a->rows, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, forward, *a);
}

// With n = (x - mean) rate and g = dy gain: dx = rate (g - mean(g) - n mean(g n)).
static __global__ void backward(LayerNormArgs a, Moments *moments) {
    WARP_LOOP(i, a.rows) {
        const real *x = a.x + i * a.cols, *dy = a.dy + i * a.cols;
        real sum = 0, product = 0, count = static_cast<real>(a.cols);
        Moments m = row_moments(a.cols, x);
        for (size_t j = cuda_lane(); j < a.cols; j += CUDA_WARP) {
            real g = dy[j] * a.gain[j];
            sum += g;
            product += g * (x[j] - m.mean) * m.rate;
        }
        sum = warp_sum(sum) / count;
        product = warp_sum(product) / count;
        for (size_t j = cuda_lane(); a.dx && j < a.cols; j += CUDA_WARP)
            a.dx[i * a.cols + j] += m.rate * (dy[j] * a.gain[j] - sum - (x[j] - m.mean) * m.rate * product);
        if (cuda_lane() == 0) moments[i] = m;
    }
}

// dy n, whose column sums are the gain's gradient.
struct GainTerm {
    const real *x, *dy;
    const Moments *moments;
    size_t cols;
    __device__ real operator()(size_t i, size_t j) const {
        return dy[i * cols + j] * (x[i * cols + j] - moments[i].mean) * moments[i].rate;
    }
};

void layer_norm_backward_cuda(Device *device, const LayerNormArgs *a) {
    if (!cuda_op(device, "layer norm backward", a->rows, a->cols)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    Moments *moments = static_cast<Moments *>(device_scratch_bytes(device, a->rows * sizeof *moments));
    LAUNCH(device, cuda_blocks(a->rows, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, backward, *a, moments);
    if (a->dgain) cuda_add_column_sums(device, a->rows, a->cols, GainTerm{a->x, a->dy, moments, a->cols}, a->dgain);
    if (a->doffset) cuda_add_column_sums(device, a->rows, a->cols, CudaMatrix{a->dy, a->cols}, a->doffset);
    arena_release(&device->scratch, mark);
}
