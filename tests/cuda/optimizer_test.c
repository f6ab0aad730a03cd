// SPDX-License-Identifier: Apache-2.0
// Updates on the device: more parameters than a launch takes, Muon's matrices, frozen ones, clipping, and gradients
// that are no numbers.
#include "tests/test.h"

#include "nn/backend.h"
#include "nn/optimizer.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

enum { PARAMETERS = 150, FROZEN = 7 };

typedef struct Side {
    Device *device;
    Parameters set;
    Optimizer optimizer;
} Side;

static size_t rows_of(size_t i) { return 1 + i * i % 90; }
static size_t cols_of(size_t i) { return i % 5 == 4 ? rows_of(i) : 30; } // every fifth is square

static void open_side(Side *side, Device *device, double clip) {
    Error err = {0};
    side->device = device;
    parameters_init(&side->set, device);
    for (size_t i = 0; i < PARAMETERS; i++) {
        size_t dims[2] = {rows_of(i), cols_of(i)};
        parameters_add(&side->set, INIT_UNIFORM, 3, i % 3 ? 2 : 1, dims, "%s.%zu", i == FROZEN ? "still" : "p", i);
    }
    parameters_use_muon(&side->set, "p");
    assert_status_ok(parameters_allocate(&side->set, 5, &err), err);
    assert_int_equal(parameters_freeze(&side->set, "still"), 1);
    OptimizerConfig config = {0.9, 0.99, 1e-8, 0.1, clip, 0.99};
    assert_status_ok(optimizer_create(&side->optimizer, &side->set, config, &err), err);
}

static void close_side(Side *side) {
    optimizer_free(&side->optimizer);
    parameters_free(&side->set);
    device_close(side->device);
}

static real *host_copy(const Side *side, const real *block) {
    real *host = malloc(side->set.size * sizeof *host);
    assert_non_null(host);
    side->device->nn->download(side->device, host, block, side->set.size * sizeof *host);
    return host;
}

static void set_gradients(const Side *side, int step, double odd) {
    real *host = calloc(side->set.size, sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < side->set.size; i++) host[i] = (real)(0.1 * sin((double)(i * 7 + (size_t)step)));
    if (odd != 0) host[side->set.items[100]->offset + 3] = (real)odd;
    side->device->nn->upload(side->device, side->set.grads, host, side->set.size * sizeof *host);
    free(host);
}

static void compare(const Side *a, const Side *b, const real *x, const real *y, double tolerance) {
    real *expected = host_copy(a, x), *found = host_copy(b, y);
    for (size_t i = 0; i < a->set.size; i++) assert_true(fabs((double)(expected[i] - found[i])) <= tolerance);
    free(expected);
    free(found);
}

static void check(double clip) {
    Side cpu, cuda;
    Device *device;
    Error err = {0};
    assert_status_ok(device_open("cpu", 2, &device, &err), err);
    open_side(&cpu, device, clip);
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    open_side(&cuda, device, clip);
    real *first = host_copy(&cuda, cuda.set.values);
    for (int step = 0; step < 3; step++) {
        double norm[2];
        set_gradients(&cpu, step, 0);
        set_gradients(&cuda, step, 0);
        assert_status_ok(optimizer_step(&cpu.optimizer, 1e-2, &norm[0], &err), err);
        assert_status_ok(optimizer_step(&cuda.optimizer, 1e-2, &norm[1], &err), err);
        assert_true(norm[0] > 1 && fabs(norm[1] - norm[0]) <= 1e-9 * norm[0]);
    }
    compare(&cpu, &cuda, cpu.set.values, cuda.set.values, 1e-6);
    compare(&cpu, &cuda, cpu.optimizer.m, cuda.optimizer.m, 1e-7);
    compare(&cpu, &cuda, cpu.optimizer.v, cuda.optimizer.v, 1e-8);
    compare(&cpu, &cuda, cpu.optimizer.ema, cuda.optimizer.ema, 1e-6);
    real *last = host_copy(&cuda, cuda.set.values);
    size_t still = cuda.set.items[FROZEN]->offset, moved = 0;
    for (size_t i = 0; i < rows_of(FROZEN); i++) assert_true(first[still + i] == last[still + i]);
    for (size_t i = 0; i < cuda.set.size; i++) moved += first[i] != last[i];
    assert_true(moved > cuda.set.size * 9 / 10);
    free(first);
    free(last);
    close_side(&cpu);
    close_side(&cuda);
}

static void updates_equal_the_cpus(void **state) {
    (void)state;
    check(0);
    check(0.5);
}

static void what_is_no_number_changes_nothing(void **state) {
    (void)state;
    Side cuda;
    Device *device;
    Error err = {0};
    const double odd[] = {NAN, INFINITY, -INFINITY};
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    open_side(&cuda, device, 1);
    for (size_t i = 0; i < 3; i++) {
        double norm;
        real *before[2] = {host_copy(&cuda, cuda.set.values), host_copy(&cuda, cuda.optimizer.m)};
        set_gradients(&cuda, 0, odd[i]);
        assert_status_error(optimizer_step(&cuda.optimizer, 1e-2, &norm, &err), STATUS_FAILED, err,
                            "the gradient of p.100 is not finite");
        real *after[2] = {host_copy(&cuda, cuda.set.values), host_copy(&cuda, cuda.optimizer.m)};
        for (int k = 0; k < 2; k++) {
            assert_memory_equal(before[k], after[k], cuda.set.size * sizeof(real));
            free(before[k]);
            free(after[k]);
        }
        assert_int_equal(cuda.optimizer.step, 0);
    }
    close_side(&cuda);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(updates_equal_the_cpus),
                                       cmocka_unit_test(what_is_no_number_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
