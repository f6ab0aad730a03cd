// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/dnn.cu: plain loops over images, pixels and the nine taps.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include "nn/cuda/dnn.h"

#include <string.h>
#include <vector>

// do_tap(row of x, row of y, tap) for every tap of every pixel that lies in the image.
template <class Tap> static void each_tap(CudaConv c, Tap do_tap) {
    ImageShape s = c.shape;
    for (size_t pixel = 0; pixel < image_pixels(s); pixel++)
        for (size_t tap = 0; tap < 9; tap++) {
            size_t i = pixel / s.w % s.h + tap / 3 - 1, j = pixel % s.w + tap % 3 - 1; // wraps in the padding
            if (i < s.h && j < s.w) do_tap(pixel - pixel % (s.h * s.w) + i * s.w + j, pixel, tap);
        }
}

// What a call multiplies: factors are TF32 also for bf16.
static std::vector<real> factors(const CudaConvCall &call, const real *from, size_t count) {
    std::vector<real> out(from, from + count);
    if (call.precision == PRECISION_F32) return out;
    for (real &value : out) value = cuda_on_cpu_round(PRECISION_TF32, value);
    return out;
}

static void forward(CudaConv c, const real *x, const real *filter, real *y) {
    each_tap(c, [=](size_t from, size_t to, size_t tap) {
        for (size_t o = 0; o < c.out; o++)
            for (size_t i = 0; i < c.in; i++)
                y[to * c.out + o] += x[from * c.in + i] * filter[(o * 9 + tap) * c.in + i];
    });
}

static void backward_data(CudaConv c, const real *dy, const real *filter, real *dx) {
    each_tap(c, [=](size_t from, size_t to, size_t tap) {
        for (size_t o = 0; o < c.out; o++)
            for (size_t i = 0; i < c.in; i++)
                dx[from * c.in + i] += dy[to * c.out + o] * filter[(o * 9 + tap) * c.in + i];
    });
}

static void backward_filter(CudaConv c, const real *x, const real *dy, real *dfilter) {
    each_tap(c, [=](size_t from, size_t to, size_t tap) {
        for (size_t o = 0; o < c.out; o++)
            for (size_t i = 0; i < c.in; i++)
                dfilter[(o * 9 + tap) * c.in + i] += dy[to * c.out + o] * x[from * c.in + i];
    });
}

// dfilter, dx or y of a call.
static void convolve(const CudaConvCall &call) {
    CudaConvKind kind = call.kind;
    CudaConv c = call.conv;
    bool reads_x = kind != CudaConvKind::backward_data, reads_filter = kind != CudaConvKind::backward_filter;
    size_t pixels = image_pixels(c.shape), weights = c.out * 9 * c.in;
    if (!call.add) memset(call.out, 0, (reads_filter ? pixels * c.in : weights) * sizeof *call.out);
    auto x = factors(call, call.x, reads_x ? pixels * c.in : 0);
    auto filter = factors(call, call.filter, reads_filter ? weights : 0);
    auto dy = factors(call, call.dy, kind == CudaConvKind::forward ? 0 : pixels * c.out);
    if (kind == CudaConvKind::forward) forward(c, x.data(), filter.data(), call.out);
    if (kind == CudaConvKind::backward_data) backward_data(c, dy.data(), filter.data(), call.out);
    if (kind == CudaConvKind::backward_filter) backward_filter(c, x.data(), dy.data(), call.out);
}

void CudaConvCall::run(Device *) const {
    cuda_on_cpu_do([call = *this] { convolve(call); });
}

void cuda_dnn_close(Device *) {}
