// SPDX-License-Identifier: Apache-2.0
#include "nn/conv2d.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/onednn.h"

#ifndef VPD_DOUBLE

void CPU_FN(conv2d_close)(Device *device) { onednn_close(device); }
void CPU_FN(conv2d_forward)(Device *device, const Conv2dArgs *a) { onednn_conv2d_forward(device, a); }
void CPU_FN(conv2d_backward)(Device *device, const Conv2dArgs *a) { onednn_conv2d_backward(device, a); }

#else // plain loops: the reference, and what finite differences run on

void CPU_FN(conv2d_close)(Device *device) { (void)device; }

// Row of x under tap (k,l) of output pixel (n,i,j), or -1 in the padding.
static ptrdiff_t tap_row(ImageShape s, size_t n, size_t i, size_t j, size_t k, size_t l) {
    if (i + k < 1 || i + k > s.h || j + l < 1 || j + l > s.w) return -1;
    return (ptrdiff_t)((n * s.h + i + k - 1) * s.w + j + l - 1);
}

static void forward_pixel(const Conv2dArgs *a, size_t n, size_t i, size_t j) {
    real *y = a->y + ((n * a->shape.h + i) * a->shape.w + j) * a->out;
    memcpy(y, a->bias, a->out * sizeof *y);
    for (size_t tap = 0; tap < 9; tap++) {
        ptrdiff_t row = tap_row(a->shape, n, i, j, tap / 3, tap % 3);
        for (size_t c = 0; row >= 0 && c < a->in; c++)
            for (size_t o = 0; o < a->out; o++)
                y[o] += a->x[(size_t)row * a->in + c] * a->weight[(tap * a->in + c) * a->out + o];
    }
}

static void backward_pixel(const Conv2dArgs *a, size_t n, size_t i, size_t j) {
    const real *dy = a->dy + ((n * a->shape.h + i) * a->shape.w + j) * a->out;
    for (size_t o = 0; a->dbias && o < a->out; o++) a->dbias[o] += dy[o];
    for (size_t tap = 0; tap < 9; tap++) {
        ptrdiff_t row = tap_row(a->shape, n, i, j, tap / 3, tap % 3);
        for (size_t c = 0; row >= 0 && c < a->in; c++) {
            size_t at = (size_t)row * a->in + c, w = (tap * a->in + c) * a->out;
            for (size_t o = 0; o < a->out; o++) {
                if (a->dx) a->dx[at] += dy[o] * a->weight[w + o];
                if (a->dweight) a->dweight[w + o] += dy[o] * a->x[at];
            }
        }
    }
}

void CPU_FN(conv2d_forward)(Device *device, const Conv2dArgs *a) {
    (void)device;
    for (size_t n = 0; n < a->shape.n; n++)
        for (size_t i = 0; i < a->shape.h; i++)
            for (size_t j = 0; j < a->shape.w; j++) forward_pixel(a, n, i, j);
}

void CPU_FN(conv2d_backward)(Device *device, const Conv2dArgs *a) {
    (void)device;
    if (a->dx && a->dx_is_new) memset(a->dx, 0, image_pixels(a->shape) * a->in * sizeof(real));
    for (size_t n = 0; n < a->shape.n; n++)
        for (size_t i = 0; i < a->shape.h; i++)
            for (size_t j = 0; j < a->shape.w; j++) backward_pixel(a, n, i, j);
}

#endif
