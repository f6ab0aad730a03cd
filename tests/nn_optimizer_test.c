// SPDX-License-Identifier: Apache-2.0
// Adam and Muon against their equations worked out in double, clipping, frozen parameters, and gradients that are not
// finite.
#include "nn/optimizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

typedef struct Fixture {
    Device *device;
    Parameters set;
    Tensor *a, *b;
    Optimizer optimizer;
} Fixture;

static void setup(Fixture *f, OptimizerConfig config) {
    Error err = {0};
    memset(f, 0, sizeof *f);
    assert_int_equal(device_open("cpu", 2, &f->device, &err), STATUS_OK);
    parameters_init(&f->set, f->device);
    f->a = parameters_add(&f->set, INIT_UNIFORM, 3, 2, (size_t[]){3, 5}, "a.weight");
    f->b = parameters_add(&f->set, INIT_UNIFORM, 3, 1, (size_t[]){4}, "b.bias");
    assert_int_equal(parameters_allocate(&f->set, 7, &err), STATUS_OK);
    assert_int_equal(optimizer_create(&f->optimizer, &f->set, config, &err), STATUS_OK);
}

static void teardown(Fixture *f) {
    optimizer_free(&f->optimizer);
    parameters_free(&f->set);
    device_close(f->device);
}

static void set_gradients(Fixture *f, real value) {
    for (size_t i = 0; i < 15; i++) f->a->grad[i] = value * (real)(i + 1);
    for (size_t i = 0; i < 4; i++) f->b->grad[i] = -value;
}

static void three_steps_match_the_equations(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (OptimizerConfig){.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1, .ema = 0.5});
    double w = (double)f.a->value[4], m = 0, v = 0, ema = w, norm = 0;
    for (int t = 1; t <= 3; t++) {
        double g = 0.01 * t * 5;
        set_gradients(&f, (real)(0.01 * t));
        assert_int_equal(optimizer_step(&f.optimizer, 0.02, &norm, NULL), STATUS_OK);
        m = 0.9 * m + 0.1 * g;
        v = 0.99 * v + 0.01 * g * g;
        w = w * (1 - 0.02 * 0.1) - 0.02 * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.99, t))) + 1e-8);
        double decay = fmin(0.5, (1.0 + t) / (10.0 + t));
        ema = decay * ema + (1 - decay) * w;
    }
    // Single precision against double: a few units in the last place of values below 1.
    assert_float_equal(f.a->value[4], w, 2e-6);
    assert_float_equal(f.optimizer.ema[4], ema, 2e-6);
    teardown(&f);
}

// (I - 2 u u^T) with u of norm 1, which depends on `seed`.
static void make_reflection(size_t n, double seed, double *q) {
    double u[8], squares = 0;
    for (size_t i = 0; i < n; i++) {
        u[i] = sin(seed * (double)(i + 1));
        squares += u[i] * u[i];
    }
    for (size_t i = 0; i < n * n; i++) q[i] = (i / n == i % n) - 2 * u[i / n] * u[i % n] / squares;
}

