// SPDX-License-Identifier: Apache-2.0
// The activations and their slopes, as nn/cpu/vector_math.h has them.
#ifndef VPD_NN_CUDA_ACTIVATION_H
#define VPD_NN_CUDA_ACTIVATION_H

#include "nn/cuda/launch.h"

#include "nn/activation.h"

static __device__ inline real act_value(Activation kind, real x) {
    switch (kind) {
    case ACTIVATION_SILU: return x / (1 + real_exp(-x));
    case ACTIVATION_RELU: return x > 0 ? x : 0;
    case ACTIVATION_TANH: return real_tanh(x);
    case ACTIVATION_SIGMOID: return 1 / (1 + real_exp(-x));
    case ACTIVATION_SOFTPLUS: return (x > 0 ? x : 0) + real_log1p(real_exp(-real_fabs(x)));
    default: return x;
    }
}

// d act / dx from the input x.
static __device__ inline real act_slope(Activation kind, real x) {
    real s = 1 / (1 + real_exp(-x)), y;
    switch (kind) {
    case ACTIVATION_SILU: return s * (1 + x * (1 - s));
    case ACTIVATION_RELU: return x > 0 ? 1 : 0;
    case ACTIVATION_TANH: return y = real_tanh(x), 1 - y * y;
    case ACTIVATION_SIGMOID: return s * (1 - s);
    case ACTIVATION_SOFTPLUS: return s;
    default: return 1;
    }
}

#endif
