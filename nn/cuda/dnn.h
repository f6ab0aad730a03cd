// SPDX-License-Identifier: Apache-2.0
// Convolutions: cuDNN behind a few functions (tests: tests/cuda_on_cpu/library_dnn.cpp). 3x3, padding 1, stride 1;
// images are NHWC, filters (out,3,3,in). Algorithms are chosen once per shape and precision among those whose sums have
// a fixed order. With device->precision tf32 or bf16 factors are rounded to TF32: cuDNN takes images of bfloat16, but
// no products in it of images that are not.
#ifndef VPD_NN_CUDA_DNN_H
#define VPD_NN_CUDA_DNN_H

#include "nn/cuda/launch.h"

#include "nn/image_shape.h"

struct CudaConv {
    ImageShape shape; // n > 0
    size_t in, out;   // channels
};

// y (n,h,w,out) += the convolution of x (n,h,w,in)
void cuda_conv_forward(Device *device, CudaConv conv, const real *x, const real *filter, real *y);
// dx (n,h,w,in) = its gradient, or += with `add`
void cuda_conv_backward_data(Device *device, CudaConv conv, const real *filter, const real *dy, bool add, real *dx);
// dfilter (out,3,3,in) = its gradient
void cuda_conv_backward_filter(Device *device, CudaConv conv, const real *x, const real *dy, real *dfilter);
void cuda_dnn_close(Device *device); // frees what they keep in CudaState

#endif
