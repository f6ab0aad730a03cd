// SPDX-License-Identifier: Apache-2.0
// Resampling and padding of images, one op with a kind: it moves pixels, its backward moves gradients back.
#ifndef VPD_NN_IMAGE_OPS_H
#define VPD_NN_IMAGE_OPS_H

#include "nn/image_shape.h"
#include "nn/tape.h"

typedef enum ImageOpKind {
    IMAGE_AVERAGE_POOL, // (n,h,w) -> (n,h/2,w/2): mean of 2x2 blocks; h and w even
    IMAGE_UPSAMPLE,     // (n,h,w) -> (n,2h,2w): every pixel four times
    IMAGE_PAD,          // (n,h,w) -> (n,H,W), H >= h: bottom and right repeat the edge
    IMAGE_CROP          // (n,h,w) -> (n,H,W), H <= h: bottom and right are cut off
} ImageOpKind;

typedef struct ImageOpArgs {
    ImageOpKind kind;
    ImageShape from, to;
    size_t channels, block;            // of x
    size_t first, y_channels, y_block; // x's channels become channels first .. of y
    const real *x;                     // (from, channels)
    real *y;                           // (to, y_channels): x's channels are overwritten
    const real *dy;                    // as y
    real *dx;                          // added into
    bool dx_is_new;                    // dx is overwritten
} ImageOpArgs;

// All but the last keep x's block (nn/image_shape.h).
Tensor *average_pool_2x2(Tape *tape, Tensor *x, ImageShape shape);
// [skip, upsampled x]: the UNet's way up in one op. `shape` is x's; skip has twice its height and width, and x's block;
// a block divides the channels of both.
Tensor *upsample_concat(Tape *tape, Tensor *skip, Tensor *x, ImageShape shape);
Tensor *image_pad(Tape *tape, Tensor *x, ImageShape from, size_t h, size_t w);
// Cropped, in NHWC for any layout of x.
Tensor *image_crop_to_rows(Tape *tape, Tensor *x, ImageShape from, size_t h, size_t w);

#endif
