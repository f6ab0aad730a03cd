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

// dfilter, dx or y of a call; factors are TF32 also for bf16.
static void convolve(const CudaConvCall &call) {
    CudaConvKind kind = call.kind;
    CudaConv c = call.conv;
    const real *x = call.x, *filter = call.filter, *dy = call.dy;
    real *out = call.out;
    Precision rounding = call.precision == PRECISION_F32 ? PRECISION_F32 : PRECISION_TF32;
    auto factor = [=](real value) { return cuda_on_cpu_round(rounding, value); };
    size_t written = kind == CudaConvKind::backward_filter ? c.out * 9 : image_pixels(c.shape);
    if (!call.add) memset(out, 0, written * c.in * sizeof *out);
    each_tap(c, [=](size_t from, size_t to, size_t tap) {
        for (size_t o = 0; o < c.out; o++)
            for (size_t i = 0; i < c.in; i++) {
                size_t weight = (o * 9 + tap) * c.in + i;
                if (kind == CudaConvKind::forward)
                    out[to * c.out + o] += factor(x[from * c.in + i]) * factor(filter[weight]);
                if (kind == CudaConvKind::backward_data)
                    out[from * c.in + i] += factor(dy[to * c.out + o]) * factor(filter[weight]);
                if (kind == CudaConvKind::backward_filter)
                    out[weight] += factor(dy[to * c.out + o]) * factor(x[from * c.in + i]);
            }
    });
}

void CudaConvCall::run(Device *) const {
    cuda_on_cpu_do([call = *this] { convolve(call); });
}

void cuda_dnn_close(Device *) {}
