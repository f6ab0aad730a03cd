// SPDX-License-Identifier: Apache-2.0
// What the gradient checks of nn's, gnn's and renderer's cases share.
#ifndef VPD_TESTS_F64_CASES_CHECK_H
#define VPD_TESTS_F64_CASES_CHECK_H

#include "base/random.h"
#include "nn/cases.h"
#include "tests/test.h"

// Truncation and rounding of a central difference with step 1e-5 stay below 1e-9; kinks and clamps do not pass unseen.
static const double TOLERANCE = 1e-6;

// The scalar that finite differences are taken of: sum of output * upstream gradient, summed in double.
static inline double case_objective(const CaseRun *run, const OpCase *c) {
    const Tensor *y = run->output;
    RandomKey key = case_key(c, CASE_UPSTREAM);
    double sum = 0;
    for (size_t i = 0; i < y->rows * y->cols; i++)
        sum += (double)y->value[i] * (2 * (double)random_uniform(key, i) - 1);
    return sum;
}

static inline Status objective_at(Device *device, const OpCase *c, int moved, const real *direction, real step,
                                  double *out, Error *err) {
    CaseRun run;
    Status status = case_run(device, c, moved, direction, step, false, &run, err);
    if (status == STATUS_OK) *out = case_objective(&run, c);
    case_run_free(&run);
    return status;
}

// |analytic - central difference| relative to the larger of them and to the size of the gradient.
static inline Status input_gradient_error(Device *device, const OpCase *c, const CaseRun *base, int i, double *error,
                                          Error *err) {
    const double step = 1e-5; // truncation ~1e-10, rounding ~1e-11 in double
    size_t count = c->inputs[i].rows * c->inputs[i].cols;
    real *direction = calloc(count + 1, sizeof *direction);
    if (!direction) return error_set(err, STATUS_FAILED, "out of memory for a direction");
    for (size_t j = 0; j < count; j++)
        direction[j] = (real)(2 * (double)random_uniform(case_key(c, CASE_DIRECTION + (uint32_t)i), j) - 1);
    double analytic = 0, scale = 0, ahead = 0, behind = 0;
    const real *grad = base->inputs[i]->grad;
    for (size_t j = 0; j < count && grad; j++) {
        analytic += (double)grad[j] * (double)direction[j];
        scale += fabs((double)grad[j] * (double)direction[j]);
    }
    Status status = objective_at(device, c, i, direction, (real)step, &ahead, err);
    if (status == STATUS_OK) status = objective_at(device, c, i, direction, (real)-step, &behind, err);
    double numeric = (ahead - behind) / (2 * step);
    double size = fmax(fmax(fabs(numeric), fabs(analytic)), fmax(scale * 1e-3, 1e-6));
    *error = fabs(numeric - analytic) / size;
    if (isnan(*error)) *error = INFINITY;
    free(direction);
    return status;
}

// Largest relative error of the directional derivatives of a case over all inputs that want a gradient, against central
// differences.
static inline Status case_gradient_error(Device *device, const OpCase *c, double *error, const char **worst,
                                         Error *err) {
    CaseRun base;
    Status status = case_run(device, c, -1, NULL, 0, true, &base, err);
    *error = 0;
    *worst = "";
    for (size_t i = 0; status == STATUS_OK && i < base.input_count; i++) {
        double one = 0;
        if (!c->inputs[i].wants_grad) continue;
        status = input_gradient_error(device, c, &base, (int)i, &one, err);
        if (one > *error) {
            *error = one;
            *worst = c->inputs[i].name;
        }
    }
    case_run_free(&base);
    return status;
}

static inline int cases_check_tables(Device *device, const OpCases *const *tables, size_t count) {
    int wrong = 0;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const OpCase *c = &tables[t]->cases[i];
            if (c->bench) continue;
            double error = INFINITY;
            const char *worst = "";
            Error err = {0};
            Status status = case_gradient_error(device, c, &error, &worst, &err);
            if (status == STATUS_OK && error <= TOLERANCE) continue;
            print_message("%s: gradient of %s off by %.3g %s\n", c->name, worst, error, err.text);
            wrong++;
        }
    return wrong;
}

static inline Device *cases_open_device(void) {
    Device *device = NULL;
    Error err = {0};
    if (device_open("cpu", 2, &device, &err) != STATUS_OK) fail_msg("%s", err.text);
    return device;
}

// The planted error: y = x * x claimed to have the gradient x.
static inline void wrong_square_backward(Tape *tape, void *context) {
    Tensor **pair = context;
    real *dx = tape_grad(tape, pair[0]);
    for (size_t i = 0; i < pair[0]->rows * pair[0]->cols; i++) dx[i] += pair[1]->grad[i] * pair[0]->value[i];
}

static inline Tensor *wrong_square(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    Tensor **pair = tape_context(tape, 2 * sizeof *pair);
    Tensor *y = tape_tensor(tape, in[0]->rows, in[0]->cols, true);
    for (size_t i = 0; i < y->rows * y->cols; i++) y->value[i] = in[0]->value[i] * in[0]->value[i];
    pair[0] = in[0];
    pair[1] = y;
    tape_record(tape, wrong_square_backward, pair);
    return y;
}

// The check must notice the planted error.
static inline void planted_error_is_caught(void **state) {
    (void)state;
    static const OpCase c = {.name = "planted", .inputs = {{"x", 3, 2, 0.5, 1, true}}, .run = wrong_square};
    Device *device = cases_open_device();
    double error = 0;
    const char *worst = "";
    assert_int_equal(case_gradient_error(device, &c, &error, &worst, NULL), STATUS_OK);
    assert_true(error > 0.1);
    device_close(device);
}

typedef struct CaseTables {
    const OpCases *const *tables;
    size_t count;
} CaseTables;

static inline void gradients_match_finite_differences(void **state) {
    const CaseTables *all = *state;
    Device *device = cases_open_device();
    assert_int_equal(cases_check_tables(device, all->tables, all->count), 0);
    device_close(device);
}

// The whole of a test program: every case of these tables, and the planted error.
static inline int cases_main(const OpCases *const *tables, size_t count) {
    CaseTables all = {tables, count};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(gradients_match_finite_differences, &all),
                                       cmocka_unit_test(planted_error_is_caught)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
