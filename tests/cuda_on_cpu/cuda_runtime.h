// SPDX-License-Identifier: Apache-2.0
// Stands in for CUDA's header of this name where .cu files are compiled as plain C++: each block of a kernel runs on
// the calling thread, one fiber per CUDA thread that waits somewhere (threads that never wait share one). Has what the
// back end uses: one-dimensional launches, shared memory, barriers, warp operations by whole warps, integer atomics,
// memory.
//
// Faults that it reports as cudaErrorLaunchFailure, in words in cuda_on_cpu_report(): a __syncthreads or a warp
// operation that not all threads reach, or that they reach at different lines; a barrier of the grid that a block does
// not reach. Launch limits give the errors of CUDA. A kernel that follows an address of the host's memory, which it got
// as an argument, ends in a segmentation fault.
#ifndef VPD_TESTS_CUDA_ON_CPU_CUDA_RUNTIME_H
#define VPD_TESTS_CUDA_ON_CPU_CUDA_RUNTIME_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#define CUDART_VERSION 13000
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static // one block runs at a time

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned count = 1) : x(count), y(1), z(1) {}
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

// Of the thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

// ---- errors and streams

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorNotReady = 600,
    cudaErrorLaunchFailure = 719,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900
};
const char *cudaGetErrorString(cudaError_t error);
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

// What a library's stand-in, which has no symbol of this one, asks a stream for.
struct cudaStream {
    virtual ~cudaStream() = default;
    virtual void submit(std::function<bool()> work) = 0;             // tried again and again until it is true, in order
    virtual void copy(void *to, const void *from, size_t bytes) = 0; // device memory
};
typedef cudaStream *cudaStream_t;
typedef struct cudaEvent *cudaEvent_t;
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event); // also moves the stream's work on
cudaError_t cuda_on_cpu_submit(cudaStream_t stream, std::function<cudaError_t()> work); // after what waits in it
void cuda_on_cpu_finish(cudaStream_t stream);
void cuda_on_cpu_finish_all(void);

// ---- devices

enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
struct cudaUUID_t {
    char bytes[16];
};
struct cudaDeviceProp {
    char name[256];
    int major, minor;
    cudaUUID_t uuid;
};
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int index);
cudaError_t cudaDriverGetVersion(int *version);
inline cudaError_t cudaRuntimeGetVersion(int *version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int index);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int index);

// ---- memory

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
cudaError_t cudaMalloc(void **memory, size_t bytes); // filled with NaN
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemGetInfo(size_t *left, size_t *total);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes, cudaStream_t stream);

// ---- launches

enum cudaLaunchAttributeID { cudaLaunchAttributeCooperative = 2 };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int cooperative;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs; // 0, or 1: cooperative
};
enum { CUDA_ON_CPU_RESIDENT = 2 }; // blocks of a cooperative launch at most: one on each multiprocessor
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct cudaFuncAttributes {
    int numRegs;
};
cudaError_t cuda_on_cpu_opt_in(const void *kernel, cudaFuncAttribute attribute, int bytes);
void cuda_on_cpu_hide_host(void *argument, size_t bytes); // kernels cannot follow addresses of the host's memory there
cudaError_t cuda_on_cpu_launch(const cudaLaunchConfig_t *config, const void *kernel, void (*thread)(void *),
                               void *context);

template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel *kernel, cudaFuncAttribute attribute, int value) {
    return cuda_on_cpu_opt_in(reinterpret_cast<const void *>(kernel), attribute, value);
}
template <class Kernel> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel *, int, size_t) {
    return *blocks = 1, cudaSuccess;
}
cudaError_t cuda_on_cpu_attributes(cudaFuncAttributes *out);
template <class Kernel> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, Kernel *) {
    return cuda_on_cpu_attributes(out);
}

// ---- graphs

struct CudaOnCpuNode {
    std::function<cudaError_t()> run;
    const void *kernel; // NULL: it is none; else what may be changed
    cudaLaunchConfig_t *config;
    std::vector<std::pair<void *, size_t>> arguments; // places, bytes
};
typedef CudaOnCpuNode *cudaGraphNode_t;
typedef struct CudaOnCpuGraph *cudaGraph_t;
typedef struct CudaOnCpuGraphExec *cudaGraphExec_t;
struct cudaGraphEdgeData;
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed = 2 };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};

bool cuda_on_cpu_capturing();
cudaGraphNode_t cuda_on_cpu_keep(std::function<cudaError_t()> run); // in the graph
cudaError_t cuda_on_cpu_do(std::function<void()> work); // on device memory, now or when the graph is launched

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **last, const cudaGraphEdgeData **edges,
                                     size_t *count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags); // `graph` stays
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *to);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               Arguments &&...arguments) {
    struct Held {
        cudaLaunchConfig_t config;
        std::tuple<std::decay_t<Parameters>...> arguments;
    };
    const void *name = reinterpret_cast<const void *>(kernel);
    auto held = std::make_shared<Held>(Held{*config, {static_cast<std::decay_t<Parameters>>(arguments)...}});
    std::apply([](auto &...all) { (cuda_on_cpu_hide_host(&all, sizeof all), ...); }, held->arguments);
    auto launch = [=] {
        auto thread = [&] { std::apply(kernel, held->arguments); };
        return cuda_on_cpu_launch(
            &held->config, name, [](void *context) { (*static_cast<decltype(thread) *>(context))(); }, &thread);
    };
    if (!cuda_on_cpu_capturing()) return cuda_on_cpu_submit(config->stream, launch);
    cudaGraphNode_t node = cuda_on_cpu_keep(launch);
    node->kernel = name;
    node->config = &held->config;
    node->arguments = std::apply(
        [](auto &...all) {
            return std::vector<std::pair<void *, size_t>>{
                {const_cast<void *>(static_cast<const void *>(&all)), sizeof all}...};
        },
        held->arguments);
    return cudaSuccess;
}

