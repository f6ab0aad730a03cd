// SPDX-License-Identifier: Apache-2.0
// Would the tests notice? The simulator's kernels are compiled again with a fault in them: barriers removed, the last
// slot of a chunk left out, the gradient of a contact's stiffness doubled.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

extern "C" {
#include "bench/sim_cases.h"
#include "device/sim_options.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/test.h"
}

#include "nn/cuda/launch.h"
#include "nn/cuda/unroll.h"
#include "sim/contact.h"
#include "sim/cuda/functions.h"
#include "sim/hinge.h"
#include "sim/spring.h"
#include "sim/tet.h"
#include "sim/touching.h"
#include "sim/vertex.h"

#define SIM_CUDA_SPACE no_fault
#include "sim/cuda/phases.h"
#undef SIM_CUDA_SPACE

#pragma push_macro("__syncthreads")
#undef __syncthreads
#define __syncthreads() static_cast<void>(0)
#define SIM_CUDA_SPACE no_barrier
#include "sim/cuda/phases.h"
#undef SIM_CUDA_SPACE
#pragma pop_macro("__syncthreads")

#pragma push_macro("THREAD_LOOP")
#undef THREAD_LOOP
#define THREAD_LOOP(i, count) for (size_t i = threadIdx.x; i + 1 < (count); i += blockDim.x)
#define SIM_CUDA_SPACE off_by_one
#include "sim/cuda/phases.h"
#undef SIM_CUDA_SPACE
#pragma pop_macro("THREAD_LOOP")

static void twice(const SimContact *c, const Num n[3], Num depth, const Num v[3], const Num w[3], Num *g_depth,
                  Num gn[3], Num gv[3], SimContact *gradient) {
    sim_contact_adjoint(c, n, depth, v, w, g_depth, gn, gv, gradient);
    gradient->k_e *= 2;
}
#define sim_contact_adjoint twice
#define SIM_CUDA_SPACE doubled
#include "sim/cuda/phases.h"
#undef SIM_CUDA_SPACE
#undef sim_contact_adjoint

// Cases that are wrong with these kernels.
static int count_wrong(SimDevicePhases phases) {
    Device *cpu, *gpu;
    Error err;
    int wrong = 0;
    assert_status_ok(device_open("cpu:base", 1, &cpu, &err), err);
    assert_status_ok(cuda_on_cpu_open(&gpu, &err), err);
    SimDeviceBackend backend = *gpu->sim;
    backend.f32 = phases;
    gpu->sim = &backend;
    cuda_on_cpu_seed(3);
    for (size_t i = 0; i < sim_case_count; i++) {
        const SimOptions here = sim_options_of(cpu, SIM_F32), there = sim_options_of(gpu, SIM_F32);
        SimCaseRun expected, found;
        const char *where;
        assert_status_ok(sim_case_run(&sim_cases[i], &here, &expected, &err), err);
        bool good = sim_case_run(&sim_cases[i], &there, &found, &err) == STATUS_OK;
        wrong += !(good && sim_case_error(&expected, &found, &where) <= sim_cases[i].allowed[0]);
        sim_case_run_free(&expected);
        sim_case_run_free(&found);
    }
    cuda_on_cpu_seed(0);
    device_close(cpu);
    device_close(gpu);
    return wrong;
}

static void right_kernels_pass(void **) { assert_int_equal(count_wrong({no_fault::step, no_fault::back}), 0); }

static void a_missing_barrier_is_caught(void **) {
    assert_true(count_wrong({no_barrier::step, no_fault::back}) > 0);
    assert_true(count_wrong({no_fault::step, no_barrier::back}) > 0);
}

static void an_index_off_by_one_is_caught(void **) {
    assert_true(count_wrong({off_by_one::step, no_fault::back}) > 0);
    assert_true(count_wrong({no_fault::step, off_by_one::back}) > 0);
}

static void a_doubled_gradient_is_caught(void **) { assert_true(count_wrong({no_fault::step, doubled::back}) > 0); }

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_pass), cmocka_unit_test(a_missing_barrier_is_caught),
        cmocka_unit_test(an_index_off_by_one_is_caught), cmocka_unit_test(a_doubled_gradient_is_caught)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
