// SPDX-License-Identifier: Apache-2.0
#include "nn/matmul.h"

#include "nn/amx.h"

#include <string.h>

#ifndef VPD_DOUBLE
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#endif

static void scale_rows(size_t m, size_t n, real beta, real *c, size_t ldc) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
}

// ---- float, or double

static bool multiply_reals(Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a, size_t lda,
                           const real *b, size_t ldb, real beta, real *c, size_t ldc) {
#ifndef VPD_DOUBLE
    omp_set_num_threads(1); // of the caller's region alone; a region of one thread counts as none for oneDNN
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

// Products with a transposed second factor are a fifth slower (oneDNN, AVX-512, 128 columns), so it is transposed once.
static void pack_reals(Transpose tb, size_t k, size_t n, const real *b, size_t ldb, real *packed) {
    for (size_t l = 0; l < k; l++)
        for (size_t j = 0; j < n; j++) packed[l * n + j] = tb == TRANSPOSED ? b[j * ldb + l] : b[l * ldb + j];
}

// ---- AMX, in float alone

static bool uses_tiles(Precision precision, size_t k, size_t n) {
    enum { NARROWEST = 8 };
    return precision != PRECISION_F32 && k >= NARROWEST && n >= NARROWEST;
}

static int pieces_of(Precision precision) {
    return precision == PRECISION_BF16 ? 1 : precision == PRECISION_BF16X3 ? 2 : 3;
}

static void multiply_tiles(int pieces, Transpose ta, size_t m, size_t n, size_t k, const real *a, size_t lda,
                           const real *packed, real beta, real *c, size_t ldc) {
    if (beta != 0 && beta != 1) scale_rows(m, n, beta, c, ldc);
    amx_multiply(pieces, ta, m, n, k, a, lda, packed, beta != 0, c, ldc);
}

// B is packed block by block.
static void matmul_tiles(int pieces, Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a,
                         size_t lda, const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    enum { BLOCK = 128 };
    real packed[3 * BLOCK * BLOCK / 2] __attribute__((aligned(64)));
    for (size_t j = 0; j < n; j += BLOCK)
        for (size_t l = 0; l < k; l += BLOCK) {
            size_t cols = n - j < BLOCK ? n - j : BLOCK, depth = k - l < BLOCK ? k - l : BLOCK;
            amx_pack(pieces, tb, depth, cols, tb == TRANSPOSED ? b + j * ldb + l : b + l * ldb + j, ldb, packed);
            multiply_tiles(pieces, ta, m, cols, depth, ta == TRANSPOSED ? a + l * lda : a + l, lda, packed,
                           l ? 1 : beta, c + j, ldc);
        }
}

// ----

bool matmul(Precision precision, Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a, size_t lda,
            const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    if (m == 0 || n == 0) return true;
    if (k == 0) {
        scale_rows(m, n, beta, c, ldc);
        return true;
    }
    if (uses_tiles(precision, k, n)) {
        matmul_tiles(pieces_of(precision), ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);
        return true;
    }
    return multiply_reals(ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

size_t matmul_packed_size(Precision precision, size_t k, size_t n) {
    if (uses_tiles(precision, k, n)) return amx_packed_bytes(pieces_of(precision), k, n) / sizeof(real);
    return k * n;
}

void matmul_pack(Precision precision, Transpose tb, size_t k, size_t n, const real *b, size_t ldb, real *packed) {
    if (uses_tiles(precision, k, n)) {
        amx_pack(pieces_of(precision), tb, k, n, b, ldb, packed);
        return;
    }
    pack_reals(tb, k, n, b, ldb, packed);
}

bool matmul_packed(Precision precision, Transpose ta, size_t m, size_t n, size_t k, const real *a, size_t lda,
                   const real *packed, real beta, real *c, size_t ldc) {
    if (m > 0 && uses_tiles(precision, k, n)) {
        multiply_tiles(pieces_of(precision), ta, m, n, k, a, lda, packed, beta, c, ldc);
        return true;
    }
    return matmul(PRECISION_F32, ta, PLAIN, m, n, k, a, lda, packed, n, beta, c, ldc);
}
