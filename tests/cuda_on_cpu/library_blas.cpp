// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/blas.cu.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include "nn/cuda/blas.h"

void cuda_matmul(Device *device, Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a, size_t lda,
                 const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    if (device->failed) return;
    cuda_on_cpu_enter();
    auto factor = [=](real x) { return cuda_on_cpu_round(device->precision, x); };
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            real sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += factor(ta == TRANSPOSED ? a[l * lda + i] : a[i * lda + l]) *
                       factor(tb == TRANSPOSED ? b[j * ldb + l] : b[l * ldb + j]);
            c[i * ldc + j] = (beta == 0 ? 0 : beta * c[i * ldc + j]) + sum; // C may be NaN without beta
        }
    cuda_on_cpu_leave();
}

void cuda_blas_close(Device *) {}
