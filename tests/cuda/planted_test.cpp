// SPDX-License-Identifier: Apache-2.0
// Would the tests notice? Kernels are compiled again with a fault in them: a barrier removed, an index off by one, a
// sum in the order in which threads come. The comparison with the CPU, or that of the bits in several orders, must
// fail.
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>

extern "C" {
#include "tests/cuda/case_values.h"
}

#include "nn/cuda/functions.h"
#include "nn/cuda/silu.h"
#include "nn/cuda/sums.h"

#include "nn/combine.h"
#include "nn/group_norm.h"
#include "renderer/backend.h"
#include "renderer/composite.h"
#include "renderer/elements.h"

namespace no_fault {
#include "nn/cuda/group_norm.cu"
}

#pragma push_macro("__syncthreads")
#undef __syncthreads
#define __syncthreads() static_cast<void>(0)
namespace no_barrier {
#include "nn/cuda/group_norm.cu"
}
#pragma pop_macro("__syncthreads")

#pragma push_macro("GRID_LOOP")
#undef GRID_LOOP
#define GRID_LOOP(i, count)                                                                                            \
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i + 1 < (count);                       \
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
namespace off_by_one {
#include "nn/cuda/combine.cu"
}
#pragma pop_macro("GRID_LOOP")

// What an atomic addition would do.
template <class T> static T sum_as_they_come(T value) {
    static T sums[CUDA_THREADS / CUDA_WARP];
    T *sum = &sums[cuda_warp()];
    *sum = 0;
    __syncwarp();
    *sum += value;
    __syncwarp();
    value = *sum;
    __syncwarp();
    return value;
}

#define warp_sum sum_as_they_come
namespace any_order {
#include "renderer/cuda/composite.cu"
}
#undef warp_sum

static bool same_bits(const Values &a, const Values &b) {
    for (size_t i = 0; i < a.count; i++)
        if (a.item[i] && memcmp(a.item[i], b.item[i], a.size[i] * sizeof(real)) != 0) return false;
    return true;
}

static bool close_to(const Values &a, const Values &b) {
    for (size_t i = 0; i < a.count; i++)
        if (!(relative_error(a.item[i], b.item[i], a.size[i]) < 1e-5)) return false;
    return true;
}

// Cases of `table` that are wrong with the ops of `backend`: not as the CPU has them, or not the same bits in several
// orders of threads.
struct Wrong {
    int values, bits;
};

static Wrong count_wrong(const OpCases *table, const NnBackend *backend, const RendererBackend *renderer = nullptr) {
    Device *cpu, *cuda;
    Error err;
    Wrong wrong = {0, 0};
    assert_status_ok(device_open("cpu", 1, &cpu, &err), err);
    assert_status_ok(cuda_on_cpu_open(&cuda, &err), err);
    if (backend) cuda->nn = backend;
    if (renderer) cuda->renderer = renderer;
    for (size_t i = 0; i < table->count; i++) {
        const OpCase *c = &table->cases[i];
        if (c->bench) continue;
        Values wanted = run_case(cpu, c), first = run_case(cuda, c);
        cuda_on_cpu_seed(i + 1);
        Values again = run_case(cuda, c);
        cuda_on_cpu_seed(0);
        wrong.values += !close_to(again, wanted);
        wrong.bits += !same_bits(first, again);
        for (Values *v : {&wanted, &first, &again}) values_free(v);
    }
    device_close(cpu);
    device_close(cuda);
    return wrong;
}

static Device cuda_device() {
    Device *cuda;
    Error err;
    assert_status_ok(cuda_on_cpu_open(&cuda, &err), err);
    Device device = *cuda; // for its tables
    device_close(cuda);
    return device;
}

extern "C" const OpCases combine_cases, composite_cases, group_norm_cases;

static void right_kernels_pass(void **) {
    NnBackend table = *cuda_device().nn;
    table.group_norm_forward = no_fault::group_norm_forward_cuda;
    table.group_norm_backward = no_fault::group_norm_backward_cuda;
    for (const OpCases *cases : {&combine_cases, &composite_cases, &group_norm_cases}) {
        Wrong wrong = count_wrong(cases, &table);
        assert_int_equal(wrong.values + wrong.bits, 0);
    }
}

static void a_missing_barrier_is_caught(void **) {
    NnBackend table = *cuda_device().nn;
    table.group_norm_forward = no_barrier::group_norm_forward_cuda;
    assert_true(count_wrong(&group_norm_cases, &table).values > 0);
}

static void an_index_off_by_one_is_caught(void **) {
    NnBackend table = *cuda_device().nn;
    table.combine_forward = off_by_one::combine_forward_cuda;
    assert_true(count_wrong(&combine_cases, &table).values > 0);
}

static void a_sum_in_any_order_is_caught(void **) {
    RendererBackend table = *cuda_device().renderer;
    table.composite_forward = any_order::composite_forward_cuda;
    Wrong wrong = count_wrong(&composite_cases, nullptr, &table);
    assert_true(wrong.bits > 0);
    assert_int_equal(wrong.values, 0); // every order is right: only the bits tell
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_pass), cmocka_unit_test(a_missing_barrier_is_caught),
        cmocka_unit_test(an_index_off_by_one_is_caught), cmocka_unit_test(a_sum_in_any_order_is_caught)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
