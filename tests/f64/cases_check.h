// SPDX-License-Identifier: Apache-2.0
// What the gradient checks of nn's, gnn's and renderer's cases share.
#ifndef VPD_TESTS_F64_CASES_CHECK_H
#define VPD_TESTS_F64_CASES_CHECK_H

#include "nn/cases.h"
#include "tests/test.h"

// Truncation and rounding of a central difference with step 1e-5 stay below 1e-9; kinks and clamps do not pass unseen.
static const double TOLERANCE = 1e-6;

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
static inline void cases_check_planted_error(void) {
    static const OpCase c = {.name = "planted", .inputs = {{"x", 3, 2, 0.5, 1, true}}, .run = wrong_square};
    Device *device = cases_open_device();
    double error = 0;
    const char *worst = "";
    assert_int_equal(case_gradient_error(device, &c, &error, &worst, NULL), STATUS_OK);
    assert_true(error > 0.1);
    device_close(device);
}

#endif
