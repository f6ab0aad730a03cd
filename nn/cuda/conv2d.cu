// SPDX-License-Identifier: Apache-2.0
// The weight (3,3,in,out) is, as a matrix (9 in, out), the transpose of cuDNN's filter (out,3,3,in).
#include "nn/conv2d.h"

#include "nn/cuda/dnn.h"
#include "nn/cuda/functions.h"
#include "nn/cuda/matrix.h"
#include "nn/cuda/sums.h"

static bool begin(Device *device, const Conv2dArgs *a, const char *name) {
    CHECK(image_run(a->block, a->in) == a->in && image_run(a->block, a->out) == a->out); // image_block is 0
    return cuda_op(device, name, a->shape.n, a->shape.h, a->shape.w, a->in, a->out) && image_pixels(a->shape) > 0;
}

void conv2d_forward_cuda(Device *device, const Conv2dArgs *a) {
    if (!begin(device, a, "conv2d forward")) return;
    ArenaMark mark = arena_mark(&device->scratch);
    real *filter = device_scratch(device, 9 * a->in * a->out);
    cuda_transpose(device, 9 * a->in, a->out, a->weight, false, filter);
    cuda_fill_rows(device, image_pixels(a->shape), a->out, a->bias, a->y);
    cuda_conv_forward(device, {a->shape, a->in, a->out}, a->x, filter, a->y);
    arena_release(&device->scratch, mark);
}

void conv2d_backward_cuda(Device *device, const Conv2dArgs *a) {
    if (!begin(device, a, "conv2d backward")) return;
    CudaConv conv = {a->shape, a->in, a->out};
    ArenaMark mark = arena_mark(&device->scratch);
    real *filter = device_scratch(device, 9 * a->in * a->out);
    if (a->dx) {
        cuda_transpose(device, 9 * a->in, a->out, a->weight, false, filter);
        cuda_conv_backward_data(device, conv, filter, a->dy, !a->dx_is_new, a->dx);
    }
    if (a->dweight) {
        cuda_conv_backward_filter(device, conv, a->x, a->dy, filter);
        cuda_transpose(device, a->out, 9 * a->in, filter, true, a->dweight);
    }
    if (a->dbias) cuda_add_column_sums(device, image_pixels(a->shape), a->out, CudaMatrix{a->dy, a->out}, a->dbias);
    arena_release(&device->scratch, mark);
}
