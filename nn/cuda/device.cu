// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/device.h"

#include "nn/cuda/blas.h"
#include "nn/cuda/dnn.h"
#include "nn/cuda/factors.h"
#include "nn/cuda/nccl.h"

bool cuda_ok(Device *device, cudaError_t error, const char *what) {
    if (error == cudaSuccess) return true;
    const CudaState *state = cuda_state(device);
    char sizes[200] = "";
    int length = 0;
    for (size_t i = 0; i < state->size_count; i++)
        length += snprintf(sizes + length, sizeof sizes - static_cast<size_t>(length), "%s%zu", i ? "," : "",
                           state->sizes[i]);
    device_fail(device, STATUS_FAILED, "CUDA: %s (%s), %s: %s", state->op ? state->op : "start", sizes, what,
                cudaGetErrorString(error));
    cudaGetLastError(); // clears CUDA's error for the next call
    return false;
}

// ---- memory. cudaFree waits for kernels that use it; both are rare: arenas keep their blocks.

static void *allocate(void *owner, size_t bytes) {
    const Device *device = static_cast<const Device *>(owner);
    void *memory = nullptr;
    if (cudaSetDevice(cuda_state(device)->index) == cudaSuccess &&
        cudaMalloc(&memory, bytes ? bytes : 1) == cudaSuccess)
        return memory;
    cudaGetLastError();
    return nullptr;
}

static void release(void *owner, void *memory, size_t bytes) {
    Device *device = static_cast<Device *>(owner);
    cuda_give_held(device);
    cuda_factors_forget(device, memory, bytes);
    if (memory && cudaSetDevice(cuda_state(device)->index) == cudaSuccess && !cuda_free_later(device, memory))
        cudaFree(memory);
}

static void room(void *owner, size_t *left, size_t *total) {
    const Device *device = static_cast<const Device *>(owner);
    if (cudaSetDevice(cuda_state(device)->index) != cudaSuccess || cudaMemGetInfo(left, total) != cudaSuccess) {
        *left = *total = SIZE_MAX;
        cudaGetLastError();
    }
}

struct CopyCall {
    void *to;
    const void *from;
    size_t bytes;
    cudaMemcpyKind kind;

    bool operator==(const CopyCall &) const = default;
    void run(Device *device) const {
        cuda_ok(device, cudaMemcpyAsync(to, from, bytes, kind, cuda_state(device)->stream), "cudaMemcpyAsync");
    }
};

struct ZeroCall {
    void *memory;
    size_t bytes;

    bool operator==(const ZeroCall &) const = default;
    void run(Device *device) const {
        cuda_ok(device, cudaMemsetAsync(memory, 0, bytes, cuda_state(device)->stream), "cudaMemsetAsync");
    }
};

void cuda_zero(Device *device, void *memory, size_t bytes) {
    if (bytes == 0 || !cuda_op(device, "zero", bytes)) return;
    const CudaHeldOps *held = &cuda_state(device)->held;
    bool joins = held->give && bytes % sizeof(real) == 0 &&
                 held->zero(device, static_cast<real *>(memory), bytes / sizeof(real));
    if (!joins) cuda_submit(device, ZeroCall{memory, bytes});
}

void cuda_copy(Device *device, void *to, const void *from, size_t bytes) {
    if (bytes > 0 && cuda_op(device, "copy", bytes))
        cuda_submit(device, CopyCall{to, from, bytes, cudaMemcpyDeviceToDevice});
}

void cuda_upload(Device *device, void *to, const void *host, size_t bytes) {
    if (bytes == 0 || !cuda_op(device, "upload", bytes)) return;
    const void *staged = cuda_staged(device, host, bytes);
    cuda_submit(device, CopyCall{to, staged ? staged : host, bytes, cudaMemcpyHostToDevice});
}

void cuda_download(Device *device, void *host, const void *from, size_t bytes) {
    cuda_flush(device);
    if (bytes > 0 && cuda_op(device, "download", bytes))
        CopyCall{host, from, bytes, cudaMemcpyDeviceToHost}.run(device);
    cuda_wait(device);
}

void cuda_wait(Device *device) {
    cuda_flush(device);
    if (!device->failed)
        cuda_ok(device, cudaStreamSynchronize(cuda_state(device)->stream), "an earlier kernel or copy");
}

