// SPDX-License-Identifier: Apache-2.0
// Convolutions: cuDNN behind one function (tests: tests/cuda_on_cpu/library_dnn.cpp, tests/cuda/dnn_test.cpp). 3x3,
// padding 1, stride 1; images are NHWC, filters (out,3,3,in). Algorithms are chosen once per shape and precision among
// those whose sums have a fixed order. With device->precision tf32 or bf16 factors are rounded to TF32: cuDNN takes
// images of bfloat16, but no products in it of images that are not.
#ifndef VPD_NN_CUDA_DNN_H
#define VPD_NN_CUDA_DNN_H

#include "nn/cuda/launch.h"

#include "nn/image_shape.h"

struct CudaConv {
    ImageShape shape; // n > 0
    size_t in, out;   // channels
};

enum class CudaConvKind { forward, backward_data, backward_filter };

struct CudaConvCall {
    CudaConvKind kind;
    Precision precision;
    CudaConv conv;
    const real *x, *filter, *dy;
    bool add;
    real *out;

    bool operator==(const CudaConvCall &other) const {
        return kind == other.kind && precision == other.precision && !memcmp(&conv, &other.conv, sizeof conv) &&
               x == other.x && filter == other.filter && dy == other.dy && add == other.add && out == other.out;
    }
    void run(Device *device) const; // the one function
};

// y (n,h,w,out) += the convolution of x (n,h,w,in)
static inline void cuda_conv_forward(Device *device, CudaConv conv, const real *x, const real *filter, real *y) {
    cuda_submit(device, CudaConvCall{CudaConvKind::forward, device->precision, conv, x, filter, nullptr, true, y});
}
// dx (n,h,w,in) = its gradient, or += with `add`
static inline void cuda_conv_backward_data(Device *device, CudaConv conv, const real *filter, const real *dy, bool add,
                                           real *dx) {
    cuda_submit(device,
                CudaConvCall{CudaConvKind::backward_data, device->precision, conv, nullptr, filter, dy, add, dx});
}
// dfilter (out,3,3,in) = its gradient
static inline void cuda_conv_backward_filter(Device *device, CudaConv conv, const real *x, const real *dy,
                                             real *dfilter) {
    cuda_submit(device,
                CudaConvCall{CudaConvKind::backward_filter, device->precision, conv, x, nullptr, dy, false, dfilter});
}
void cuda_dnn_close(Device *device); // frees what they keep in CudaState

#endif