// ---- what kernels call

void *cuda_on_cpu_shared(); // the block's dynamic shared memory, filled with NaN when the block starts
void cuda_on_cpu_sync_block(const char *file, int line);
void cuda_on_cpu_sync_grid(const char *file, int line);
#define CUDA_GRID_BARRIER() cuda_on_cpu_sync_grid(__FILE__, __LINE__)
// What a lane shows the others of its warp.
struct CudaOnCpuWords {
    uint64_t word[3];
};
// Publishes `words`, waits for the whole warp and returns what its lanes published.
const CudaOnCpuWords *cuda_on_cpu_sync_warp(unsigned mask, CudaOnCpuWords words, const char *file, int line);
unsigned cuda_on_cpu_ballot(unsigned mask, bool vote, const char *file, int line);

#define __syncthreads() cuda_on_cpu_sync_block(__FILE__, __LINE__)
#define __syncwarp() ((void)cuda_on_cpu_sync_warp(0xffffffffu, {}, __FILE__, __LINE__))
#define __ballot_sync(mask, vote) cuda_on_cpu_ballot(mask, vote, __FILE__, __LINE__)
#define __any_sync(mask, vote) (cuda_on_cpu_ballot(mask, vote, __FILE__, __LINE__) != 0)
#define __all_sync(mask, vote) (cuda_on_cpu_ballot(mask, !(vote), __FILE__, __LINE__) == 0)
#define __shfl_sync(mask, value, lane) cuda_on_cpu_shuffle(mask, value, lane, __FILE__, __LINE__)
#define __shfl_xor_sync(mask, value, bits)                                                                             \
    cuda_on_cpu_shuffle(mask, value, cuda_on_cpu_lane() ^ (bits), __FILE__, __LINE__)
#define __shfl_up_sync(mask, value, by)                                                                                \
    cuda_on_cpu_shuffle(mask, value, cuda_on_cpu_lane() - (int)(by), __FILE__, __LINE__)
#define __shfl_down_sync(mask, value, by)                                                                              \
    cuda_on_cpu_shuffle(mask, value, cuda_on_cpu_lane() + (int)(by), __FILE__, __LINE__)

inline int cuda_on_cpu_lane() { return static_cast<int>(threadIdx.x % 32); }

// The value of `lane`; the caller's own where there is no such lane.
template <class T> T cuda_on_cpu_shuffle(unsigned mask, T value, int lane, const char *file, int line) {
    static_assert(sizeof value <= sizeof(uint64_t), "shuffles move eight bytes at most");
    CudaOnCpuWords words = {};
    memcpy(words.word, &value, sizeof value);
    const CudaOnCpuWords *all = cuda_on_cpu_sync_warp(mask, words, file, line);
    memcpy(&value, all[lane < 0 || lane > 31 ? cuda_on_cpu_lane() : lane].word, sizeof value);
    return value;
}

// Integers alone: no float atomics in this back end.
template <class T, class Change> T cuda_on_cpu_atomic(T *at, Change change) {
    static_assert(static_cast<T>(0.5) == 0, "sums of floats by atomics differ from run to run");
    T old = *at;
    *at = change(old);
    return old;
}
template <class T> T atomicAdd(T *at, T value) {
    return cuda_on_cpu_atomic(at, [=](T old) { return old + value; });
}
template <class T> T atomicMin(T *at, T value) {
    return cuda_on_cpu_atomic(at, [=](T old) { return old < value ? old : value; });
}
template <class T> T atomicMax(T *at, T value) {
    return cuda_on_cpu_atomic(at, [=](T old) { return old > value ? old : value; });
}
template <class T> T atomicOr(T *at, T value) {
    return cuda_on_cpu_atomic(at, [=](T old) { return old | value; });
}
template <class T> T atomicExch(T *at, T value) {
    return cuda_on_cpu_atomic(at, [=](T) { return value; });
}
template <class T> T atomicCAS(T *at, T expected, T value) {
    return cuda_on_cpu_atomic(at, [=](T old) { return old == expected ? value : old; });
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits ? __builtin_clz(static_cast<unsigned>(bits)) : 32; }
inline unsigned __float_as_uint(float x) {
    unsigned bits;
    return memcpy(&bits, &x, sizeof bits), bits;
}
inline float __uint_as_float(unsigned bits) {
    float x;
    return memcpy(&x, &bits, sizeof x), x;
}
inline float __expf(float x) { return expf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }

#endif
