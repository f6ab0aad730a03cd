// SPDX-License-Identifier: Apache-2.0
// Elementwise maps: y = act(x).
#ifndef VPD_NN_ACTIVATION_H
#define VPD_NN_ACTIVATION_H

#include "nn/tape.h"

typedef enum Activation {
    ACTIVATION_SILU, // x / (1 + exp(-x))
    ACTIVATION_RELU,
    ACTIVATION_NONE,
    ACTIVATION_TANH,
    ACTIVATION_SIGMOID,
    ACTIVATION_SOFTPLUS // log(1 + exp(x))
} Activation;

typedef struct ActivationArgs {
    Activation kind;
    size_t count;
    const real *x;
    real *y;
    const real *dy;
    real *dx;
} ActivationArgs;

Tensor *activation(Tape *tape, Tensor *x, Activation kind);

#endif
