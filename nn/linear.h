// SPDX-License-Identifier: Apache-2.0
// Linear layer: y = x W + b, rows independent.
#ifndef VPD_NN_LINEAR_H
#define VPD_NN_LINEAR_H

#include "nn/tape.h"

typedef struct LinearArgs {
    size_t rows, in, out;
    const real *x;              // (rows, in)
    const real *weight;         // (in, out)
    const real *bias;           // (out), or NULL
    real *y;                    // (rows, out), overwritten
    const real *dy;             // (rows, out)
    real *dx, *dweight, *dbias; // added into; NULL = not wanted
} LinearArgs;

// bias may be NULL.
Tensor *linear(Tape *tape, Tensor *x, Tensor *weight, Tensor *bias);

#endif
