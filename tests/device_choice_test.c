// SPDX-License-Identifier: Apache-2.0
// What "auto" means, and that a device which computes something else is not taken.
#include "tests/test.h"

#include "device/choice.h"
#include "device/cuda_module.h"
#include "gnn/backend.h"
#include "nn/backend.h"
#include "renderer/backend.h"

static Device *open_cpu(void) {
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu:base", 2, &device, &err), err);
    return device;
}

static void auto_opens_a_device(void **state) {
    (void)state;
    char why[DEVICE_WHY_SIZE];
    static const char *const specs[] = {"auto", NULL, "cpu", "cpu:base"};
    unsetenv("VPD_ISA");
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        Device *device = NULL;
        Error err = {0};
        assert_status_ok(device_choose(specs[i], 2, &device, why, &err), err);
        bool is_cpu = !strncmp(device->name, "cpu", 3);
        // Of a CPU that was not asked for: a GPU's fault, or there is nothing that could have one.
        if (i < 2) assert_int_equal(why[0] != 0, is_cpu && device_has_cuda());
        else assert_true(is_cpu && !why[0]);
        device_close(device);
    }
    Device *device = NULL;
    Error err = {0};
    assert_status_error(device_choose("gpu", 2, &device, why, &err), STATUS_BAD_INPUT, err,
                        "--device gpu: expected auto");
}

static void an_instruction_set_is_a_wish_for_the_cpu(void **state) {
    (void)state;
    char why[DEVICE_WHY_SIZE];
    Device *device = NULL;
    Error err = {0};
    setenv("VPD_ISA", "base", 1);
    assert_status_ok(device_choose("auto", 1, &device, why, &err), err);
    unsetenv("VPD_ISA");
    assert_string_equal(device->name, "cpu base, 1 thread");
    assert_string_equal(why, "");
    device_close(device);
}

// ---- what is not taken

static void skip_shading(Device *device, const struct ShadeArgs *args) { (void)device, (void)args; }
static void skip_linear(Device *device, const struct LinearArgs *args) { (void)device, (void)args; }
static void skip_combine(Device *device, const struct CombineArgs *args) { (void)device, (void)args; }
static void lose(Device *device, const struct LinearArgs *args) {
    (void)args;
    device_fail(device, STATUS_FAILED, "the GPU is lost");
}

static void must_be_refused(const NnBackend *nn, const RendererBackend *renderer, const char *words) {
    Device *cpu = open_cpu(), *device = open_cpu();
    Error err = {0};
    if (nn) device->nn = nn;
    if (renderer) device->renderer = renderer;
    assert_status_error(device_prove(device, cpu, &err), STATUS_FAILED, err, words);
    device_close(device);
    device_close(cpu);
}

static void the_same_is_proved(void **state) {
    (void)state;
    Device *cpu = open_cpu(), *best = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu", 2, &best, &err), err);
    assert_status_ok(device_prove(best, cpu, &err), err);
    device_close(best);
    device_close(cpu);
}

static void something_else_is_refused(void **state) {
    (void)state;
    Device *cpu = open_cpu();
    RendererBackend renderer = *cpu->renderer;
    NnBackend linear = *cpu->nn, lost = linear, combine = linear;
    renderer.shade_backward = skip_shading;
    linear.linear_backward = skip_linear;
    combine.combine_backward = skip_combine;
    lost.linear_forward = lose;
    must_be_refused(NULL, &renderer, "gradients of a small model's step differ");
    must_be_refused(&linear, NULL, "gradients of a small model's step differ");
    must_be_refused(&combine, NULL, "gradients of a small model's step differ");
    must_be_refused(&lost, NULL, "the GPU is lost");
    device_close(cpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_opens_a_device), cmocka_unit_test(an_instruction_set_is_a_wish_for_the_cpu),
        cmocka_unit_test(the_same_is_proved), cmocka_unit_test(something_else_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
