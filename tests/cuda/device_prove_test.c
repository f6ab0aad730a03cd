// SPDX-License-Identifier: Apache-2.0
// The check before "auto" takes a GPU, with CUDA kernels on the CPU.
#include "device/choice.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/test.h"

static void the_stand_in_is_proved(void **state) {
    (void)state;
    Device *gpu = NULL, *cpu = NULL;
    Error err = {0};
    assert_status_ok(cuda_on_cpu_open(&gpu, &err), err);
    assert_status_ok(device_open("cpu", 2, &cpu, &err), err);
    assert_status_ok(device_prove(gpu, cpu, &err), err);
    device_close(gpu);
    device_close(cpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_stand_in_is_proved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