// ---- opening

static Status find_device(int index, Error *err) {
    int driver = 0, runtime = 0, count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return error_set(err, STATUS_FAILED,
                         "CUDA: no NVIDIA driver is installed (libcuda.so.1); install one, or use --device cpu");
    bool few_arguments =
        runtime >= 12010 && driver < 12010; // to kernels: the driver supports CUDA 12.0, which has 4 KB
    if (error == cudaErrorInsufficientDriver || few_arguments)
        return error_set(
            err, STATUS_FAILED,
            "CUDA: the NVIDIA driver is too old: it supports CUDA %d.%d, this build needs %d.%d; update the driver",
            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0))
        return error_set(err, STATUS_FAILED, "CUDA: the driver finds no GPU (is CUDA_VISIBLE_DEVICES empty?)");
    if (error != cudaSuccess)
        return error_set(err, STATUS_FAILED, "CUDA: looking for GPUs: %s", cudaGetErrorString(error));
    if (index >= count)
        return error_set(err, STATUS_BAD_INPUT, "--device cuda:%d: there is no such GPU; found %d, numbered from 0",
                         index, count);
    return STATUS_OK;
}

int cuda_device_gpus(unsigned char first[DEVICE_GPU_ID]) {
    int count = 0;
    cudaDeviceProp found;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0 || cudaGetDeviceProperties(&found, 0) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    memcpy(first, &found.uuid, DEVICE_GPU_ID);
    return count;
}

static __global__ void probe() {}

#ifndef VPD_CUDA_ARCHITECTURES
#define VPD_CUDA_ARCHITECTURES "none" // the tests' build
#endif

static Status start(CudaState *state, const cudaDeviceProp *found, Error *err) {
    int shared = 0, cooperative = 0;
    cudaFuncAttributes attributes;
    cudaError_t error = cudaSetDevice(state->index);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, probe);
    if (error == cudaErrorNoKernelImageForDevice)
        return error_set(
            err, STATUS_FAILED,
            "CUDA: %s has compute capability %d.%d, which this build has no code for (it has %s); build with "
            "-DVPD_CUDA_ARCHITECTURES=%d%d",
            found->name, found->major, found->minor, VPD_CUDA_ARCHITECTURES, found->major, found->minor);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&state->processors, cudaDevAttrMultiProcessorCount, state->index);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, state->index);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, state->index);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&state->stream, cudaStreamNonBlocking);
    if (error != cudaSuccess)
        return error_set(err, STATUS_FAILED, "CUDA: cannot start %s: %s", found->name, cudaGetErrorString(error));
    state->shared_limit = static_cast<size_t>(shared);
    state->cooperative = cooperative;
    return STATUS_OK;
}

Status cuda_device_open(Device *device, int index, Error *err) {
    Status status = find_device(index, err);
    if (status != STATUS_OK) return status;
    cudaDeviceProp found;
    cudaError_t error = cudaGetDeviceProperties(&found, index);
    if (error != cudaSuccess)
        return error_set(err, STATUS_FAILED, "CUDA: cannot ask GPU %d what it is: %s", index,
                         cudaGetErrorString(error));
    CudaState *state = static_cast<CudaState *>(calloc(1, sizeof *state));
    if (!state) return error_set(err, STATUS_FAILED, "out of memory for a device");
    state->index = index;
    device->state = state;
    device->threads = 1;
    if (found.major >= 8) device->precisions = 1 << PRECISION_TF32 | 1 << PRECISION_BF16; // nn/cuda/tensor_core.h
    device->source.allocate = allocate;
    device->source.release = release;
    device->source.owner = device;
    device->source.room = room;
    arena_init(&device->scratch, device->source);
    snprintf(device->name, sizeof device->name, "cuda:%d, %.40s", index, found.name);
    return start(state, &found, err);
}

void cuda_device_close(Device *device) {
    CudaState *state = cuda_state(device);
    if (!state) return;
    cudaSetDevice(state->index);
    cuda_replay_close(device);
    cuda_factors_close(device);
    cuda_sums_close(device);
    cuda_blas_close(device);
    cuda_dnn_close(device);
    arena_free(&device->scratch);
    free(state->held.memory);
    if (state->stream) cudaStreamDestroy(state->stream);
    free(state);
    device->state = nullptr;
}
