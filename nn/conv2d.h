// SPDX-License-Identifier: Apache-2.0
// 3x3 convolution with zero padding 1 and stride 1 (cross-correlation, as every framework has it):
//   y[n,i,j,o] = b[o] + sum_{k,l,c} W[k,l,c,o] x[n, i+k-1, j+l-1, c]
#ifndef VPD_NN_CONV2D_H
#define VPD_NN_CONV2D_H

#include "nn/image_shape.h"
#include "nn/tape.h"

typedef struct Conv2dArgs {
    ImageShape shape;
    size_t in, out;        // channels
    size_t block;          // layout of x, y and their gradients
    const real *x;         // (n*h*w, in)
    const real *weight;    // (3,3,in,out)
    const real *bias;      // (out)
    real *y;               // (n*h*w, out), overwritten
    const real *dy;        // (n*h*w, out)
    real *dx;              // (n*h*w, in); NULL = not wanted
    bool dx_is_new;        // dx is overwritten, not added to
    real *dweight, *dbias; // added into; NULL = not wanted
} Conv2dArgs;

// y has x's block. weight is a parameter of rank 4 (3,3,in,out), that is a tensor of (9*in, out).
Tensor *conv2d(Tape *tape, Tensor *x, ImageShape shape, Tensor *weight, Tensor *bias);

#endif
