// SPDX-License-Identifier: Apache-2.0
// Sums of tensors: y = alpha a + beta b.
#ifndef VPD_NN_COMBINE_H
#define VPD_NN_COMBINE_H

#include "nn/tape.h"

typedef struct CombineArgs {
    size_t count; // elements of each
    real alpha, beta;
    const real *a;
    const real *b; // or NULL
    real *y;       // overwritten
    const real *dy;
    real *da, *db; // added into; NULL = not wanted
} CombineArgs;

Tensor *tensor_add(Tape *tape, Tensor *a, Tensor *b);
Tensor *tensor_add_scaled(Tape *tape, Tensor *a, Tensor *b, real beta);
Tensor *tensor_scale(Tape *tape, Tensor *a, real alpha);

#endif
