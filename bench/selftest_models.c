// SPDX-License-Identifier: Apache-2.0
#include "bench/selftest_model.h"
#include "nn/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Gradients below this share of the largest one are rounding errors, such as that of a bias before a group norm.
static const double ROUNDING = 1e-3;
enum { SIDE = 32, ROLLOUT = 2, T = 2 };

static Status compare_gradients(const SelfTest *test, const SelfTestModel *expected, const SelfTestModel *found,
                                SelfTestResult *result, Error *err) {
    const Parameters *set = &expected->model->parameters;
    double largest;
    bool held = selftest_largest(test->reference, set->grads, set->size, &largest);
    for (size_t i = 0; held && i < set->count; i++) {
        const Parameter *p = set->items[i];
        char where[128];
        double error;
        snprintf(where, sizeof where, "last gradient of %s", p->name);
        held = selftest_difference(test, set->grads + p->offset, found->model->parameters.grads + p->offset,
                                   p->tensor.rows * p->tensor.cols, ROUNDING * largest, &error);
        if (held) selftest_note(result, where, error);
    }
    return held ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a self-test");
}

// Length of the difference of the two gradients over the length of the reference's.
static Status compare_whole_gradient(const SelfTest *test, const SelfTestModel *expected, const SelfTestModel *found,
                                     SelfTestResult *result, Error *err) {
    const Parameters *a = &expected->model->parameters, *b = &found->model->parameters;
    double difference = 0, length = 0;
    real *e = malloc((a->size + 1) * sizeof *e), *f = malloc((a->size + 1) * sizeof *f);
    if (e && f) {
        test->reference->nn->download(test->reference, e, a->grads, a->size * sizeof *e);
        test->device->nn->download(test->device, f, b->grads, a->size * sizeof *f);
        for (size_t i = 0; i < a->size; i++) {
            difference += ((double)e[i] - (double)f[i]) * ((double)e[i] - (double)f[i]);
            length += (double)e[i] * (double)e[i];
        }
        selftest_note(result, "last gradient", sqrt(difference / length));
    }
    Status status = e && f ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a self-test");
    free(e);
    free(f);
    return status;
}

// Runs the same steps on both devices. Failures of the device are recorded; those of the reference end the test.
static Status compare_steps(const SelfTest *test, SelfTestModel *expected, SelfTestModel *found,
                            const Observation *frames, SelfTestResult *result, SelfTestResult *gradient, Error *err) {
    for (int step = 0; step < test->steps; step++) {
        double loss[2] = {0};
        char where[64];
        Error failure = {0};
        snprintf(where, sizeof where, "loss of step %d", step);
        Status status = selftest_gradient(expected, frames, step, &loss[0], err);
        if (status != STATUS_OK) return status;
        Status ran = selftest_gradient(found, frames, step, &loss[1], &failure);
        if (ran == STATUS_OK) selftest_note(result, where, fabs(loss[1] - loss[0]) / loss[0]);
        if (ran == STATUS_OK && step + 1 == test->steps)
            status = test->precision == PRECISION_F32 ? compare_gradients(test, expected, found, result, err)
                                                      : compare_whole_gradient(test, expected, found, gradient, err);
        if (status == STATUS_OK) status = selftest_update(expected, step, err);
        if (status != STATUS_OK) return status;
        if (ran == STATUS_OK) ran = selftest_update(found, step, &failure);
        if (ran != STATUS_OK) {
            selftest_note_failure(result, where, failure.text);
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

static Status small_config(const SelfTest *test, StepGraph graph, Config *out, Error *err) {
    static const StepShape shape = {"self-test", 384, 48, SELFTEST_VIEWS, SIDE, SIDE, ROLLOUT, 48, 0.1, false};
    static const char *const narrow[] = {"model.C=32", "gnn.L=2", "encoder.widths=[8, 16]", "renderer.widths=[16, 16]"};
    static const char *const terms[] = {"train.depth_term=0.05"};
    Status status = step_bench_config(&shape, graph, 1024, out, err);
    if (status == STATUS_OK && !test->large) status = config_set(out, sizeof narrow / sizeof *narrow, narrow, err);
    if (status == STATUS_OK && graph == STEP_BODIES) status = config_set(out, sizeof terms / sizeof *terms, terms, err);
    return status;
}

// `frames` NULL: trained on windows.
static Status compare_model(SelfTest *test, const char *name, StepGraph graph, const Observation *frames, Error *err) {
    const SelfTestPrecision *p = &selftest_precisions[test->precision];
    SelfTestResult result = {.part = p->models, .name = name, .allowed = p->model_error};
    SelfTestResult gradient = {.part = p->gradients, .name = name, .allowed = p->gradient_error};
    SelfTestModel expected = {0}, found = {0};
    Config config;
    Error failure = {0};
    Status status = small_config(test, graph, &config, err);
    if (status != STATUS_OK) return status;
    status = selftest_open_model(&expected, test->reference, &config, frames, err);
    config.model.precision = (int)test->precision;
    if (status == STATUS_OK && selftest_open_model(&found, test->device, &config, frames, &failure) != STATUS_OK)
        selftest_note_failure(&result, "creation", failure.text);
    else if (status == STATUS_OK) status = compare_steps(test, &expected, &found, frames, &result, &gradient, err);
    selftest_close_model(&expected);
    selftest_close_model(&found);
    device_set_precision(test->device, PRECISION_F32);
    if (status == STATUS_OK) selftest_report(test, &result);
    if (status == STATUS_OK && gradient.checked) selftest_report(test, &gradient);
    return status;
}

static Status compare_graph(SelfTest *test, StepGraph graph, const Observation *frames, Error *err) {
    return compare_model(test, step_graph_names[graph], graph, frames, err);
}

Status selftest_models(SelfTest *test, Error *err) {
    Status status = selftest_each_graph(test, T + ROLLOUT, SIDE, compare_graph, err);
    if (status != STATUS_OK || (test->model && strcmp(test->model, "windows"))) return status;
    return compare_model(test, "windows", STEP_BODIES, NULL, err);
}
