// SPDX-License-Identifier: Apache-2.0
// The encoder's UNet (docs/model.md, "Features"): images in, a latent for each pixel that became a particle out.
//   images (n*h*w, 3 or 4): rgb - 0.5 and, with depth_input, z / X  ->  latent (count, latent)
#ifndef VPD_ENCODER_ENCODER_H
#define VPD_ENCODER_ENCODER_H

#include "base/observation.h"
#include "nn/image_shape.h"
#include "nn/parameters.h"

enum { ENCODER_MAX_LEVELS = 8 };

typedef struct EncoderConfig {
    int levels;
    size_t widths[ENCODER_MAX_LEVELS]; // channels of each level
    size_t latent;                     // outputs per pixel: D, or D - 3 when the colour is carried
    bool depth_input;
    double extent; // X, metres: unit of the depth input
} EncoderConfig;

typedef struct EncoderBlock { // conv3x3, group norm, SiLU
    Tensor *weight, *bias, *gain, *offset;
} EncoderBlock;

typedef struct Encoder {
    EncoderConfig config;
    EncoderBlock down[ENCODER_MAX_LEVELS][2], up[ENCODER_MAX_LEVELS][2];
    Tensor *out_weight, *out_bias;
} Encoder;

// Declares the parameters (encoder.*).
void encoder_create(Encoder *encoder, Parameters *set, const EncoderConfig *config);

// Network input of frames [first, first + frames) of each of `count` observations with images of one size:
// (images * H * W, channels), in the order of observations, frames, views.
Tensor *encoder_input(Tape *tape, const Encoder *encoder, size_t count, const Observation *const *observations,
                      int first, int frames);

// Hidden features of every pixel, (n*h*w, widths[0]).
Tensor *encoder_pixels(Tape *tape, const Encoder *encoder, Tensor *images, ImageShape shape);
// The output layer for `count` pixels: rows pixel[i] of `pixels` (device memory) -> (count, latent).
Tensor *encoder_latents(Tape *tape, const Encoder *encoder, Tensor *pixels, size_t count, const int32_t *pixel);

#endif
