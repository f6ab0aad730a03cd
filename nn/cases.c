// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"

#include "base/check.h"
#include "base/random.h"
#include "nn/backend.h"

#include <string.h>

enum { UPSTREAM = CASE_INPUTS, DIRECTION }; // keys of the random streams beside the inputs'

size_t case_input_count(const OpCase *c) {
    size_t count = 0;
    while (count < CASE_INPUTS && c->inputs[count].name) count++;
    return count;
}

// FNV-1a of the name, so that a case keeps its numbers when others are added.
static RandomKey case_key(const OpCase *c, uint32_t stream) {
    uint32_t hash = 2166136261u;
    for (const char *p = c->name; *p; p++) hash = (hash ^ (uint8_t)*p) * 16777619u;
    return (RandomKey){.seed = hash, .purpose = RANDOM_TEST, .step = stream};
}

static void fill(const OpCase *c, uint32_t stream, double low, double high, size_t count, real *out) {
    RandomKey key = case_key(c, stream);
    for (size_t i = 0; i < count; i++) out[i] = (real)(low + (high - low) * (double)random_uniform(key, i));
}

static void make_input(CaseRun *run, const OpCase *c, size_t i, const real *direction, real step) {
    const CaseInput *input = &c->inputs[i];
    size_t count = input->rows * input->cols;
    run->inputs[i] = tape_tensor(&run->tape, input->rows, input->cols, input->wants_grad);
    real *host = arena_array(&run->tape.host, count + 1, sizeof(real));
    if (!host || !run->inputs[i]->value) return;
    fill(c, (uint32_t)i, input->low, input->high, count, host);
    for (size_t j = 0; direction && j < count; j++) host[j] += step * direction[j];
    run->tape.device->nn->upload(run->tape.device, run->inputs[i]->value, host, count * sizeof(real));
}

static void start_backward(CaseRun *run, const OpCase *c) {
    Tensor *y = run->output;
    size_t count = y->rows * y->cols;
    real *grad = tape_grad(&run->tape, y), *host = arena_array(&run->tape.host, count + 1, sizeof(real));
    if (!grad || !host) return;
    fill(c, UPSTREAM, -1, 1, count, host);
    run->tape.device->nn->upload(run->tape.device, grad, host, count * sizeof(real));
    double before = device_seconds(run->tape.device);
    tape_backward_from_grads(&run->tape);
    run->backward_seconds = device_seconds(run->tape.device) - before;
}

static void count_bytes(CaseRun *run) {
    double y = (double)(run->output->rows * run->output->cols);
    run->forward_bytes = run->backward_bytes = y * sizeof(real);
    for (size_t i = 0; i < run->input_count; i++) {
        double x = (double)(run->inputs[i]->rows * run->inputs[i]->cols) * sizeof(real);
        run->forward_bytes += x;
        run->backward_bytes += run->inputs[i]->wants_grad ? 2 * x : x;
    }
}

static Status run_on_tape(const OpCase *c, int moved, const real *direction, real step, bool backward, CaseRun *run,
                          Error *err) {
    Device *device = run->tape.device;
    for (size_t i = 0; i < run->input_count; i++) make_input(run, c, i, (int)i == moved ? direction : NULL, step);
    double before = device_seconds(device);
    run->output = c->run(&run->tape, run->inputs, c);
    run->forward_seconds = device_seconds(device) - before;
    if (!device->failed) count_bytes(run);
    if (backward && !device->failed) start_backward(run, c);
    return device_status(device, err);
}

Status case_run(Device *device, const OpCase *c, int moved, const real *direction, real step, bool backward,
                CaseRun *run, Error *err) {
    memset(run, 0, sizeof *run);
    tape_init(&run->tape, device);
    run->input_count = case_input_count(c);
    return run_on_tape(c, moved, direction, step, backward, run, err);
}

Status case_run_again(CaseRun *run, const OpCase *c, Error *err) {
    tape_reset(&run->tape);
    arena_reset(&run->tape.device->scratch); // joins its blocks
    return run_on_tape(c, -1, NULL, 0, true, run, err);
}

void case_run_free(CaseRun *run) { tape_free(&run->tape); }

double case_objective(const CaseRun *run, const OpCase *c) {
    const Tensor *y = run->output;
    RandomKey key = case_key(c, UPSTREAM);
    double sum = 0;
    for (size_t i = 0; i < y->rows * y->cols; i++)
        sum += (double)y->value[i] * (2 * (double)random_uniform(key, i) - 1);
    return sum;
}

static Status objective_at(Device *device, const OpCase *c, int moved, const real *direction, real step, double *out,
                           Error *err) {
    CaseRun run;
    Status status = case_run(device, c, moved, direction, step, false, &run, err);
    if (status == STATUS_OK) *out = case_objective(&run, c);
    case_run_free(&run);
    return status;
}

// |analytic - central difference| relative to the larger of them and to the size of the gradient.
static Status input_gradient_error(Device *device, const OpCase *c, const CaseRun *base, int i, double *error,
                                   Error *err) {
    const double step = 1e-5; // truncation ~1e-10, rounding ~1e-11 in double
    size_t count = c->inputs[i].rows * c->inputs[i].cols;
    real *direction = calloc(count + 1, sizeof *direction);
    if (!direction) return error_set(err, STATUS_FAILED, "out of memory for a direction");
    fill(c, DIRECTION + (uint32_t)i, -1, 1, count, direction);
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

Status case_gradient_error(Device *device, const OpCase *c, double *error, const char **worst, Error *err) {
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