// Two updates with the gradients P diag(s) Q, for which the steps of Newton and Schulz change each singular value
// alone; a matrix that is not square, and one of another name, stay Adam's.
static void muon_makes_singular_values_equal(void **state) {
    (void)state;
    enum { N = 6 };
    const OptimizerConfig config = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1, .ema = 0.5};
    static const double s[2][N] = {{3, 2, 1, 0.5, 0.1, 0}, {-1, 4, 0, 0.2, 0.3, 1}};
    Parameters set;
    Device *device;
    Optimizer optimizer;
    Error err = {0};
    double p[N * N], q[N * N], w[N * N], ema[N * N], mean[N] = {0}, norm;
    assert_int_equal(device_open("cpu", 2, &device, &err), STATUS_OK);
    parameters_init(&set, device);
    Tensor *t = parameters_add(&set, INIT_UNIFORM, 3, 2, (size_t[]){N, N}, "a.weight");
    parameters_add(&set, INIT_UNIFORM, 3, 2, (size_t[]){N, N + 1}, "a.wide");
    parameters_add(&set, INIT_UNIFORM, 3, 2, (size_t[]){N, N}, "b.weight");
    parameters_use_muon(&set, "a.");
    assert_true(set.items[0]->muon && !set.items[1]->muon && !set.items[2]->muon);
    assert_int_equal(parameters_allocate(&set, 7, &err), STATUS_OK);
    assert_int_equal(optimizer_create(&optimizer, &set, config, &err), STATUS_OK);
    make_reflection(N, 1.3, p);
    make_reflection(N, 0.7, q);
    for (size_t i = 0; i < N * N; i++) ema[i] = w[i] = (double)t->value[i];
    for (int step = 0; step < 2; step++) {
        double x[N], squares = 0, keep = fmin(0.5, (2.0 + step) / (11.0 + step));
        for (size_t k = 0; k < N; k++) {
            mean[k] = 0.95 * mean[k] + 0.05 * s[step][k];
            x[k] = 0.95 * mean[k] + 0.05 * s[step][k];
            squares += x[k] * x[k];
        }
        for (size_t k = 0; k < N; k++) {
            x[k] /= sqrt(squares);
            for (int i = 0; i < 5; i++) x[k] = 3.4445 * x[k] - 4.775 * pow(x[k], 3) + 2.0315 * pow(x[k], 5);
        }
        for (size_t i = 0; i < N * N; i++) {
            double grad = 0, update = 0;
            for (size_t k = 0; k < N; k++) {
                grad += p[i / N * N + k] * s[step][k] * q[k * N + i % N];
                update += p[i / N * N + k] * x[k] * q[k * N + i % N];
            }
            t->grad[i] = (real)grad;
            w[i] = (1 - 0.02 * 0.1) * w[i] - 0.02 * 0.2 * sqrt(N) * update;
            ema[i] = keep * ema[i] + (1 - keep) * w[i];
        }
        assert_int_equal(optimizer_step(&optimizer, 0.02, &norm, NULL), STATUS_OK);
    }
    for (size_t i = 0; i < N * N; i++) {
        assert_float_equal(t->value[i], w[i], 2e-6);
        assert_float_equal(optimizer.ema[i], ema[i], 2e-6);
    }
    optimizer_free(&optimizer);
    parameters_free(&set);
    device_close(device);
}

// A gradient of zero leaves a matrix as it is, and the products' bits do not depend on the number of threads.
static void muon_without_gradient_and_with_threads(void **state) {
    (void)state;
    enum { N = 40, MATRICES = 5 };
    real *values[2];
    for (int k = 0; k < 2; k++) {
        Parameters set;
        Device *device;
        Optimizer optimizer;
        Error err = {0};
        double norm;
        assert_int_equal(device_open("cpu", k ? 3 : 1, &device, &err), STATUS_OK);
        parameters_init(&set, device);
        for (int i = 0; i < MATRICES; i++) parameters_add(&set, INIT_UNIFORM, 3, 2, (size_t[]){N, N}, "a.%d", i);
        parameters_use_muon(&set, "a");
        assert_int_equal(parameters_allocate(&set, 7, &err), STATUS_OK);
        assert_int_equal(optimizer_create(&optimizer, &set, (OptimizerConfig){.clip = 1}, &err), STATUS_OK);
        values[k] = malloc(set.size * sizeof(real));
        assert_non_null(values[k]);
        memcpy(values[k], set.values, set.size * sizeof(real));
        assert_int_equal(optimizer_step(&optimizer, 0.02, &norm, NULL), STATUS_OK);
        assert_memory_equal(values[k], set.values, set.size * sizeof(real));
        for (size_t i = 0; i < set.size; i++) set.grads[i] = (real)sin((double)(i * i));
        assert_int_equal(optimizer_step(&optimizer, 0.02, &norm, NULL), STATUS_OK);
        memcpy(values[k], set.values, set.size * sizeof(real));
        optimizer_free(&optimizer);
        parameters_free(&set);
        device_close(device);
    }
    assert_memory_equal(values[0], values[1], MATRICES * N * N * sizeof(real));
    for (int k = 0; k < 2; k++) free(values[k]);
}

static void clipping_scales_the_step_but_reports_the_norm(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (OptimizerConfig){.beta1 = 0, .beta2 = 0, .epsilon = 1, .clip = 1});
    double before = (double)f.b->value[0], norm = 0;
    set_gradients(&f, 1); // norm^2 = sum of squares 1..15 + 4 = 1244
    assert_int_equal(optimizer_step(&f.optimizer, 1, &norm, NULL), STATUS_OK);
    double g = -1 / sqrt(1244.0);
    assert_float_equal(norm, sqrt(1244.0), 1e-4);
    assert_float_equal(f.b->value[0], before - g / (fabs(g) + 1), 1e-6);
    teardown(&f);
}

