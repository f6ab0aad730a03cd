// SPDX-License-Identifier: Apache-2.0
#include "nn/matmul.h"

#ifndef VPD_DOUBLE
#include <oneapi/dnnl/dnnl.h>
#endif

static void scale_rows(size_t m, size_t n, real beta, real *c, size_t ldc) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
}

bool matmul(Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b,
            size_t ldb, real beta, real *c, size_t ldc) {
    if (m == 0 || n == 0) return true;
    if (k == 0) {
        scale_rows(m, n, beta, c, ldc);
        return true;
    }
#ifndef VPD_DOUBLE
    return dnnl_sgemm(ta == TRANSPOSED ? 'T' : 'N', tb == TRANSPOSED ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n,
                      (dnnl_dim_t)k, 1, a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c,
                      (dnnl_dim_t)ldc) == dnnl_success;
#else
    scale_rows(m, n, beta, c, ldc);
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++) {
            real factor = ta == TRANSPOSED ? a[l * lda + i] : a[i * lda + l];
            for (size_t j = 0; j < n; j++)
                c[i * ldc + j] += factor * (tb == TRANSPOSED ? b[j * ldb + l] : b[l * ldb + j]);
        }
    return true;
#endif
}
