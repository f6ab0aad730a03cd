// SPDX-License-Identifier: Apache-2.0
// Tools for all files of the CUDA back end: launches, checked statuses, loops, sums. The files compile with
// nvcc, and as plain C++ for the tests, where tests/cuda_on_cpu/ has a cuda_runtime.h that runs blocks on the CPU.
//
// Launches have one dimension. Sums have one order, fixed by sizes alone; there are no float atomics: two runs agree
// bit for bit.
#ifndef VPD_NN_CUDA_LAUNCH_H
#define VPD_NN_CUDA_LAUNCH_H

#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif
#include <cuda_runtime.h>

#include "base/check.h"
#include "nn/cuda/replay.h"
#include "nn/device.h"

#include <array>
#include <string.h>
#include <tuple>
#include <type_traits>

constexpr unsigned CUDA_WARP = 32,
                   CUDA_THREADS = 256; // threads of a warp, and default threads of a block
constexpr size_t CUDA_MAX_BLOCKS = 1 << 16, CUDA_USUAL_SHARED = 48 << 10, CUDA_OP_SIZES = 8;

struct CudaBlas;
struct CudaDnn;
struct CudaFactors;
struct CudaSums;

// Ops that wait to be given to the stream together, as one command. They come before the next command of another kind.
struct CudaHeldOps {
    void (*give)(Device *);                             // NULL: none wait
    bool (*zero)(Device *, real *memory, size_t count); // adds this to them; false: it must be a command
    void *memory;                                       // of malloc; stays until the device is closed
};

// Device.state
struct CudaState {
    int index;           // of the device
    cudaStream_t stream; // all work of this Device
    int processors;      // multiprocessors
    size_t shared_limit; // bytes of shared memory that a block may ask for
    bool cooperative;    // blocks of a launch can wait for each other
    CudaBlas *blas;      // made at first use
    CudaDnn *dnn;
    CudaReplay *replay;   // likewise
    CudaFactors *factors; // likewise
    CudaSums *sums;       // over processes
    CudaHeldOps held;
    const char *op; // under way, and its sizes: for messages
    size_t sizes[CUDA_OP_SIZES], size_count;
};

static inline CudaState *cuda_state(const Device *device) { return static_cast<CudaState *>(device->state); }

// Fails the device with the current op, its sizes and `what`, unless `error` is cudaSuccess; returns whether it is.
bool cuda_ok(Device *device, cudaError_t error, const char *what);

// Each op begins with `if (!cuda_op(device, "linear forward", rows, in, out)) return;`: false once the device has
// failed.
template <class... Sizes> bool cuda_op(Device *device, const char *name, Sizes... sizes) {
    static_assert(sizeof...(sizes) <= CUDA_OP_SIZES, "more sizes than CudaState holds");
    if (device->failed) return false;
    CudaState *state = cuda_state(device);
    const size_t all[] = {static_cast<size_t>(sizes)..., 0};
    state->op = name;
    state->size_count = sizeof...(sizes);
    for (size_t i = 0; i < state->size_count; i++) state->sizes[i] = all[i];
    return cuda_ok(device, cudaSetDevice(state->index), "cudaSetDevice");
}

// ---- launches

// The only way to start a kernel: `blocks` of `threads` (whole warps), each with `shared` bytes of SHARED memory. No
// blocks: nothing happens. Arguments are passed by value: an op's Args struct as it is.
#define LAUNCH(device, blocks, threads, shared, kernel, ...)                                                           \
    cuda_launch(device, #kernel, blocks, threads, shared, kernel, ##__VA_ARGS__)

// Lets the kernel's blocks have so many bytes of shared memory.
template <class Kernel> bool cuda_opt_in(Device *device, Kernel *kernel, size_t shared, const char *name) {
    return shared <= CUDA_USUAL_SHARED ||
           cuda_ok(device,
                   cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
                   name);
}

template <class... Parameters> struct CudaKernelCall {
    const char *name;
    void (*kernel)(Parameters...);
    unsigned blocks, threads;
    size_t shared;
    bool cooperative; // blocks may wait for each other: CUDA_GRID_BARRIER
    std::tuple<std::decay_t<Parameters>...> arguments;

    // Padding bytes may differ between equal structs: then the kernel is updated to the same arguments.
    bool operator==(const CudaKernelCall &other) const {
        return kernel == other.kernel && blocks == other.blocks && threads == other.threads && shared == other.shared &&
               cooperative == other.cooperative && memcmp(&arguments, &other.arguments, sizeof arguments) == 0;
    }
    void run(Device *device) const {
        if (!cuda_opt_in(device, kernel, shared, name)) return;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(blocks);
        config.blockDim = dim3(threads);
        config.dynamicSmemBytes = shared;
        config.stream = cuda_state(device)->stream;
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
        config.attrs = &attribute;
        config.numAttrs = cooperative;
        auto launch = [&](const std::decay_t<Parameters> &...all) {
            return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(all)...);
        };
        cuda_ok(device, std::apply(launch, arguments), name);
    }
    bool change(cudaGraphExec_t graph, cudaGraphNode_t node, const CudaKernelCall &old) const {
        if (kernel != old.kernel || shared > old.shared || cooperative != old.cooperative) return false;
        auto address = [](const std::decay_t<Parameters> &...all) {
            return std::array<void *, sizeof...(Parameters) + 1>{const_cast<std::decay_t<Parameters> *>(&all)...};
        };
        auto addresses = std::apply(address, arguments);
        cudaKernelNodeParams parameters = {};
        parameters.func = reinterpret_cast<void *>(kernel);
        parameters.gridDim = dim3(blocks);
        parameters.blockDim = dim3(threads);
        parameters.sharedMemBytes = static_cast<unsigned>(shared);
        parameters.kernelParams = addresses.data();
        bool changed = cudaGraphExecKernelNodeSetParams(graph, node, &parameters) == cudaSuccess;
        if (!changed) cudaGetLastError(); // clears CUDA's error for the next call
        return changed;
    }
};

