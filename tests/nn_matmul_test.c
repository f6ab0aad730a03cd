// SPDX-License-Identifier: Apache-2.0
// Matrix products of every precision against plain loops in double: transposes, strides, awkward sizes, factors on
// beta, special numbers. Without AMX f32 alone is checked.
#include "tests/test.h"

#include "nn/amx.h"

typedef struct Shape {
    size_t m, n, k;
    Transpose ta, tb;
    real beta;
} Shape;

enum { GAP = 3, LARGEST = 1 << 16 }; // elements behind each row that no product may touch

typedef struct Matrices {
    real *a, *b, *c, *packed;
    double *wanted, *size; // size: sum of |a b|, what errors are measured by
    size_t lda, ldb, ldc;
} Matrices;

static bool has(Precision precision) { return precision == PRECISION_F32 || amx_ready(); }

static real random_real(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (real)(*state >> 8) / (1 << 23) - 1;
}

static Matrices matrices_of(Shape s) {
    uint32_t state = (uint32_t)(s.m * 7919 + s.n * 104729 + s.k);
    Matrices x = {.lda = (s.ta ? s.m : s.k) + GAP, .ldb = (s.tb ? s.k : s.n) + GAP, .ldc = s.n + GAP};
    real **inputs[] = {&x.a, &x.b, &x.c, &x.packed};
    for (int i = 0; i < 4; i++) *inputs[i] = aligned_alloc(64, 2 * LARGEST * sizeof(real));
    x.wanted = calloc(LARGEST, sizeof *x.wanted);
    x.size = calloc(LARGEST, sizeof *x.size);
    for (size_t i = 0; i < LARGEST; i++) {
        x.a[i] = random_real(&state);
        x.b[i] = random_real(&state);
        x.c[i] = random_real(&state);
    }
    return x;
}

