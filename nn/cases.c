// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"

#include "nn/backend.h"

#include <string.h>

size_t case_input_count(const OpCase *c) {
    size_t count = 0;
    while (count < CASE_INPUTS && c->inputs[count].name) count++;
    return count;
}

// FNV-1a of the name.
RandomKey case_key(const OpCase *c, uint32_t stream) {
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
    fill(c, CASE_UPSTREAM, -1, 1, count, host);
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
