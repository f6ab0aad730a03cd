// SPDX-License-Identifier: Apache-2.0
// A Device that runs the CUDA back end's kernels on the CPU (cuda_runtime.h here), for tests.
#ifndef VPD_TESTS_CUDA_ON_CPU_H
#define VPD_TESTS_CUDA_ON_CPU_H

#include "nn/device.h"

#ifdef __cplusplus
extern "C" {
#endif

Status cuda_on_cpu_open(Device **out, Error *err);

// The order in which threads and blocks run: 0 counts upwards, others are permutations. VPD_CUDA_SEED sets the first.
void cuda_on_cpu_seed(uint64_t seed);
// Whether devices that are opened from now on can launch blocks that wait for each other.
void cuda_on_cpu_cooperative(bool on);
// Device memory is out of reach (a segmentation fault) but for kernels and copies while `on`.
void cuda_on_cpu_guard(bool on);
// Bytes of device memory; more is cudaErrorMemoryAllocation.
void cuda_on_cpu_limit(size_t bytes);
// The last fault of a kernel in words, "" when there was none since the last call.
const char *cuda_on_cpu_report(void);

// What a program finds when it looks for GPUs; errors are numbers of cudaError_t, 0 where there is none.
typedef struct CudaOnCpuMachine {
    int driver, gpus;             // the version of CUDA that the driver supports, 13000; 0: no driver
    int count_error, probe_error; // of counting the GPUs, of looking for a kernel's code
} CudaOnCpuMachine;
void cuda_on_cpu_machine(CudaOnCpuMachine machine);
// The GPU is lost in the launch after so many more: whatever it is asked for then is an error. -1: never.
void cuda_on_cpu_lose(long launches);
long cuda_on_cpu_launches(void); // so far
long cuda_on_cpu_waits(void);    // of the host, so far
// Counts a launch; whether the GPU is lost.
bool cuda_on_cpu_count_launch(void);
bool cuda_on_cpu_lost(void);
// While `on`, commands are taken but not done, and what is copied to the host is 0: to count them at large sizes.
void cuda_on_cpu_skip(bool on);
bool cuda_on_cpu_skipping(void);
// As a tensor core rounds a factor (to nearest); f32 not at all.
float cuda_on_cpu_round(Precision precision, float x);

// Host stand-ins of libraries work on device memory between these.
void cuda_on_cpu_enter(void);
void cuda_on_cpu_leave(void);

#ifdef __cplusplus
}
#endif

#endif
