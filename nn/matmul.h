// SPDX-License-Identifier: Apache-2.0
// Row-major matrix product on the calling thread: C = op(A) op(B) + beta C, C (m, n), k summed. PRECISION_F32 is
// oneDNN's sgemm in float, plain loops in double; the others run on AMX (nn/amx.h) and need a device that has it.
// Factors of fewer than 8 rows or columns are multiplied in float all the same. Call it inside a parallel region,
// even of one thread: there it keeps oneDNN on the calling thread, so that bits do not depend on other devices.
#ifndef VPD_NN_MATMUL_H
#define VPD_NN_MATMUL_H

#include "nn/device.h"

typedef enum Transpose { PLAIN, TRANSPOSED } Transpose;

// lda, ldb, ldc: elements between rows as stored. m, n or k may be 0. False when the library failed (no memory).
bool matmul(Precision precision, Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a, size_t lda,
            const real *b, size_t ldb, real beta, real *c, size_t ldc);

// A second factor op(B) (k, n) of many products, packed in the fastest form for its precision.
size_t matmul_packed_size(Precision precision, size_t k, size_t n); // reals
// `packed` on a boundary of 64 bytes.
void matmul_pack(Precision precision, Transpose tb, size_t k, size_t n, const real *b, size_t ldb, real *packed);
// C = op(A) B + beta C with a packed B.
bool matmul_packed(Precision precision, Transpose ta, size_t m, size_t n, size_t k, const real *a, size_t lda,
                   const real *packed, real beta, real *c, size_t ldc);

#endif
