// SPDX-License-Identifier: Apache-2.0
// Would the tests notice? The rasterisers' kernels are compiled again with a fault in them: barriers removed, the sum
// over the lanes of a warp left out, the derivative of an edge doubled.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

extern "C" {
#include "bench/raster_cases.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/test.h"
}

#include "nn/cuda/launch.h"
#include "nn/cuda/unroll.h"
#include "raster/cuda/functions.h"
#include "raster/pair.h"
#include "raster/texture.h"

#define RASTER_CUDA_SPACE no_fault
#include "raster/cuda/samples.h"
#undef RASTER_CUDA_SPACE

#pragma push_macro("__syncthreads")
#undef __syncthreads
#define __syncthreads() static_cast<void>(0)
#define RASTER_CUDA_SPACE no_barrier
#include "raster/cuda/samples.h"
#undef RASTER_CUDA_SPACE
#pragma pop_macro("__syncthreads")

#define warp_sum(value) (value)
#define RASTER_CUDA_SPACE one_lane
#include "raster/cuda/samples.h"
#undef RASTER_CUDA_SPACE
#undef warp_sum

static void twice(const PairFace *f, const Pair *p, const Wide gw[3], Wide gd2, Wide gx[3], Wide gy[3]) {
    pair_locate_back(f, p, gw, 2 * gd2, gx, gy);
}
#define pair_locate_back twice
#define RASTER_CUDA_SPACE doubled
#include "raster/cuda/samples.h"
#undef RASTER_CUDA_SPACE
#undef pair_locate_back

#define PHASES(space)                                                                                                  \
    { space::soft, space::soft_back, space::visible, space::cover, space::cover_back }

// Cases that are wrong with these kernels.
static int count_wrong(RasterDevicePhases phases) {
    Device *cpu, *gpu;
    Error err;
    int wrong = 0;
    assert_status_ok(device_open("cpu:base", 1, &cpu, &err), err);
    assert_status_ok(cuda_on_cpu_open(&gpu, &err), err);
    RasterDeviceBackend backend = *gpu->raster;
    backend.f32 = phases;
    gpu->raster = &backend;
    cuda_on_cpu_seed(3);
    for (size_t i = 0; i < raster_case_count; i++) {
        const RasterCase *c = &raster_cases[i];
        const RasterOptions here = raster_options_of(cpu, c->method, RASTER_F32),
                            there = raster_options_of(gpu, c->method, RASTER_F32);
        RasterCaseRun expected, found;
        const char *where;
        assert_status_ok(raster_case_run(c, &here, &expected, &err), err);
        bool good = raster_case_run(c, &there, &found, &err) == STATUS_OK;
        wrong += !(good && raster_case_error(&expected, &found, &where) <= c->allowed[0]);
        raster_case_run_free(&expected);
        raster_case_run_free(&found);
    }
    cuda_on_cpu_seed(0);
    device_close(cpu);
    device_close(gpu);
    return wrong;
}

static void right_kernels_pass(void **) { assert_int_equal(count_wrong(PHASES(no_fault)), 0); }
static void a_missing_barrier_is_caught(void **) { assert_true(count_wrong(PHASES(no_barrier)) > 0); }
static void a_missing_sum_is_caught(void **) { assert_true(count_wrong(PHASES(one_lane)) > 0); }
static void a_doubled_gradient_is_caught(void **) { assert_true(count_wrong(PHASES(doubled)) > 0); }

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_pass), cmocka_unit_test(a_missing_barrier_is_caught),
        cmocka_unit_test(a_missing_sum_is_caught), cmocka_unit_test(a_doubled_gradient_is_caught)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
