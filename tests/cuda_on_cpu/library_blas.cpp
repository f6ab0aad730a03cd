// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/blas.cu.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include "nn/cuda/blas.h"

#include <vector>

// What is multiplied: `lines` of `depth` numbers each, side by side in memory or `stride` apart.
static std::vector<real> factors(Precision precision, const real *from, size_t lines, size_t depth, size_t line_step,
                                 size_t stride) {
    std::vector<real> out(lines * depth);
    for (size_t i = 0; i < lines; i++)
        for (size_t l = 0; l < depth; l++)
            out[i * depth + l] = cuda_on_cpu_round(precision, from[i * line_step + l * stride]);
    return out;
}

static void multiply(const CudaMatmulCall &call) {
    auto [ta, tb, precision, m, n, k, a, b, lda, ldb, ldc, beta, c] = call;
    std::vector<real> rows =
                          ta == TRANSPOSED ? factors(precision, a, m, k, 1, lda) : factors(precision, a, m, k, lda, 1),
                      cols =
                          tb == TRANSPOSED ? factors(precision, b, n, k, ldb, 1) : factors(precision, b, n, k, 1, ldb);
    const real *x = rows.data(), *y = cols.data();
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            real sum = 0;
            for (size_t l = 0; l < k; l++) sum += x[i * k + l] * y[j * k + l];
            c[i * ldc + j] = (beta == 0 ? 0 : beta * c[i * ldc + j]) + sum; // C may be NaN without beta
        }
}

void CudaMatmulCall::run(Device *) const {
    cuda_on_cpu_do([call = *this] { multiply(call); });
}

void cuda_blas_close(Device *) {}
