// SPDX-License-Identifier: Apache-2.0
// One thread per element of y (forward) or of x (backward). Images are NHWC here: image_block is 0.
#include "nn/image_ops.h"

#include "nn/cuda/functions.h"

// An element of an image.
struct Place {
    size_t image, i, j, channel;
};

static __device__ Place place_of(size_t at, ImageShape shape, size_t channels) {
    size_t pixel = cuda_quotient(at, channels), row = cuda_quotient(pixel, shape.w),
           image = cuda_quotient(row, shape.h);
    return {image, row - image * shape.h, pixel - row * shape.w, at - pixel * channels};
}

static __device__ inline size_t pixel_at(ImageShape shape, size_t image, size_t i, size_t j) {
    return (image * shape.h + i) * shape.w + j;
}

// Row and column of x that row or column i of y repeats.
static __device__ inline size_t source(ImageOpKind kind, size_t i, size_t size) {
    if (kind == IMAGE_UPSAMPLE) return i / 2;
    return i < size ? i : size - 1;
}

static __global__ void forward(ImageOpArgs a, size_t count) {
    GRID_LOOP(at, count) {
        Place p = place_of(at, a.to, a.channels);
        const real *x = a.x + p.channel;
        real *y = a.y + pixel_at(a.to, p.image, p.i, p.j) * a.y_channels + a.first + p.channel;
        if (a.kind == IMAGE_AVERAGE_POOL) {
            const real *corner = x + pixel_at(a.from, p.image, 2 * p.i, 2 * p.j) * a.channels,
                       *below = corner + a.from.w * a.channels;
            *y = (corner[0] + corner[a.channels] + below[0] + below[a.channels]) / 4;
        } else {
            size_t i = source(a.kind, p.i, a.from.h), j = source(a.kind, p.j, a.from.w);
            *y = x[pixel_at(a.from, p.image, i, j) * a.channels];
        }
    }
}

// Rows of y (or columns) that repeat row i of x (of `size`): [first, last).
struct Range {
    size_t first, last;
};

static __device__ Range repeats(ImageOpKind kind, size_t i, size_t size, size_t to) {
    if (kind == IMAGE_UPSAMPLE) return {2 * i, 2 * i + 2};
    Range r = {i < to ? i : to, i + 1 < to ? i + 1 : to};
    if (kind == IMAGE_PAD && i + 1 == size) r.last = to;
    return r;
}

static __global__ void backward(ImageOpArgs a, size_t count) {
    GRID_LOOP(at, count) {
        Place p = place_of(at, a.from, a.channels);
        const real *dy = a.dy + a.first + p.channel;
        real sum = a.dx_is_new ? 0 : a.dx[at];
        if (a.kind == IMAGE_AVERAGE_POOL) {
            sum += dy[pixel_at(a.to, p.image, p.i / 2, p.j / 2) * a.y_channels] / 4;
        } else {
            Range rows = repeats(a.kind, p.i, a.from.h, a.to.h), columns = repeats(a.kind, p.j, a.from.w, a.to.w);
            for (size_t i = rows.first; i < rows.last; i++)
                for (size_t j = columns.first; j < columns.last; j++)
                    sum += dy[pixel_at(a.to, p.image, i, j) * a.y_channels];
        }
        a.dx[at] = sum;
    }
}

static bool begin(Device *device, const ImageOpArgs *a, const char *name) {
    CHECK(image_run(a->block, a->channels) == a->channels && image_run(a->y_block, a->y_channels) == a->y_channels);
    return cuda_op(device, name, a->from.n, a->from.h, a->from.w, a->channels);
}

void image_op_forward_cuda(Device *device, const ImageOpArgs *a) {
    if (!begin(device, a, "image op forward")) return;
    size_t count = image_pixels(a->to) * a->channels;
    LAUNCH(device, cuda_blocks(count), CUDA_THREADS, 0, forward, *a, count);
}

void image_op_backward_cuda(Device *device, const ImageOpArgs *a) {
    if (!begin(device, a, "image op backward")) return;
    size_t count = image_pixels(a->from) * a->channels;
    LAUNCH(device, cuda_blocks(count), CUDA_THREADS, 0, backward, *a, count);
}