static void frozen_parameters_stay(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (OptimizerConfig){.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.5});
    assert_int_equal(parameters_freeze(&f.set, "a."), 1);
    real before = f.a->value[3];
    double norm = 0;
    set_gradients(&f, 1);
    assert_int_equal(optimizer_step(&f.optimizer, 0.1, &norm, NULL), STATUS_OK);
    assert_true(f.a->value[3] == before);
    assert_float_equal(norm, 2, 1e-6); // of b alone
    teardown(&f);
}

// Chosen ones alone change, but those that are frozen never do.
static void chosen_parameters_change(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (OptimizerConfig){.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.5});
    double norm = 0;
    for (int inside = 0; inside < 2; inside++) {
        real a = f.a->value[3], b = f.b->value[1];
        parameters_choose(&f.set, "a.", inside);
        set_gradients(&f, 1);
        assert_int_equal(optimizer_step(&f.optimizer, 0.1, &norm, NULL), STATUS_OK);
        assert_true((f.a->value[3] != a) == (inside == 1) && (f.b->value[1] != b) == (inside == 0));
    }
    parameters_freeze(&f.set, "a.");
    parameters_choose(&f.set, "a.", true);
    assert_false(f.a->wants_grad || f.b->wants_grad);
    teardown(&f);
}

static void a_gradient_that_is_not_finite_is_named(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (OptimizerConfig){.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8});
    real before = f.a->value[0];
    double norm = 0;
    Error err = {0};
    set_gradients(&f, 1);
    f.b->grad[2] = NAN;
    assert_int_equal(optimizer_step(&f.optimizer, 0.1, &norm, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "b.bias"));
    assert_true(f.a->value[0] == before && f.optimizer.step == 0);
    teardown(&f);
}

static void swapping_twice_changes_nothing(void **state) {
    (void)state;
    Fixture f;
    setup(&f, (OptimizerConfig){.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .ema = 0.9});
    double norm = 0;
    set_gradients(&f, 1);
    assert_int_equal(optimizer_step(&f.optimizer, 0.1, &norm, NULL), STATUS_OK);
    real weight = f.a->value[0], average = f.optimizer.ema[0];
    optimizer_swap_ema(&f.optimizer);
    assert_true(f.a->value[0] == average && average != weight);
    optimizer_swap_ema(&f.optimizer);
    assert_true(f.a->value[0] == weight);
    teardown(&f);
}

// As a new optimiser would go on from the weights as they are.
static void restart_forgets_moments_and_average(void **state) {
    (void)state;
    OptimizerConfig config = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .ema = 0.5};
    Fixture f, fresh;
    double norm;
    setup(&f, config);
    setup(&fresh, config);
    set_gradients(&f, (real)0.3);
    assert_int_equal(optimizer_step(&f.optimizer, 0.02, &norm, NULL), STATUS_OK);
    memcpy(fresh.set.values, f.set.values, f.set.size * sizeof(real));
    optimizer_restart_ema(&fresh.optimizer);
    optimizer_restart(&f.optimizer);
    set_gradients(&f, (real)0.01);
    set_gradients(&fresh, (real)0.01);
    assert_int_equal(optimizer_step(&f.optimizer, 0.02, &norm, NULL), STATUS_OK);
    assert_int_equal(optimizer_step(&fresh.optimizer, 0.02, &norm, NULL), STATUS_OK);
    assert_memory_equal(f.set.values, fresh.set.values, f.set.size * sizeof(real));
    assert_memory_equal(f.optimizer.ema, fresh.optimizer.ema, f.set.size * sizeof(real));
    teardown(&f);
    teardown(&fresh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restart_forgets_moments_and_average),
        cmocka_unit_test(three_steps_match_the_equations),
        cmocka_unit_test(muon_makes_singular_values_equal),
        cmocka_unit_test(muon_without_gradient_and_with_threads),
        cmocka_unit_test(clipping_scales_the_step_but_reports_the_norm),
        cmocka_unit_test(frozen_parameters_stay),
        cmocka_unit_test(chosen_parameters_change),
        cmocka_unit_test(a_gradient_that_is_not_finite_is_named),
        cmocka_unit_test(swapping_twice_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
