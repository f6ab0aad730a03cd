// SPDX-License-Identifier: Apache-2.0
// A CPU and the stand-in for a GPU, for tests that compare the two.
#ifndef VPD_TESTS_CUDA_DEVICES_H
#define VPD_TESTS_CUDA_DEVICES_H

#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/test.h"

typedef struct Devices {
    Device *cpu, *gpu;
} Devices;

static inline Devices devices_open(const char *cpu, int threads) {
    Devices out;
    Error err = {0};
    assert_status_ok(device_open(cpu, threads, &out.cpu, &err), err);
    assert_status_ok(cuda_on_cpu_open(&out.gpu, &err), err);
    out.gpu->threads = threads; // of the host's own loops
    return out;
}

static inline void devices_close(Devices *devices) {
    cuda_on_cpu_guard(false);
    cuda_on_cpu_seed(0);
    device_close(devices->cpu);
    device_close(devices->gpu);
}

// For a group of tests, as their state.
static inline int devices_setup(void **state) {
    static Devices devices;
    devices = devices_open("cpu", 2);
    *state = &devices;
    return 0;
}

static inline int devices_teardown(void **state) {
    devices_close((Devices *)*state);
    return 0;
}

#endif
