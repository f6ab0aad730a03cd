// SPDX-License-Identifier: Apache-2.0
// Compares steps that a device captures and replays as graphs (train.cuda_graph) with the same steps without graphs.
#include "bench/selftest_model.h"
#include "nn/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 2, ROLLOUT = 2, SIDE = 16, LEAST_STEPS = 5 };

static Status one_step(SelfTestModel *model, const Observation *frames, int step, bool replay, double *loss,
                       Error *err) {
    Device *device = model->model->device;
    device_step_begin(device, replay);
    Status status = selftest_gradient(model, frames, step, loss, err);
    if (status == STATUS_OK) status = selftest_update(model, step, err);
    device_step_end(device);
    return status;
}

static Status compare_weights(const SelfTest *test, const SelfTestModel *plain, const SelfTestModel *replayed,
                              SelfTestResult *result, Error *err) {
    const Parameters *a = &plain->model->parameters, *b = &replayed->model->parameters;
    size_t bytes = a->size * sizeof(real);
    real *host = malloc(2 * bytes + 1);
    if (!host) return error_set(err, STATUS_FAILED, "out of memory for a self-test");
    test->device->nn->download(test->device, host, a->values, bytes);
    test->device->nn->download(test->device, host + a->size, b->values, bytes);
    selftest_note(result, "weights", memcmp(host, host + a->size, bytes) == 0 ? 0 : INFINITY);
    free(host);
    return STATUS_OK;
}

static Status compare_steps(const SelfTest *test, SelfTestModel *plain, SelfTestModel *replayed,
                            const Observation *frames, SelfTestResult *result, Error *err) {
    Device *device = test->device;
    int steps = test->steps > LEAST_STEPS ? test->steps : LEAST_STEPS;
    device->replay = (DeviceReplay){0};
    for (int step = 0; step < steps; step++) {
        double loss[2];
        char where[64];
        snprintf(where, sizeof where, "loss of step %d", step);
        Status status = one_step(plain, frames, step, false, &loss[0], err);
        if (status == STATUS_OK) status = one_step(replayed, frames, step, true, &loss[1], err);
        if (status != STATUS_OK) {
            selftest_note_failure(result, where, err->text);
            return STATUS_OK;
        }
        selftest_note(result, where, fabs(loss[1] - loss[0]) / loss[0]);
    }
    if (device->nn->step_begin && device->replay.launched == 0)
        selftest_note_failure(result, "launches", "no part of any step was launched as a graph");
    return compare_weights(test, plain, replayed, result, err);
}

static Status compare_graph(SelfTest *test, StepGraph graph, const Observation *frames, Error *err) {
    static const StepShape shape = {"self-test", 64, 12, SELFTEST_VIEWS, SIDE, SIDE, ROLLOUT, 16, 0.15, false};
    static const char *const narrow[] = {"model.C=32", "gnn.L=1", "encoder.widths=[8, 16]", "renderer.widths=[16, 16]"};
    SelfTestResult result = {.part = "graphs", .name = step_graph_names[graph], .allowed = 0};
    SelfTestModel plain = {0}, replayed = {0};
    Config config;
    Status status = step_bench_config(&shape, graph, 1024, &config, err);
    if (status == STATUS_OK) status = config_set(&config, sizeof narrow / sizeof *narrow, narrow, err);
    if (status != STATUS_OK) return status;
    config.model.precision = (int)test->precision;
    if (selftest_open_model(&plain, test->device, &config, frames, err) != STATUS_OK ||
        selftest_open_model(&replayed, test->device, &config, frames, err) != STATUS_OK)
        selftest_note_failure(&result, "creation", err->text);
    else status = compare_steps(test, &plain, &replayed, frames, &result, err);
    selftest_close_model(&plain);
    selftest_close_model(&replayed);
    device_set_precision(test->device, PRECISION_F32);
    if (status == STATUS_OK) selftest_report(test, &result);
    return status;
}

Status selftest_replays(SelfTest *test, Error *err) {
    return selftest_each_graph(test, T + ROLLOUT, SIDE, compare_graph, err);
}
