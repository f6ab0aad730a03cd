// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/dnn.cu: plain loops over images, pixels and the nine taps.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include "nn/cuda/dnn.h"

#include <string.h>

// do_tap(row of x, row of y, tap) for every tap of every pixel that lies in the image.
template <class Tap> static void each_tap(CudaConv c, Tap do_tap) {
    ImageShape s = c.shape;
    for (size_t pixel = 0; pixel < image_pixels(s); pixel++)
        for (size_t tap = 0; tap < 9; tap++) {
            size_t i = pixel / s.w % s.h + tap / 3 - 1, j = pixel % s.w + tap % 3 - 1; // wraps in the padding
            if (i < s.h && j < s.w) do_tap(pixel - pixel % (s.h * s.w) + i * s.w + j, pixel, tap);
        }
}

// Of factors: TF32 also for bf16.
static Precision rounding(const Device *device) {
    return device->precision == PRECISION_F32 ? PRECISION_F32 : PRECISION_TF32;
}

void cuda_conv_forward(Device *device, CudaConv c, const real *x, const real *filter, real *y) {
    if (device->failed) return;
    cuda_on_cpu_enter();
    auto factor = [p = rounding(device)](real value) { return cuda_on_cpu_round(p, value); };
    each_tap(c, [=](size_t from, size_t to, size_t tap) {
        for (size_t o = 0; o < c.out; o++)
            for (size_t i = 0; i < c.in; i++)
                y[to * c.out + o] += factor(x[from * c.in + i]) * factor(filter[(o * 9 + tap) * c.in + i]);
    });
    cuda_on_cpu_leave();
}

void cuda_conv_backward_data(Device *device, CudaConv c, const real *filter, const real *dy, bool add, real *dx) {
    if (device->failed) return;
    cuda_on_cpu_enter();
    auto factor = [p = rounding(device)](real value) { return cuda_on_cpu_round(p, value); };
    if (!add) memset(dx, 0, image_pixels(c.shape) * c.in * sizeof *dx);
    each_tap(c, [=](size_t from, size_t to, size_t tap) {
        for (size_t o = 0; o < c.out; o++)
            for (size_t i = 0; i < c.in; i++)
                dx[from * c.in + i] += factor(dy[to * c.out + o]) * factor(filter[(o * 9 + tap) * c.in + i]);
    });
    cuda_on_cpu_leave();
}

void cuda_conv_backward_filter(Device *device, CudaConv c, const real *x, const real *dy, real *dfilter) {
    if (device->failed) return;
    cuda_on_cpu_enter();
    auto factor = [p = rounding(device)](real value) { return cuda_on_cpu_round(p, value); };
    memset(dfilter, 0, c.out * 9 * c.in * sizeof *dfilter);
    each_tap(c, [=](size_t from, size_t to, size_t tap) {
        for (size_t o = 0; o < c.out; o++)
            for (size_t i = 0; i < c.in; i++)
                dfilter[(o * 9 + tap) * c.in + i] += factor(dy[to * c.out + o]) * factor(x[from * c.in + i]);
    });
    cuda_on_cpu_leave();
}

void cuda_dnn_close(Device *) {}
