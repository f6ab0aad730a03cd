// SPDX-License-Identifier: Apache-2.0
// The self-test of the CUDA back end on the CPU's stand-in: every op, nearest neighbours, and training steps of whole
// models, with device memory out of the host's reach.
#include "tests/test.h"

#include "bench/selftest.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

static void see(void *context, const SelfTestResult *r) {
    (void)context;
    print_message("%s %s: worst %.2e of %.0e\n", r->part, r->name, r->worst, r->allowed);
    if (r->failed)
        print_error("%s %s: %zu of %zu failed, worst %.2e: %s\n", r->part, r->name, r->failed, r->checked, r->worst,
                    r->where);
}

typedef Status Part(SelfTest *test, Error *err);

static void check(Part *part, Precision precision, const char *model, int steps) {
    SelfTest test = {.model = model, .steps = steps, .report = see, .precision = precision};
    Error err = {0};
    assert_status_ok(device_open("cpu", 2, &test.reference, &err), err);
    assert_status_ok(cuda_on_cpu_open(&test.device, &err), err);
    cuda_on_cpu_guard(true);
    Status status = part(&test, &err);
    cuda_on_cpu_guard(false);
    assert_status_ok(status, err);
    assert_int_equal(test.failed, 0);
    device_close(test.device);
    device_close(test.reference);
}

static void ops(void **state) {
    (void)state;
    check(selftest_ops, PRECISION_F32, NULL, 0); // the others: the tests of cases
}

static void neighbours(void **state) {
    (void)state;
    check(selftest_neighbours, PRECISION_F32, NULL, 0);
}

static void sim(void **state) {
    (void)state;
    check(selftest_sim, PRECISION_F32, NULL, 0);
    check(selftest_raster, PRECISION_F32, NULL, 0);
}

static void models(void **state) {
    (void)state;
    check(selftest_models, PRECISION_F32, "hierarchical", 1);
    check(selftest_models, PRECISION_F32, "bodies", 1); // takes 20 s
    check(selftest_models, PRECISION_F32, "windows", 4);
    check(selftest_models, PRECISION_TF32, "hierarchical", 1);
    check(selftest_models, PRECISION_BF16, "hierarchical", 1);
    check(selftest_models, PRECISION_BF16, "windows", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ops), cmocka_unit_test(neighbours), cmocka_unit_test(sim),
                                       cmocka_unit_test(models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
