// SPDX-License-Identifier: Apache-2.0
// Opening the CUDA module: what is wrong with it is said in a sentence, with a module whose table the test fills.
#include "tests/test.h"

#include "base/version.h"
#include "device/cuda_module.h"

#include <dlfcn.h>

static const char *fake_path(void) {
    const char *path = getenv("VPD_FAKE_MODULE"); // set by CTest
    if (!path) {
        print_message("skipped: VPD_FAKE_MODULE is not set; run it by ctest\n");
        exit(77);
    }
    return path;
}

static void fake_close(Device *device) { device->state = NULL; }
static const NnBackend fake_nn = {.close = fake_close};
static const MotionBackend fake_motion;
static const GnnBackend fake_gnn;
static const RendererBackend fake_renderer;
static const SimDeviceBackend fake_sim;
static const RasterDeviceBackend fake_raster;

static Status open_one_gpu(Device *device, int index, Error *err) {
    if (index > 0) return error_set(err, STATUS_BAD_INPUT, "there is no such GPU");
    snprintf(device->name, sizeof device->name, "fake");
    return STATUS_OK;
}

// The module's table as it should be.
static CudaModule *right_table(void) {
    void *library = dlopen(fake_path(), RTLD_NOW);
    CudaModule *module = library ? dlsym(library, CUDA_MODULE_SYMBOL) : NULL;
    assert_non_null(module);
    *module = (CudaModule){.size = sizeof *module,
                           .device_size = sizeof(Device),
                           .nn_size = sizeof(NnBackend),
                           .motion_size = sizeof(MotionBackend),
                           .gnn_size = sizeof(GnnBackend),
                           .renderer_size = sizeof(RendererBackend),
                           .sim_size = CUDA_MODULE_SIM_SIZE,
                           .raster_size = CUDA_MODULE_RASTER_SIZE,
                           .version = version_number(),
                           .commit = version_commit(),
                           .nn = &fake_nn,
                           .motion = &fake_motion,
                           .gnn = &fake_gnn,
                           .renderer = &fake_renderer,
                           .sim = &fake_sim,
                           .raster = &fake_raster,
                           .open = open_one_gpu};
    return module;
}

static void must_fail(const char *path, int index, Status status, const char *words) {
    Device *device = NULL;
    Error err = {0};
    assert_status_error(device_open_module(path, index, 0, &device, &err), status, err, words);
    assert_null(device);
}

static void a_right_module_opens(void **state) {
    (void)state;
    Device *device = NULL;
    Error err = {0};
    right_table();
    assert_status_ok(device_open_module(fake_path(), 0, 3, &device, &err), err);
    assert_int_equal(device->threads, 3); // of the host's own loops
    assert_string_equal(device->name, "fake");
    device_close(device);
}

static void each_fault_has_a_sentence(void **state) {
    (void)state;
    must_fail("/nowhere/libvpd_cuda.so", 0, STATUS_FAILED, "cannot be loaded");
    must_fail("libm.so.6", 0, STATUS_FAILED, "expected the symbol vpd_cuda_module");
    right_table()->size++;
    must_fail(fake_path(), 0, STATUS_FAILED, "other sizes");
    right_table()->gnn_size--;
    must_fail(fake_path(), 0, STATUS_FAILED, "other sizes");
    right_table()->sim_size--;
    must_fail(fake_path(), 0, STATUS_FAILED, "other sizes");
    right_table()->raster_size--;
    must_fail(fake_path(), 0, STATUS_FAILED, "other sizes");
    right_table()->commit = "0123456789ab";
    must_fail(fake_path(), 0, STATUS_FAILED, "expected the module of version");
    right_table()->version = "9.9.9";
    must_fail(fake_path(), 0, STATUS_FAILED, "found that of 9.9.9");
    right_table();
    must_fail(fake_path(), 1, STATUS_BAD_INPUT, "no such GPU");
}

static void wrong_specs_are_named(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "cuda:", "cuda:x", "cuda:-1", "cuda:12345678901", "gpu"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Device *device = NULL;
        Error err = {0};
        assert_status_error(device_open(wrong[i], 1, &device, &err), STATUS_BAD_INPUT, err,
                            "expected auto, cpu, cpu:ISA, cuda");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_right_module_opens),
                                       cmocka_unit_test(each_fault_has_a_sentence),
                                       cmocka_unit_test(wrong_specs_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
