// SPDX-License-Identifier: Apache-2.0
// The GPUs of tests/cuda_on_cpu: one, or those that CUDA_VISIBLE_DEVICES numbers.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/cuda_on_cpu/cuda_runtime.h"

#include "nn/cuda/device.h"

#include "device/cuda_module.h"

extern "C" const CudaModule vpd_cuda_module;

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return "another error";
    }
}

// GPU `index` of those in the list "2,0": its number, and how many there are.
static int number_of(int index, int *count) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int number = 0;
    for (*count = list ? 0 : 1; list && *list; ++*count) {
        char *end;
        int next = static_cast<int>(strtol(list, &end, 10));
        CHECK(end != list);
        if (*count == index) number = next;
        list = end + (*end == ',');
    }
    return number;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int index) {
    int count;
    *out = {"tests/cuda_on_cpu", 9, 0, {}};
    snprintf(out->uuid.bytes, sizeof out->uuid.bytes, "gpu %d", number_of(index, &count));
    return cudaSuccess;
}

static bool cooperative = true;

void cuda_on_cpu_cooperative(bool on) { cooperative = on; }

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrMultiProcessorCount ? CUDA_ON_CPU_RESIDENT
             : attribute == cudaDevAttrCooperativeLaunch ? cooperative
                                                         : 227 << 10;
    return cudaSuccess;
}

// ---- what can be wrong with it

static CudaOnCpuMachine machine = {13000, -1, 0, 0}; // -1: those of CUDA_VISIBLE_DEVICES
static long launches, waits, launches_left = -1;

void cuda_on_cpu_machine(CudaOnCpuMachine found) { machine = found; }
void cuda_on_cpu_lose(long after) { launches_left = after; }
long cuda_on_cpu_launches(void) { return launches; }
long cuda_on_cpu_waits(void) { return waits; }
bool cuda_on_cpu_lost(void) { return launches_left == 0; }

bool cuda_on_cpu_count_launch(void) {
    launches++;
    if (launches_left > 0) launches_left--;
    return cuda_on_cpu_lost();
}

cudaError_t cudaGetDeviceCount(int *count) {
    number_of(0, count);
    if (machine.gpus >= 0) *count = machine.gpus;
    return static_cast<cudaError_t>(machine.count_error);
}

cudaError_t cudaDriverGetVersion(int *version) { return *version = machine.driver, cudaSuccess; }

cudaError_t cuda_on_cpu_attributes(cudaFuncAttributes *out) {
    out->numRegs = 0;
    return static_cast<cudaError_t>(machine.probe_error);
}

cudaError_t cudaSetDevice(int index) {
    int count;
    cudaGetDeviceCount(&count);
    return index < count ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cuda_on_cpu_finish(stream);
    if (cuda_on_cpu_capturing()) return cudaErrorStreamCaptureUnsupported;
    waits++;
    return cuda_on_cpu_lost() ? cudaErrorLaunchFailure : cudaSuccess;
}

Status cuda_on_cpu_open(Device **out, Error *err) {
    const char *seed = getenv("VPD_CUDA_SEED");
    if (seed) cuda_on_cpu_seed(strtoull(seed, nullptr, 10));
    Device *device = static_cast<Device *>(calloc(1, sizeof *device));
    CHECK(device);
    device->nn = vpd_cuda_module.nn;
    device->motion = vpd_cuda_module.motion;
    device->gnn = vpd_cuda_module.gnn;
    device->renderer = vpd_cuda_module.renderer;
    device->sim = vpd_cuda_module.sim;
    device->raster = vpd_cuda_module.raster;
    *out = device;
    Status status = vpd_cuda_module.open(device, 0, err);
    if (status == STATUS_OK) return status;
    vpd_cuda_module.nn->close(device);
    free(device);
    *out = nullptr;
    return status;
}
