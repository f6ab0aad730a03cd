// SPDX-License-Identifier: Apache-2.0
#include "tests/test.h"

#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "train/selftest.h"

static void see(void *context, const SelfTestResult *r) {
    (void)context;
    print_message("%s %s: worst %.2e of %.0e %s\n", r->part, r->name, r->worst, r->allowed, r->where);
}

static void check_form(const char *form) {
    SelfTest test = {.steps = 9, .model = form, .report = see};
    Error err = {0};
    assert_status_ok(cuda_on_cpu_open(&test.device, &err), err);
    cuda_on_cpu_guard(true);
    Status status = selftest_replays(&test, &err);
    cuda_on_cpu_guard(false);
    assert_status_ok(status, err);
    assert_int_equal(test.failed, 0);
    DeviceReplay r = test.device->replay;
    print_message("captured %zu launched %zu changed %zu otherwise %zu\n", r.captured, r.launched, r.changed,
                  r.otherwise);
    device_close(test.device);
}

static void models_come_to_the_same_bits(void **state) {
    (void)state;
    check_form("published");
    check_form("published, velocity");
    check_form("full");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_come_to_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
