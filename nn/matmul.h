// SPDX-License-Identifier: Apache-2.0
// Row-major matrix product on the calling thread: C = op(A) op(B) + beta C, C (m, n), k summed. oneDNN's sgemm in
// float, plain loops in double. Call it inside a parallel region (oneDNN then stays on the calling thread).
#ifndef VPD_NN_MATMUL_H
#define VPD_NN_MATMUL_H

#include "nn/real.h"

typedef enum Transpose { PLAIN, TRANSPOSED } Transpose;

// lda, ldb, ldc: elements between rows as stored. m, n or k may be 0. False when the library failed (no memory).
bool matmul(Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b,
            size_t ldb, real beta, real *c, size_t ldc);

#endif
