// SPDX-License-Identifier: Apache-2.0
// SiLU and its slope, as nn/cpu/vector_math.h has them.
#ifndef VPD_NN_CUDA_SILU_H
#define VPD_NN_CUDA_SILU_H

#include "nn/cuda/launch.h"

static __device__ inline real silu_value(real x) { return x / (1 + real_exp(-x)); }

// d silu / dx from the input x.
static __device__ inline real silu_slope(real x) {
    real s = 1 / (1 + real_exp(-x));
    return s * (1 + x * (1 - s));
}

#endif
