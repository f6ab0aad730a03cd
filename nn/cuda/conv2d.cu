// SPDX-License-Identifier: Apache-2.0
// The weight (3,3,in,out) is, as a matrix (9 in, out), the transpose of cuDNN's filter (out,3,3,in).
#include "nn/conv2d.h"

#include "nn/cuda/dnn.h"
#include "nn/cuda/functions.h"
#include "nn/cuda/sums.h"

// y (cols, rows) = (or += with `add`) the transpose of x (rows, cols), by tiles of 32 x 32, so that reads and writes
// both run along rows. The 33rd column keeps lanes on different banks.
static __device__ void transpose(size_t rows, size_t cols, const real *x, bool add, real *y) {
    __shared__ real tile[CUDA_WARP][CUDA_WARP + 1];
    size_t across = (cols + CUDA_WARP - 1) / CUDA_WARP, down = (rows + CUDA_WARP - 1) / CUDA_WARP;
    BLOCK_LOOP(task, across * down) {
        size_t top = task / across * CUDA_WARP, left = task % across * CUDA_WARP;
        for (size_t i = cuda_warp(); i < CUDA_WARP && top + i < rows; i += CUDA_THREADS / CUDA_WARP)
            if (left + cuda_lane() < cols) tile[i][cuda_lane()] = x[(top + i) * cols + left + cuda_lane()];
        __syncthreads();
        for (size_t j = cuda_warp(); j < CUDA_WARP && left + j < cols; j += CUDA_THREADS / CUDA_WARP) {
            real *to = y + (left + j) * rows + top + cuda_lane();
            if (top + cuda_lane() < rows) *to = (add ? *to : 0) + tile[cuda_lane()][j];
        }
        __syncthreads();
    }
}

static size_t transpose_blocks(size_t rows, size_t cols) {
    return cuda_blocks((rows + CUDA_WARP - 1) / CUDA_WARP * ((cols + CUDA_WARP - 1) / CUDA_WARP), 1);
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

// The filter, and the bias in each pixel of y, to which the products are added.
static __global__ void before_forward(Conv2dArgs a, size_t pixels, real *filter) {
    transpose(9 * a.in, a.out, a.weight, false, filter);
    GRID_LOOP(i, pixels * a.out) a.y[i] = a.bias[cuda_remainder(i, a.out)];
}

// The filter where dx is wanted, and sums over the pixels of each part for the bias.
static __global__ void before_backward(Conv2dArgs a, size_t pixels, real *filter, real *partial) {
    if (a.dx) transpose(9 * a.in, a.out, a.weight, false, filter);
    if (a.dbias) cuda_sum_parts_in(pixels, a.out, CudaMatrix{a.dy, a.out}, partial);
}

// Adds the filter's gradient to the weight's, and the parts' sums to the bias's.
static __global__ void after_backward(Conv2dArgs a, size_t pixels, const real *filter, const real *partial) {
    if (a.dweight) transpose(a.out, 9 * a.in, filter, true, a.dweight);
    if (a.dbias) cuda_add_parts_in(cuda_parts(pixels), a.out, partial, a.dbias);
}

static bool begin(Device *device, const Conv2dArgs *a, const char *name) {
    CHECK(image_run(a->block, a->in) == a->in && image_run(a->block, a->out) == a->out); // image_block is 0
    return cuda_op(device, name, a->shape.n, a->shape.h, a->shape.w, a->in, a->out) && image_pixels(a->shape) > 0;
}

void conv2d_forward_cuda(Device *device, const Conv2dArgs *a) {
    if (!begin(device, a, "conv2d forward")) return;
    ArenaMark mark = arena_mark(&device->scratch);
    size_t pixels = image_pixels(a->shape), blocks = transpose_blocks(9 * a->in, a->out);
    real *filter = device_scratch(device, 9 * a->in * a->out);
    LAUNCH(device, larger(blocks, cuda_blocks(pixels * a->out)), CUDA_THREADS, 0, before_forward, *a, pixels, filter);
    cuda_conv_forward(device, {a->shape, a->in, a->out}, a->x, filter, a->y);
    arena_release(&device->scratch, mark);
}

void conv2d_backward_cuda(Device *device, const Conv2dArgs *a) {
    if (!begin(device, a, "conv2d backward")) return;
    CudaConv conv = {a->shape, a->in, a->out};
    ArenaMark mark = arena_mark(&device->scratch);
    size_t pixels = image_pixels(a->shape), blocks = transpose_blocks(9 * a->in, a->out),
           sums = a->dbias ? cuda_sum_parts_blocks(pixels, a->out) : 0;
    real *filter = device_scratch(device, 9 * a->in * a->out),
         *partial = a->dbias ? device_scratch(device, cuda_parts(pixels) * a->out) : nullptr;
    LAUNCH(device, larger(a->dx ? blocks : 0, sums), CUDA_THREADS, 0, before_backward, *a, pixels, filter, partial);
    if (a->dx) cuda_conv_backward_data(device, conv, filter, a->dy, !a->dx_is_new, a->dx);
    if (a->dweight) cuda_conv_backward_filter(device, conv, a->x, a->dy, filter);
    LAUNCH(device, larger(a->dweight ? blocks : 0, a->dbias ? cuda_blocks(a->out) : 0), CUDA_THREADS, 0, after_backward,
           *a, pixels, filter, partial);
    arena_release(&device->scratch, mark);
}
