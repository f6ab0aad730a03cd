// SPDX-License-Identifier: Apache-2.0
// What headers with the mathematics of one element begin with: they compile as C and as CUDA.
#ifndef VPD_NN_ELEMENT_H
#define VPD_NN_ELEMENT_H

#include "nn/real.h"

#ifdef __CUDACC__
#define ELEMENT static __host__ __device__ __forceinline__
#else
#define ELEMENT static inline
#endif

ELEMENT real element_dot(const real *a, const real *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

#endif
