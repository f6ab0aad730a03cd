// SPDX-License-Identifier: Apache-2.0
// Layer normalisation over the columns of each row: y = gain * (x - mean) / sqrt(variance + 1e-5) + offset.
#ifndef VPD_NN_LAYER_NORM_H
#define VPD_NN_LAYER_NORM_H

#include "nn/tape.h"

#define NORM_EPSILON ((real)1e-5)

typedef struct LayerNormArgs {
    size_t rows, cols;
    const real *x;
    const real *gain, *offset; // (cols)
    real *y;                   // overwritten
    const real *dy;
    real *dx, *dgain, *doffset; // added into; NULL = not wanted
} LayerNormArgs;

Tensor *layer_norm(Tape *tape, Tensor *x, Tensor *gain, Tensor *offset);

#endif
