// SPDX-License-Identifier: Apache-2.0
// SiLU, the activation of every hidden layer: y = x / (1 + exp(-x)).
#ifndef VPD_NN_SILU_H
#define VPD_NN_SILU_H

#include "nn/tape.h"

typedef struct SiluArgs {
    size_t count;
    const real *x;
    real *y;
    const real *dy;
    real *dx;
} SiluArgs;

Tensor *silu(Tape *tape, Tensor *x);

#endif
