// SPDX-License-Identifier: Apache-2.0
// The images in a tensor of (n*h*w, channels). Usually NHWC: rows of pixels one after the other. In a tensor with a
// `block` the channels lie in blocks of that many, planes of pixels one after the other, which is what oneDNN's
// convolutions are fastest on: element (image, pixel, channel) stands at ((image * channels/block + channel/block) *
// h*w + pixel) * block + channel % block.
#ifndef VPD_NN_IMAGE_SHAPE_H
#define VPD_NN_IMAGE_SHAPE_H

#include <stddef.h>

typedef struct ImageShape {
    size_t n, h, w;
} ImageShape;

static inline size_t image_pixels(ImageShape shape) { return shape.n * shape.h * shape.w; }

// The number of adjacent channels. block 0, or one that does not divide the channels, is NHWC.
static inline size_t image_run(size_t block, size_t channels) {
    return block && channels % block == 0 ? block : channels;
}

#endif
