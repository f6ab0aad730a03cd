// SPDX-License-Identifier: Apache-2.0
// Group normalisation (Wu & He, ECCV 2018) followed by SiLU, per image over pixels and the channels of a group:
//   y = silu(gain * (x - mean) / sqrt(variance + 1e-5) + offset)
#ifndef VPD_NN_GROUP_NORM_H
#define VPD_NN_GROUP_NORM_H

#include "nn/image_shape.h"
#include "nn/tape.h"

enum { GROUP_NORM_GROUPS = 8 };
#define GROUP_NORM_EPSILON ((real)1e-5)

typedef struct GroupNormArgs {
    ImageShape shape;
    size_t channels, groups;
    size_t block;              // layout of x, y and their gradients
    const real *x;             // (n*h*w, channels)
    const real *gain, *offset; // (channels)
    real *mean, *rstd;         // (n, groups), written by forward and read by backward
    real *y;                   // (n*h*w, channels), overwritten
    const real *dy;
    real *dx;              // NULL = not wanted
    bool dx_is_new;        // dx is overwritten, not added to
    real *dgain, *doffset; // added into; NULL = not wanted
} GroupNormArgs;

// The largest number of groups, at most GROUP_NORM_GROUPS, that divides the channels.
size_t group_norm_groups(size_t channels);
// y has x's block.
Tensor *group_norm(Tape *tape, Tensor *x, ImageShape shape, Tensor *gain, Tensor *offset);

#endif