static void matrices_free(Matrices *x) {
    void *all[] = {x->a, x->b, x->c, x->packed, x->wanted, x->size};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void plain_loops(Shape s, Matrices *x) {
    for (size_t i = 0; i < s.m; i++)
        for (size_t j = 0; j < s.n; j++) {
            double sum = s.beta == 0 ? 0 : (double)s.beta * (double)x->c[i * x->ldc + j], size = fabs(sum);
            for (size_t l = 0; l < s.k; l++) {
                double product = (double)(s.ta ? x->a[l * x->lda + i] : x->a[i * x->lda + l]) *
                                 (double)(s.tb ? x->b[j * x->ldb + l] : x->b[l * x->ldb + j]);
                sum += product;
                size += fabs(product);
            }
            x->wanted[i * s.n + j] = sum;
            x->size[i * s.n + j] = size;
        }
}

static bool multiply(Precision precision, Shape s, Matrices *x, bool packed) {
    if (!packed) return matmul(precision, s.ta, s.tb, s.m, s.n, s.k, x->a, x->lda, x->b, x->ldb, s.beta, x->c, x->ldc);
    assert_true(matmul_packed_size(precision, s.k, s.n) <= 2 * LARGEST);
    matmul_pack(precision, s.tb, s.k, s.n, x->b, x->ldb, x->packed);
    return matmul_packed(precision, s.ta, s.m, s.n, s.k, x->a, x->lda, x->packed, s.beta, x->c, x->ldc);
}

// Largest error of C in units of sum |a b|; what lies between rows stays.
static double error_of(Precision precision, Shape s, bool packed) {
    Matrices x = matrices_of(s);
    plain_loops(s, &x);
    real *before = malloc(LARGEST * sizeof *before);
    memcpy(before, x.c, LARGEST * sizeof *before);
    assert_true(multiply(precision, s, &x, packed));
    double worst = 0;
    for (size_t i = 0; i < LARGEST; i++) {
        size_t row = i / x.ldc, col = i % x.ldc;
        if (row >= s.m || col >= s.n) {
            if (x.c[i] != before[i]) fail_msg("(%zu,%zu)x(%zu,%zu): wrote beyond C", s.m, s.k, s.k, s.n);
            continue;
        }
        double error = fabs((double)x.c[i] - x.wanted[row * s.n + col]);
        worst = fmax(worst, error / (x.size[row * s.n + col] + 1e-30));
        if (!(error >= 0)) worst = INFINITY;
    }
    free(before);
    matrices_free(&x);
    return worst;
}

// Of one product of two rounded factors, and of the sum in float: half an ulp of 2^-8, twice; of pieces, what is left
// out; of float, k / 2 roundings of 6e-8 at the worst.
static const double tolerances[] = {
    [PRECISION_F32] = 4e-6, [PRECISION_BF16X6] = 4e-6, [PRECISION_BF16X3] = 2e-5, [PRECISION_BF16] = 8e-3};

static void check_shape(size_t m, size_t n, size_t k) {
    static const real betas[] = {0, 1, (real)-0.5};
    for (int i = 0; i < 12; i++) {
        Shape s = {m, n, k, (Transpose)(i & 1), (Transpose)(i >> 1 & 1), betas[i / 4]};
        for (int p = 0; p < 4; p++) {
            Precision precision = (Precision)p;
            for (int packed = 0; packed < 2 && has(precision); packed++) {
                double error = error_of(precision, s, packed);
                if (!(error <= tolerances[p]))
                    fail_msg("precision %d, (%zu,%zu)x(%zu,%zu), transposes %d %d, beta %g, packed %d: off by %g", p, m,
                             k, k, n, s.ta, s.tb, (double)s.beta, packed, error);
            }
        }
    }
}

static void equal_plain_loops(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{0, 5, 7},       {5, 0, 7},     {5, 7, 0},      {1, 1, 1},    {1, 16, 32},
                                      {16, 1, 32},     {17, 9, 8},    {31, 33, 31},   {32, 32, 32}, {33, 31, 65},
                                      {128, 128, 128}, {5, 130, 129}, {150, 40, 300}, {3, 64, 16},  {64, 3, 128}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_shape(sizes[i][0], sizes[i][1], sizes[i][2]);
}

// The planted error: one piece is not as exact as two.
static void one_piece_is_caught(void **state) {
    (void)state;
    if (!amx_ready()) skip();
    Shape s = {64, 64, 64, PLAIN, PLAIN, 0};
    assert_true(error_of(PRECISION_BF16, s, false) > tolerances[PRECISION_BF16X3]);
    assert_true(error_of(PRECISION_BF16X3, s, false) > tolerances[PRECISION_F32] / 10);
}

static void special_numbers(void **state) {
    (void)state;
    enum { SIDE = 40 };
    static const real special[] = {INFINITY, -INFINITY, NAN};
    real *a = calloc(SIDE * SIDE, sizeof *a), *b = calloc(SIDE * SIDE, sizeof *b), *c = calloc(SIDE * SIDE, sizeof *c);
    for (int p = 0; p < 4 && has((Precision)p); p++)
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < SIDE * SIDE; j++) a[j] = b[j] = 1;
            a[3 * SIDE + 5] = special[i];  // row 3 alone is touched
            b[7 * SIDE + 9] = (real)1e-42; // a denormal number may count as 0
            assert_true(matmul((Precision)p, PLAIN, PLAIN, SIDE, SIDE, SIDE, a, SIDE, b, SIDE, 0, c, SIDE));
            for (int row = 0; row < SIDE; row++)
                for (int col = 0; col < SIDE; col++) {
                    double found = (double)c[row * SIDE + col], wanted = col == 9 ? SIDE - 1 : SIDE;
                    assert_true(row == 3 ? !isfinite(found) : found == wanted);
                }
        }
    free(a);
    free(b);
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_plain_loops), cmocka_unit_test(one_piece_is_caught),
                                       cmocka_unit_test(special_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
