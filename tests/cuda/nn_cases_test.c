// SPDX-License-Identifier: Apache-2.0
// Every case of every op of nn by the CUDA kernels, run on the CPU: forward and backward as the CPU back end has them,
// the same bits again whatever the order of threads, no device memory touched by host code.
#include "tests/cuda/case_values.h"

#include "bench/case_tables.h"
#include "nn/optimizer.h"
#include "tests/cuda/devices.h"

static const char *value_name(const OpCase *c, size_t i) { return i == 0 ? "value" : c->inputs[i - 1].name; }

typedef void Check(const OpCase *c, const Devices *devices);

static void each_case(Check *check, const Devices *devices) {
    for (size_t t = 0; t < nn_case_table_count; t++)
        for (size_t i = 0; i < nn_case_tables[t]->count; i++)
            if (!nn_case_tables[t]->cases[i].bench) check(&nn_case_tables[t]->cases[i], devices);
}

// f32: sums of up to some thousand floats in two orders. Otherwise two factors are rounded, by up to
// 2^-11 or 2^-8 each.
static const double tolerance[] = {[PRECISION_F32] = 1e-5, [PRECISION_TF32] = 1e-3, [PRECISION_BF16] = 8e-3};

static void check_against_cpu(const OpCase *c, const Devices *devices) {
    double largest = 0;
    Values cpu = run_case(devices->cpu, c), cuda = run_case(devices->gpu, c);
    for (size_t i = 0; i < cpu.count; i++) {
        double error = relative_error(cuda.item[i], cpu.item[i], cpu.size[i]);
        if (!(error < tolerance[devices->gpu->precision]))
            fail_msg("%s, precision %d: %s is off by %.3g", c->name, devices->gpu->precision, value_name(c, i), error);
        largest = fmax(largest, error);
    }
    // Products of more than nothing are rounded, and nothing else.
    bool rounded = devices->gpu->precision != PRECISION_F32;
    bool multiplies = !strncmp(c->name, "linear", 6) || !strncmp(c->name, "conv", 4);
    if (rounded && cpu.size[0] && multiplies != (largest > 1e-5))
        fail_msg("%s, precision %d: off by %.3g", c->name, devices->gpu->precision, largest);
    values_free(&cpu);
    values_free(&cuda);
}

static void equals_the_cpu(void **state) {
    cuda_on_cpu_guard(true);
    each_case(check_against_cpu, *state);
    cuda_on_cpu_guard(false);
}

static void products_in_other_precisions(void **state) {
    const Devices *devices = *state;
    for (Precision p = PRECISION_F32; p <= PRECISION_TF32; p++) {
        device_set_precision(devices->gpu, p);
        if (p != PRECISION_F32 && devices->gpu->precision == p) each_case(check_against_cpu, devices);
    }
    device_set_precision(devices->gpu, PRECISION_F32);
}

static void check_repeats(const OpCase *c, const Devices *devices) {
    cuda_on_cpu_seed(0);
    Values first = run_case(devices->gpu, c);
    for (uint64_t seed = 1; seed < 4; seed++) {
        cuda_on_cpu_seed(seed);
        Values again = run_case(devices->gpu, c);
        for (size_t i = 0; i < first.count; i++)
            if (first.item[i] && memcmp(first.item[i], again.item[i], first.size[i] * sizeof(real)) != 0)
                fail_msg("%s: %s has other bits in another order of threads", c->name, value_name(c, i));
        values_free(&again);
    }
    values_free(&first);
    cuda_on_cpu_seed(0);
}

static void the_same_bits_in_any_order(void **state) { each_case(check_repeats, *state); }

// A small model's parameters after three updates.
static void updates(Device *device, real out[64]) {
    Parameters set;
    Optimizer optimizer;
    Error err = {0};
    parameters_init(&set, device);
    parameters_add(&set, INIT_UNIFORM, 5, 2, (size_t[]){5, 7}, "weight");
    parameters_add(&set, INIT_ONE, 1, 1, (size_t[]){7}, "bias");
    assert_status_ok(parameters_allocate(&set, 3, &err), err);
    OptimizerConfig config = {
        .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1, .clip = 0.5, .ema = 0.9};
    assert_status_ok(optimizer_create(&optimizer, &set, config, &err), err);
    for (int step = 0; step < 3; step++) {
        double norm;
        device->nn->copy(device, set.grads, set.values, set.size * sizeof(real)); // some gradient
        assert_status_ok(optimizer_step(&optimizer, 0.01, &norm, &err), err);
        out[62 - step] = (real)norm;
    }
    optimizer_swap_ema(&optimizer);
    assert_int_equal(set.size, 48 + 16);
    device->nn->download(device, out, set.values, 55 * sizeof(real));
    optimizer_free(&optimizer);
    parameters_free(&set);
}

static void optimizer_equals_the_cpu(void **state) {
    const Devices *devices = *state;
    real cpu[64] = {0}, cuda[64] = {0};
    cuda_on_cpu_guard(true);
    updates(devices->cpu, cpu);
    updates(devices->gpu, cuda);
    cuda_on_cpu_guard(false);
    assert_true(relative_error(cuda, cpu, 63) < 1e-6); // the same operations, but for the order of the norm's sum
}

// The largest shapes that take a second here; the order of work differs from the small ones'.
static void check_bench_case(const OpCase *c, const Devices *devices) {
    size_t count = 0;
    for (size_t i = 0; i < case_input_count(c); i++) count += c->inputs[i].rows * c->inputs[i].cols;
    if (c->flops < 1e8 && count < 1 << 21) check_against_cpu(c, devices);
}

static void large_shapes_equal_the_cpu(void **state) {
    for (size_t t = 0; t < nn_case_table_count; t++)
        for (size_t i = 0; i < nn_case_tables[t]->count; i++)
            if (nn_case_tables[t]->cases[i].bench) check_bench_case(&nn_case_tables[t]->cases[i], *state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_cpu), cmocka_unit_test(products_in_other_precisions),
                                       cmocka_unit_test(the_same_bits_in_any_order),
                                       cmocka_unit_test(optimizer_equals_the_cpu),
                                       cmocka_unit_test(large_shapes_equal_the_cpu)};
    return cmocka_run_group_tests(tests, devices_setup, devices_teardown);
}
