// SPDX-License-Identifier: Apache-2.0
// Matrix products on the tiles of AMX (Intel 64 manual, volume 2, TDPBF16PS): factors in bfloat16, sums in float.
//
// A float has three bfloat16 pieces of 8 bits each, x = x0 + x1 + x2, each rounded from the remainder of the previous
// ones. With p pieces a product takes those x_i y_j with i + j < p, smallest first:
//
//     pieces   tile products   relative error of a sum, random numbers
//     1        1               2e-3
//     2        3               4e-6    (bf16x3)
//     3        6               1e-7    (bf16x6), float's own
//
// Denormal numbers count as 0; a factor that is not finite or beyond 3.39e38 makes the sum nan or inf.
#ifndef VPD_NN_AMX_H
#define VPD_NN_AMX_H

#include "nn/matmul.h"

// Whether processor and system have tiles; asks the system for them, which holds for all threads of the process.
bool amx_ready(void);

// Bytes of a packed factor (k, n).
size_t amx_packed_bytes(int pieces, size_t k, size_t n);
// op(B) (k, n) as tiles; `packed` on a boundary of 64 bytes.
void amx_pack(int pieces, Transpose tb, size_t k, size_t n, const real *b, size_t ldb, void *packed);
// C = op(A) B + C, or without `add` C = op(A) B; m, n, k > 0.
void amx_multiply(int pieces, Transpose ta, size_t m, size_t n, size_t k, const real *a, size_t lda, const void *packed,
                  bool add, real *c, size_t ldc);

#endif
