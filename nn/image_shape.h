// SPDX-License-Identifier: Apache-2.0
// The images in a tensor of (n*h*w, channels): NHWC, rows of pixels one after the other.
#ifndef VPD_NN_IMAGE_SHAPE_H
#define VPD_NN_IMAGE_SHAPE_H

#include <stddef.h>

typedef struct ImageShape {
    size_t n, h, w;
} ImageShape;

static inline size_t image_pixels(ImageShape shape) { return shape.n * shape.h * shape.w; }

#endif
