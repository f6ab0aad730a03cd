// SPDX-License-Identifier: Apache-2.0
// Matrix products: cuBLAS behind one function (tests: tests/cuda_on_cpu/library_blas.cpp).
#ifndef VPD_NN_CUDA_BLAS_H
#define VPD_NN_CUDA_BLAS_H

#include "nn/cuda/launch.h"

#include "nn/matmul.h"

struct CudaMatmulCall {
    Transpose ta, tb;
    Precision precision;
    size_t m, n, k;
    const real *a, *b;
    size_t lda, ldb, ldc;
    real beta, *c;

    bool operator==(const CudaMatmulCall &) const = default;
    void run(Device *device) const; // the one function
};

// As matmul (nn/matmul.h), on device memory: C = op(A) op(B) + beta C in fp32, factors rounded as device->precision has
// it.
static inline void cuda_matmul(Device *device, Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a,
                               size_t lda, const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    if (m && n) cuda_submit(device, CudaMatmulCall{ta, tb, device->precision, m, n, k, a, b, lda, ldb, ldc, beta, c});
}

void cuda_blas_close(Device *device); // frees what the product keeps in CudaState

#endif
