// SPDX-License-Identifier: Apache-2.0
// The network over bodies by CUDA kernels on the CPU: outputs and gradients of the weights are the CPU's.
#include "base/random.h"
#include "bodies/body_network.h"
#include "nn/backend.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static const BodyScales scales = {.reach = 0.15f, .length = 0.125f, .speed = 0.1f, .step = 0.05f};
static const double TOLERANCE = 2e-5; // sums of some hundred products in f32, in another order

static real uniform(size_t i) { return 2 * random_uniform((RandomKey){.seed = 8, .purpose = RANDOM_TEST}, i) - 1; }

// Two windows of two bodies of 20 points.
static void make_set(BodySet *set) {
    Error err;
    for (size_t body = 0; body < 4; body++) {
        size_t row;
        if (body % 2 == 0) assert_status_ok(body_set_add_window(set, &err), err);
        assert_status_ok(body_set_add_body(set, 20, &row, &err), err);
        for (size_t i = 3 * row; i < 3 * set->nodes; i++) {
            set->now[i] = 0.1f * uniform(i) + (i % 3 == 0 ? 0.15f * (real)body : 0);
            set->before[i] = set->now[i] - 0.02f * uniform(i + 900);
        }
    }
}

// The outputs, then the gradients of their weighted sum; the caller frees them.
static real *values_on(bool gpu, size_t *count) {
    Device *device = NULL;
    Parameters parameters;
    BodyNetwork network;
    Tape tape;
    BodySet set = {0};
    BodyInputs in = {0};
    Error err;
    if (gpu) assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    else assert_status_ok(device_open("cpu", 2, &device, &err), err);
    parameters_init(&parameters, device);
    body_network_create(&parameters, 32, 2, &network);
    assert_status_ok(parameters_allocate(&parameters, 3, &err), err);
    make_set(&set);
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    size_t outputs = 3 * set.nodes, size = parameters.size;
    real *out = malloc((outputs + size) * sizeof *out);
    for (size_t i = 0; i < size; i++) out[i] = 0.3f * uniform(i + 77);
    device->nn->upload(device, parameters.values, out, size * sizeof *out);
    tape_init(&tape, device);
    Tensor *y = body_network_run(&tape, &network, &set, &in);
    device->nn->download(device, out, y->value, outputs * sizeof *out);
    parameters_zero_grad(&parameters);
    real *weights = malloc(outputs * sizeof *weights);
    for (size_t i = 0; i < outputs; i++) weights[i] = uniform(i + 5000);
    device->nn->upload(device, tape_grad(&tape, y), weights, outputs * sizeof *weights);
    tape_backward_from_grads(&tape);
    device->nn->download(device, out + outputs, parameters.grads, size * sizeof *out);
    assert_status_ok(device_status(device, &err), err);
    free(weights);
    body_inputs_free(&in);
    body_set_free(&set);
    tape_free(&tape);
    parameters_free(&parameters);
    device_close(device);
    *count = outputs + size;
    return out;
}

static void test_same_as_cpu(void **state) {
    (void)state;
    size_t count, other;
    double largest = 0, worst = 0;
    real *cpu = values_on(false, &count), *gpu = values_on(true, &other);
    assert_int_equal(count, other);
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)cpu[i]));
        worst = fmax(worst, fabs((double)(cpu[i] - gpu[i])));
    }
    if (!(worst <= TOLERANCE * largest)) fail_msg("off by %.3g of %.3g", worst, largest);
    assert_true(largest > 1); // it says something
    free(cpu);
    free(gpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
