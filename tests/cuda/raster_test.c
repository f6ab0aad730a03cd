// SPDX-License-Identifier: Apache-2.0
// The rasterisers' kernels on the CPU's stand-in, with device memory out of the host's reach: every case of the table
// against the CPU, in several orders of threads; a lack of memory, and a lost GPU.
#include "tests/cuda/devices.h"

#include "bench/raster_cases.h"

static Devices open_both(void) {
    Devices b = devices_open("cpu:base", 1);
    cuda_on_cpu_guard(true);
    return b;
}

static void run(const RasterCase *c, Device *device, RasterPrecision precision, RasterCaseRun *out) {
    const RasterOptions options = raster_options_of(device, c->method, precision);
    Error err;
    if (raster_case_run(c, &options, out, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", c->name, err.text, cuda_on_cpu_report());
}

static void cases_agree(void **state) {
    (void)state;
    Devices b = open_both();
    for (size_t i = 0; i < raster_case_count; i++)
        for (RasterPrecision p = RASTER_F32; p <= RASTER_F64; p++) {
            const RasterCase *c = &raster_cases[i];
            const char *where = "";
            RasterCaseRun expected, found, other;
            run(c, b.cpu, p, &expected);
            cuda_on_cpu_seed(0);
            run(c, b.gpu, p, &found);
            cuda_on_cpu_seed(i + 1);
            run(c, b.gpu, p, &other);
            const double error = raster_case_error(&expected, &found, &where);
            print_message("%s, %s: worst %.2e of %.0e (%s)\n", c->name, p == RASTER_F64 ? "f64" : "f32", error,
                          c->allowed[p], where);
            if (!(error <= c->allowed[p])) fail_msg("%s: %s is off by %g", c->name, where, error);
            if (raster_case_error(&found, &other, &where) != 0)
                fail_msg("%s: %s differs with the order of threads", c->name, where);
            raster_case_run_free(&expected);
            raster_case_run_free(&found);
            raster_case_run_free(&other);
        }
    devices_close(&b);
}

static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    Devices b = open_both();
    for (size_t i = 0; i < raster_case_count; i++)
        for (size_t room = 1 << 10; room < 1 << 18; room *= 4) {
            const RasterOptions options = raster_options_of(b.gpu, raster_cases[i].method, RASTER_F32);
            RasterCaseRun r;
            Error err;
            cuda_on_cpu_limit(room);
            Status status = raster_case_run(&raster_cases[i], &options, &r, &err);
            if (status != STATUS_OK) assert_non_null(strstr(err.text, "out of memory: "));
            assert_true(status != STATUS_OK || room > 1 << 12);
            raster_case_run_free(&r);
        }
    cuda_on_cpu_limit(SIZE_MAX);
    devices_close(&b);
}

static void a_lost_gpu_is_an_error(void **state) {
    (void)state;
    for (size_t i = 0; i < raster_case_count; i++) {
        Devices b = open_both();
        const RasterOptions options = raster_options_of(b.gpu, raster_cases[i].method, RASTER_F64);
        RasterCaseRun r;
        Error err;
        cuda_on_cpu_lose(1);
        assert_status_error(raster_case_run(&raster_cases[i], &options, &r, &err), STATUS_FAILED, err, "CUDA: ");
        cuda_on_cpu_lose(-1);
        raster_case_run_free(&r);
        devices_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases_agree), cmocka_unit_test(a_lack_of_memory_is_an_error),
                                       cmocka_unit_test(a_lost_gpu_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