template <class... Parameters, class... Arguments>
void cuda_launch(Device *device, const char *name, size_t blocks, unsigned threads, size_t shared,
                 void (*kernel)(Parameters...), Arguments... arguments) {
    if (device->failed || blocks == 0) return;
    CHECK(blocks <= INT32_MAX && threads % CUDA_WARP == 0);
    cuda_submit(device, CudaKernelCall<Parameters...>{name,
                                                      kernel,
                                                      static_cast<unsigned>(blocks),
                                                      threads,
                                                      shared,
                                                      false,
                                                      {static_cast<std::decay_t<Parameters>>(arguments)...}});
}

// Blocks for `count` tasks, `each` to a block; at most CUDA_MAX_BLOCKS, so kernels loop (GRID_LOOP).
static inline size_t cuda_blocks(size_t count, size_t each = CUDA_THREADS) {
    size_t blocks = count / each + (count % each != 0);
    return blocks < CUDA_MAX_BLOCKS ? blocks : CUDA_MAX_BLOCKS;
}

// ---- in kernels

// The block's shared memory as an array: SHARED(float, tile); its bytes are those of the launch.
#ifdef __CUDACC__
#define SHARED(type, name)                                                                                             \
    extern __shared__ __align__(16) unsigned char cuda_shared_bytes[];                                                 \
    type *name = reinterpret_cast<type *>(cuda_shared_bytes)
#else
#define SHARED(type, name) type *name = static_cast<type *>(cuda_on_cpu_shared())
#endif

// Waits for all threads of a cooperative launch; what they wrote before is seen after it.
#ifdef __CUDACC__
#define CUDA_GRID_BARRIER() cooperative_groups::this_grid().sync()
#endif

// Every i < count, spread over all threads of the grid; over the blocks; over the threads of a block.
#define GRID_LOOP(i, count)                                                                                            \
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < (count);                           \
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
#define BLOCK_LOOP(i, count) for (size_t i = blockIdx.x; i < (count); i += gridDim.x)
#define THREAD_LOOP(i, count) for (size_t i = threadIdx.x; i < (count); i += blockDim.x)
// Every i < count, one to a warp.
#define WARP_LOOP(i, count)                                                                                            \
    for (size_t i = (blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x) / CUDA_WARP; i < (count);             \
         i += static_cast<size_t>(gridDim.x) * blockDim.x / CUDA_WARP)

// a / b and a % b; 64-bit division is slow where 32 bits do.
static __device__ inline size_t cuda_quotient(size_t a, size_t b) {
    return (a | b) >> 32 ? a / b : static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
}
static __device__ inline size_t cuda_remainder(size_t a, size_t b) { return a - cuda_quotient(a, b) * b; }

static __device__ inline unsigned cuda_lane() { return threadIdx.x % CUDA_WARP; }
static __device__ inline unsigned cuda_warp() { return threadIdx.x / CUDA_WARP; }

// Warp operations take the whole warp; all lanes get the result.
constexpr unsigned WHOLE_WARP = 0xffffffffu;

template <class T> __device__ inline T warp_sum(T value) {
    for (int bits = CUDA_WARP / 2; bits > 0; bits /= 2) value += __shfl_xor_sync(WHOLE_WARP, value, bits);
    return value;
}

template <class T> __device__ inline T warp_min(T value) {
    for (int bits = CUDA_WARP / 2; bits > 0; bits /= 2) {
        T other = __shfl_xor_sync(WHOLE_WARP, value, bits);
        value = other < value ? other : value;
    }
    return value;
}

// One instruction from sm_80 on.
static __device__ inline unsigned warp_min(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(WHOLE_WARP, value);
#else
    return warp_min<unsigned>(value);
#endif
}

template <class T> __device__ inline T warp_max(T value) {
    for (int bits = CUDA_WARP / 2; bits > 0; bits /= 2) {
        T other = __shfl_xor_sync(WHOLE_WARP, value, bits);
        value = other > value ? other : value;
    }
    return value;
}

// The sum of all threads' values, in every thread: warps in order. The whole block takes part.
template <class T> __device__ inline T block_sum(T value) {
    __shared__ T partial[CUDA_WARP];
    value = warp_sum(value);
    __syncthreads(); // the last call's values have been read
    if (cuda_lane() == 0) partial[cuda_warp()] = value;
    __syncthreads();
    T sum = 0;
    for (unsigned warp = 0; warp < blockDim.x / CUDA_WARP; warp++) sum += partial[warp];
    return sum;
}

#endif
