// SPDX-License-Identifier: Apache-2.0
#include "bench/case_tables.h"
#include "bench/selftest.h"
#include "nn/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In f32 only the order of sums may differ. Otherwise factors are rounded by up to 2^-24, 2^-16, 2^-8 and 2^-11, in up
// to five consecutive products, and errors of ops grow through a model. Whole gradients of paper forms differed by
// 1.3e-4 in tf32.
const SelfTestPrecision selftest_precisions[] = {
    [PRECISION_F32] = {1e-5, 1e-3, 0, "ops", "again", "models", "gradients"},
    [PRECISION_BF16X6] = {2e-5, 1e-3, 1e-3, "ops bf16x6", "again bf16x6", "models bf16x6", "gradients bf16x6"},
    [PRECISION_BF16X3] = {2e-4, 2e-3, 5e-3, "ops bf16x3", "again bf16x3", "models bf16x3", "gradients bf16x3"},
    [PRECISION_BF16] = {4e-2, 2e-2, 0.2, "ops bf16", "again bf16", "models bf16", "gradients bf16"},
    [PRECISION_TF32] = {5e-3, 5e-3, 0.05, "ops tf32", "again tf32", "models tf32", "gradients tf32"},
};

void selftest_note(SelfTestResult *result, const char *where, double error) {
    bool bad = !(error <= result->allowed);
    result->checked++;
    result->failed += bad;
    if (!(error > result->worst) && !(bad && result->failed == 1)) return;
    result->worst = error;
    snprintf(result->where, sizeof result->where, "%s", where);
}

void selftest_note_failure(SelfTestResult *result, const char *where, const char *why) {
    result->checked++;
    if (result->failed++ == 0) snprintf(result->where, sizeof result->where, "%s: %s", where, why);
    result->worst = INFINITY;
}

void selftest_report(SelfTest *test, const SelfTestResult *result) {
    test->failed += result->failed > 0;
    test->report(test->context, result);
}

static real *host_copy(Device *device, const real *from, size_t count) {
    real *host = malloc((count + 1) * sizeof *host);
    if (!host) return NULL;
    if (from) device->nn->download(device, host, from, count * sizeof *host);
    else memset(host, 0, count * sizeof *host);
    return host;
}

static double largest_difference(const real *expected, const real *found, size_t count, double least) {
    double scale = least, worst = 0;
    for (size_t i = 0; i < count; i++) {
        double e = (double)expected[i], f = (double)found[i];
        if (!isfinite(e) || !isfinite(f)) {
            if (e != f && !(isnan(e) && isnan(f))) return INFINITY;
            continue;
        }
        scale = fmax(scale, fabs(e));
        worst = fmax(worst, fabs(e - f));
    }
    return worst == 0 ? 0 : worst / scale;
}

bool selftest_difference(const SelfTest *test, const real *expected, const real *found, size_t count, double least,
                         double *error) {
    real *e = host_copy(test->reference, expected, count), *f = host_copy(test->device, found, count);
    bool held = e && f;
    if (held) *error = largest_difference(e, f, count, least);
    free(e);
    free(f);
    return held;
}

bool selftest_largest(Device *device, const real *values, size_t count, double *out) {
    real *host = host_copy(device, values, count);
    *out = 0;
    for (size_t i = 0; host && i < count; i++) *out = fmax(*out, fabs((double)host[i]));
    bool held = host != NULL;
    free(host);
    return held;
}

// ---- ops

// The largest error of the output and of all gradients.
static bool compare_runs(const SelfTest *test, const CaseRun *expected, const CaseRun *found, double *error) {
    const Tensor *y = expected->output;
    bool held = selftest_difference(test, y->value, found->output->value, y->rows * y->cols, 0, error);
    for (size_t i = 0; held && i < expected->input_count; i++) {
        const Tensor *x = expected->inputs[i];
        double here;
        held =
            !x->wants_grad || selftest_difference(test, x->grad, found->inputs[i]->grad, x->rows * x->cols, 0, &here);
        if (held && x->wants_grad) *error = fmax(*error, here);
    }
    return held;
}

// Compares the device with test->reference (`result`), and a second run on the device with its first, bit by bit
// (`again`).
static Status compare_case(const SelfTest *test, const OpCase *c, SelfTestResult *result, SelfTestResult *again,
                           Error *err) {
    CaseRun expected, found[2] = {0};
    SelfTest self = {.reference = test->device, .device = test->device};
    Error failure = {0};
    double error = 0, change = 0;
    bool held = true;
    Status status = case_run(test->reference, c, -1, NULL, 0, true, &expected, err), ran = status;
    for (int i = 0; i < 2 && ran == STATUS_OK; i++)
        ran = case_run(test->device, c, -1, NULL, 0, true, &found[i], &failure);
    if (status == STATUS_OK && ran != STATUS_OK) selftest_note_failure(result, c->name, failure.text);
    if (ran == STATUS_OK)
        held = compare_runs(test, &expected, &found[0], &error) && compare_runs(&self, &found[0], &found[1], &change);
    if (ran == STATUS_OK && held) {
        selftest_note(result, c->name, error);
        selftest_note(again, c->name, change);
    }
    case_run_free(&expected);
    for (int i = 0; i < 2; i++)
        if (found[i].tape.device) case_run_free(&found[i]);
    return held ? status : error_set(err, STATUS_FAILED, "out of memory for a self-test");
}

// Whether the op has matrix products, which the precision affects.
static bool multiplies(const OpCases *table) {
    static const char *const ops[] = {"linear", "conv2d", "message", "shade"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(table->op, ops[i])) return true;
    return false;
}

static Status compare_tables(SelfTest *test, const OpCases *const *tables, size_t count, Error *err) {
    for (size_t t = 0; t < count; t++) {
        const SelfTestPrecision *p = &selftest_precisions[test->precision];
        double allowed = selftest_precisions[multiplies(tables[t]) ? test->precision : PRECISION_F32].op_error;
        SelfTestResult result = {.part = p->ops, .name = tables[t]->op, .allowed = allowed},
                       again = {.part = p->again, .name = tables[t]->op};
        for (size_t i = 0; i < tables[t]->count; i++) {
            const OpCase *c = &tables[t]->cases[i];
            if (c->bench && !test->large) continue;
            Status status = compare_case(test, c, &result, &again, err);
            if (status != STATUS_OK) return status;
        }
        selftest_report(test, &result);
        selftest_report(test, &again);
    }
    return STATUS_OK;
}

Status selftest_ops(SelfTest *test, Error *err) {
    device_set_precision(test->device, test->precision);
    Status status = compare_tables(test, nn_case_tables, nn_case_table_count, err);
    if (status == STATUS_OK) status = compare_tables(test, gnn_case_tables, gnn_case_table_count, err);
    if (status == STATUS_OK) status = compare_tables(test, renderer_case_tables, renderer_case_table_count, err);
    device_set_precision(test->device, PRECISION_F32);
    return status;
}
