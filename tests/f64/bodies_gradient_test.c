// SPDX-License-Identifier: Apache-2.0
// Gradients of the network over bodies in double against central differences, in a random direction of each parameter.
#include "base/random.h"
#include "bodies/body_network.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static const BodyScales scales = {.reach = 0.15, .length = 0.125, .speed = 0.1, .step = 0.05};
static const double STEP = 1e-5, TOLERANCE = 1e-7; // truncation and rounding leave 1e-9 of numbers of order 1

static double uniform(size_t i) {
    return 2 * (double)random_uniform((RandomKey){.seed = 8, .purpose = RANDOM_TEST}, i) - 1;
}

typedef struct Made {
    Device *device;
    Parameters parameters;
    BodyNetwork network;
    Tape tape;
    BodySet set;
    BodyInputs inputs;
} Made;

// Two windows; the first of three bodies of 5, 6 and 7 points near each other, the second of one.
static void make_set(Made *m) {
    Error err;
    for (size_t body = 0; body < 4; body++) {
        size_t row;
        if (body % 3 == 0) assert_status_ok(body_set_add_window(&m->set, &err), err);
        if (body == 0)
            assert_status_ok(body_set_add_patch(&m->set, (SurfacePatch){.normal = {0, 0, 1}, .radius = INFINITY}, &err),
                             err);
        assert_status_ok(body_set_add_body(&m->set, 5 + body, &row, &err), err);
        for (size_t i = 3 * row; i < 3 * m->set.nodes; i++) {
            m->set.now[i] = 0.1 * (uniform(i) + (i % 3 == 0 ? (double)body : 0));
            m->set.before[i] = m->set.now[i] - 0.02 * uniform(i + 900);
        }
    }
    assert_status_ok(body_inputs_make(&m->set, &scales, 2, &m->inputs, &err), err);
}

static void open_all(Made *m) {
    Error err;
    *m = (Made){.device = NULL};
    assert_status_ok(device_open("cpu", 2, &m->device, &err), err);
    parameters_init(&m->parameters, m->device);
    body_network_create(&m->parameters, 8, 2, &m->network);
    assert_status_ok(parameters_allocate(&m->parameters, 3, &err), err);
    for (size_t i = 0; i < m->parameters.size; i++) m->parameters.values[i] += 0.3 * uniform(i + 77);
    tape_init(&m->tape, m->device);
    make_set(m);
}

static void close_all(Made *m) {
    body_inputs_free(&m->inputs);
    body_set_free(&m->set);
    tape_free(&m->tape);
    parameters_free(&m->parameters);
    device_close(m->device);
}

// A random weighting of the outputs.
static double objective(Made *m, bool backward) {
    tape_reset(&m->tape);
    Tensor *out = body_network_run(&m->tape, &m->network, &m->set, &m->inputs);
    real *grad = backward ? tape_grad(&m->tape, out) : NULL;
    double sum = 0;
    for (size_t i = 0; i < 3 * out->rows; i++) {
        sum += uniform(i + 5000) * (double)out->value[i];
        if (grad) grad[i] += uniform(i + 5000);
    }
    if (backward) tape_backward_from_grads(&m->tape);
    return sum;
}

static double derivative(Made *m, const Parameter *p) {
    size_t count = p->tensor.rows * p->tensor.cols;
    double side[2];
    for (int s = 0; s < 2; s++) {
        double step = s ? -STEP : STEP;
        for (size_t i = 0; i < count; i++) p->tensor.value[i] += step * uniform(i + 300);
        side[s] = objective(m, false);
        for (size_t i = 0; i < count; i++) p->tensor.value[i] -= step * uniform(i + 300);
    }
    return (side[0] - side[1]) / (2 * STEP);
}

static void test_gradients(void **state) {
    (void)state;
    Made m;
    size_t felt = 0;
    open_all(&m);
    parameters_zero_grad(&m.parameters);
    objective(&m, true);
    for (size_t n = 0; n < m.parameters.count; n++) {
        const Parameter *p = m.parameters.items[n];
        double analytic = 0;
        for (size_t i = 0; i < p->tensor.rows * p->tensor.cols; i++)
            analytic += (double)p->tensor.grad[i] * uniform(i + 300);
        double numeric = derivative(&m, p), size = 1 + fabs(numeric);
        if (!(fabs(analytic - numeric) <= TOLERANCE * size))
            fail_msg("%s: gradient %.10g, difference %.10g", p->name, analytic, numeric);
        felt += fabs(1.01 * analytic - numeric) > TOLERANCE * size; // a gradient that is off by 1 % is found
    }
    assert_int_equal(felt, m.parameters.count);
    close_all(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
