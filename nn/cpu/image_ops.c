// SPDX-License-Identifier: Apache-2.0
// Tasks are rows of one plane (nn/image_shape.h): a plane is an image, or some channels of it where these lie in
// blocks.
#include "nn/image_ops.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

// The plane of x that a task works on and the place of its channels in y.
typedef struct Plane {
    size_t run;              // channels of x beside each other
    size_t x_first, y_first; // element of pixel (0,0)
    size_t y_stride;         // elements between pixels of y
    size_t row;
} Plane;

// Task t of planes x rows.
static Plane plane_at(const ImageOpArgs *a, size_t rows, size_t t) {
    size_t run = image_run(a->block, a->channels), y_run = image_run(a->y_block, a->y_channels),
           per_image = a->channels / run;
    size_t image = t / rows / per_image, channel = t / rows % per_image * run, y_channel = a->first + channel;
    size_t x_pixels = a->from.h * a->from.w, y_pixels = a->to.h * a->to.w;
    return (Plane){.run = run,
                   .x_first = (image * a->channels + channel) * x_pixels,
                   .y_first = (image * a->y_channels + y_channel / y_run * y_run) * y_pixels + y_channel % y_run,
                   .y_stride = y_run,
                   .row = t % rows};
}

static size_t plane_count(const ImageOpArgs *a) { return a->from.n * (a->channels / image_run(a->block, a->channels)); }

static size_t at_most(size_t x, size_t limit) { return x < limit ? x : limit; }

// Row and column of x that row or column i of y repeats.
static size_t source(const ImageOpArgs *a, size_t i, size_t size) {
    return a->kind == IMAGE_UPSAMPLE ? i / 2 : at_most(i, size - 1);
}

CPU_INLINE void pool_row(const ImageOpArgs *a, const Plane *p, size_t run) {
    const real *restrict x = a->x + p->x_first + 2 * p->row * a->from.w * run, *restrict below = x + a->from.w * run;
    real *restrict y = a->y + p->y_first + p->row * a->to.w * p->y_stride;
    for (size_t j = 0; j < a->to.w; j++, x += 2 * run, below += 2 * run, y += p->y_stride)
        for (size_t c = 0; c < run; c++) y[c] = (x[c] + x[run + c] + below[c] + below[run + c]) / 4;
}

CPU_INLINE void copy_row(const ImageOpArgs *a, const Plane *p, size_t run) {
    const real *x = a->x + p->x_first + source(a, p->row, a->from.h) * a->from.w * run;
    real *y = a->y + p->y_first + p->row * a->to.w * p->y_stride;
    for (size_t j = 0; j < a->to.w; j++, y += p->y_stride)
        memcpy(y, x + source(a, j, a->from.w) * run, run * sizeof *y);
}

CPU_INLINE void forward_row(const ImageOpArgs *a, const Plane *p, size_t run) {
    if (a->kind == IMAGE_AVERAGE_POOL) pool_row(a, p, run);
    else copy_row(a, p, run);
}

void CPU_FN(image_op_forward)(Device *device, const ImageOpArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t t = 0; t < plane_count(a) * a->to.h; t++) {
        Plane p = plane_at(a, a->to.h, t);
        if (p.run == 8) forward_row(a, &p, 8);
        else if (p.run == 16) forward_row(a, &p, 16);
        else forward_row(a, &p, p.run);
    }
}

CPU_INLINE void unpool_row(const ImageOpArgs *a, const Plane *p, size_t run) {
    real *restrict dx = a->dx + p->x_first + p->row * a->from.w * run;
    const real *restrict dy = a->dy + p->y_first + p->row / 2 * a->to.w * p->y_stride;
    for (size_t j = 0; j < a->from.w; j++, dx += run)
        for (size_t c = 0; c < run; c++) dx[c] += dy[j / 2 * p->y_stride + c] / 4;
}

// Every pixel of y's row i adds into the one it repeats.
CPU_INLINE void gather_row(const ImageOpArgs *a, const Plane *p, size_t i, size_t run) {
    real *restrict x = a->dx + p->x_first + p->row * a->from.w * run;
    const real *restrict dy = a->dy + p->y_first + i * a->to.w * p->y_stride;
    for (size_t j = 0; j < a->to.w; j++, dy += p->y_stride) {
        real *restrict dx = x + source(a, j, a->from.w) * run;
        for (size_t c = 0; c < run; c++) dx[c] += dy[c];
    }
}

// Rows of y whose pixels repeat row i of x: [first, last).
static void rows_from(const ImageOpArgs *a, size_t i, size_t *first, size_t *last) {
    *first = a->kind == IMAGE_UPSAMPLE ? 2 * i : at_most(i, a->to.h);
    *last = a->kind == IMAGE_UPSAMPLE ? 2 * i + 2 : at_most(i + 1, a->to.h);
    if (a->kind == IMAGE_PAD && i + 1 == a->from.h) *last = a->to.h;
}

CPU_INLINE void backward_row(const ImageOpArgs *a, const Plane *p, size_t run) {
    size_t first = 0, last = 0;
    if (a->dx_is_new) memset(a->dx + p->x_first + p->row * a->from.w * run, 0, a->from.w * run * sizeof *a->dx);
    if (a->kind == IMAGE_AVERAGE_POOL) unpool_row(a, p, run);
    else rows_from(a, p->row, &first, &last);
    for (size_t i = first; i < last; i++) gather_row(a, p, i, run);
}

void CPU_FN(image_op_backward)(Device *device, const ImageOpArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t t = 0; t < plane_count(a) * a->from.h; t++) {
        Plane p = plane_at(a, a->from.h, t);
        if (p.run == 8) backward_row(a, &p, 8);
        else if (p.run == 16) backward_row(a, &p, 16);
        else backward_row(a, &p, p.run);
    }
}
