// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/blas.cu.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include "nn/cuda/blas.h"

static void multiply(const CudaMatmulCall &call) {
    auto [ta, tb, precision, m, n, k, a, b, lda, ldb, ldc, beta, c] = call;
    auto factor = [precision = precision](real x) { return cuda_on_cpu_round(precision, x); };
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            real sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += factor(ta == TRANSPOSED ? a[l * lda + i] : a[i * lda + l]) *
                       factor(tb == TRANSPOSED ? b[j * ldb + l] : b[l * ldb + j]);
            c[i * ldc + j] = (beta == 0 ? 0 : beta * c[i * ldc + j]) + sum; // C may be NaN without beta
        }
}

void CudaMatmulCall::run(Device *) const {
    cuda_on_cpu_do([call = *this] { multiply(call); });
}

void cuda_blas_close(Device *) {}
