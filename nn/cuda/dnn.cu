// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/dnn.h"

#include "nn/cuda/library.h"

#include <cudnn.h>
#include <string.h>

#define NAME_OF_(number) "libcudnn.so." #number
#define NAME_OF(number) NAME_OF_(number)

// Every function of cuDNN that this file calls.
#define FUNCTIONS(F)                                                                                                   \
    F(cudnnCreate)                                                                                                     \
    F(cudnnDestroy)                                                                                                    \
    F(cudnnSetStream)                                                                                                  \
    F(cudnnGetErrorString)                                                                                             \
    F(cudnnCreateTensorDescriptor)                                                                                     \
    F(cudnnSetTensor4dDescriptor)                                                                                      \
    F(cudnnDestroyTensorDescriptor)                                                                                    \
    F(cudnnCreateFilterDescriptor)                                                                                     \
    F(cudnnSetFilter4dDescriptor)                                                                                      \
    F(cudnnDestroyFilterDescriptor)                                                                                    \
    F(cudnnCreateConvolutionDescriptor)                                                                                \
    F(cudnnSetConvolution2dDescriptor)                                                                                 \
    F(cudnnSetConvolutionMathType)                                                                                     \
    F(cudnnDestroyConvolutionDescriptor)                                                                               \
    F(cudnnGetConvolutionForwardAlgorithm_v7)                                                                          \
    F(cudnnGetConvolutionBackwardDataAlgorithm_v7)                                                                     \
    F(cudnnGetConvolutionBackwardFilterAlgorithm_v7)                                                                   \
    F(cudnnConvolutionForward)                                                                                         \
    F(cudnnConvolutionBackwardData)                                                                                    \
    F(cudnnConvolutionBackwardFilter)

// So many shapes are kept, more than a UNet has for a few sizes and numbers of images; the workspace that an algorithm
// may ask for.
constexpr size_t MAX_SHAPES = 256, MAX_WORKSPACE = size_t{256} << 20;
constexpr int MAX_CHOICES = 16;

// An algorithm, the instructions it may use, and its workspace in bytes.
template <class Algorithm> struct Choice {
    bool made;
    Algorithm algorithm;
    cudnnMathType_t math;
    size_t bytes;
};

// What is kept for a shape in f32 (`tensor` false) or TF32.
struct Plan {
    CudaConv conv;
    bool tensor;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t filter;
    Choice<cudnnConvolutionFwdAlgo_t> forward;
    Choice<cudnnConvolutionBwdDataAlgo_t> data;
    Choice<cudnnConvolutionBwdFilterAlgo_t> weights;
};

struct CudaDnn {
#define DECLARE(name) decltype(&::name) name;
    FUNCTIONS(DECLARE)
#undef DECLARE
    cudnnHandle_t handle;
    cudnnConvolutionDescriptor_t convolution;
    Plan plans[MAX_SHAPES];
    size_t count;
};

static bool ok(Device *device, const CudaDnn *dnn, cudnnStatus_t status, CudaConv c, const char *what) {
    if (status != CUDNN_STATUS_SUCCESS)
        device_fail(device, STATUS_FAILED, "CUDA: convolution of (%zu,%zu,%zu,%zu) to %zu channels, %s: %s", c.shape.n,
                    c.shape.h, c.shape.w, c.in, c.out, what, dnn->cudnnGetErrorString(status));
    return status == CUDNN_STATUS_SUCCESS;
}

static bool find_functions(Device *device, CudaDnn *dnn) {
    void *library = cuda_library_open(device, NAME_OF(CUDNN_MAJOR));
#define FIND(name)                                                                                                     \
    if (!cuda_library_function(device, library, #name, reinterpret_cast<void **>(&dnn->name))) return false;
    FUNCTIONS(FIND)
#undef FIND
    return true;
}

static bool start(Device *device, CudaDnn *dnn) {
    auto good = [=](cudnnStatus_t status, const char *what) { return ok(device, dnn, status, CudaConv{}, what); };
    return good(dnn->cudnnCreate(&dnn->handle), "cudnnCreate") &&
           good(dnn->cudnnSetStream(dnn->handle, cuda_state(device)->stream), "cudnnSetStream") &&
           good(dnn->cudnnCreateConvolutionDescriptor(&dnn->convolution), "its descriptor") &&
           good(dnn->cudnnSetConvolution2dDescriptor(dnn->convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                                     CUDNN_DATA_FLOAT),
                "its descriptor");
}

static CudaDnn *dnn_of(Device *device) {
    CudaState *state = cuda_state(device);
    if (state->dnn) return state->dnn;
    CudaDnn *dnn = static_cast<CudaDnn *>(calloc(1, sizeof *dnn));
    if (!dnn) device_fail(device, STATUS_FAILED, "out of memory for cuDNN");
    if (dnn && find_functions(device, dnn) && start(device, dnn)) return state->dnn = dnn;
    free(dnn);
    return nullptr;
}

static bool describe(Device *device, CudaDnn *dnn, Plan *plan) {
    CudaConv c = plan->conv;
    int n = static_cast<int>(c.shape.n), h = static_cast<int>(c.shape.h), w = static_cast<int>(c.shape.w);
    int in = static_cast<int>(c.in), out = static_cast<int>(c.out);
    auto good = [=](cudnnStatus_t status) { return ok(device, dnn, status, c, "its descriptors"); };
    return good(dnn->cudnnCreateTensorDescriptor(&plan->x)) && good(dnn->cudnnCreateTensorDescriptor(&plan->y)) &&
           good(dnn->cudnnCreateFilterDescriptor(&plan->filter)) &&
           good(dnn->cudnnSetTensor4dDescriptor(plan->x, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, n, in, h, w)) &&
           good(dnn->cudnnSetTensor4dDescriptor(plan->y, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, n, out, h, w)) &&
           good(dnn->cudnnSetFilter4dDescriptor(plan->filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, out, in, 3, 3));
}

static void forget_plans(CudaDnn *dnn) {
    for (size_t i = 0; i < dnn->count; i++) {
        dnn->cudnnDestroyTensorDescriptor(dnn->plans[i].x);
        dnn->cudnnDestroyTensorDescriptor(dnn->plans[i].y);
        dnn->cudnnDestroyFilterDescriptor(dnn->plans[i].filter);
        dnn->plans[i] = Plan{};
    }
    dnn->count = 0;
}

// Until the next call of plan_for.
static Plan *plan_for(Device *device, CudaConv conv, Precision precision) {
    CudaDnn *dnn = device->failed ? nullptr : dnn_of(device);
    bool tensor = precision != PRECISION_F32;
    for (size_t i = 0; dnn && i < dnn->count; i++)
        if (dnn->plans[i].tensor == tensor && !memcmp(&dnn->plans[i].conv, &conv, sizeof conv)) return &dnn->plans[i];
    if (!dnn) return nullptr;
    if (dnn->count == MAX_SHAPES) forget_plans(dnn);
    Plan *plan = &dnn->plans[dnn->count++];
    plan->conv = conv;
    plan->tensor = tensor;
    return describe(device, dnn, plan) ? plan : nullptr;
}

// FMA_MATH is fp32 alone; the default would be TF32 from compute capability 8.0 on. TENSOR_OP_MATH permits TF32; the
// variant that converts images itself would use fp16.
static bool set_math(Device *device, const CudaDnn *dnn, CudaConv c, cudnnMathType_t math) {
    return ok(device, dnn, dnn->cudnnSetConvolutionMathType(dnn->convolution, math), c, "its instructions");
}
static cudnnMathType_t math_of(const Plan *plan) { return plan->tensor ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH; }

// The fastest that repeats bit for bit and whose workspace is bounded; cuDNN lists them by speed.
template <class Algorithm, class Result>
static void choose(const Plan *plan, const Result *results, int count, Choice<Algorithm> *choice) {
    for (int i = 0; i < count && !choice->made; i++) {
        bool fits = results[i].status == CUDNN_STATUS_SUCCESS && results[i].determinism == CUDNN_DETERMINISTIC &&
                    results[i].memory <= MAX_WORKSPACE;
        cudnnMathType_t math = plan->tensor ? results[i].mathType : CUDNN_FMA_MATH;
        if (fits && math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
            *choice = {true, results[i].algo, math, results[i].memory};
    }
}

// Chooses once among the algorithms of `list` (results, their number). When tensor cores do not support the shape
// (channels that are no multiple of 4 or 8), among those of f32.
template <class Result, class Algorithm, class List>
static bool find_algorithm(Device *device, const CudaDnn *dnn, const Plan *plan, Choice<Algorithm> *choice, List list) {
    CudaConv c = plan->conv;
    const cudnnMathType_t allowed[] = {math_of(plan), CUDNN_FMA_MATH};
    for (int i = 0; i < 1 + plan->tensor && !choice->made; i++) {
        Result results[MAX_CHOICES];
        int count = 0;
        if (!set_math(device, dnn, c, allowed[i]) || !ok(device, dnn, list(results, &count), c, "its algorithms"))
            return false;
        choose(plan, results, count, choice);
    }
    if (!choice->made)
        device_fail(device, STATUS_FAILED,
                    "CUDA: cuDNN has no repeatable convolution of (%zu,%zu,%zu,%zu) to %zu channels", c.shape.n,
                    c.shape.h, c.shape.w, c.in, c.out);
    else if (plan->tensor && choice->math == CUDNN_FMA_MATH)
        snprintf(device->note, sizeof device->note,
                 "cuDNN has no tensor cores for a convolution of %zu to %zu channels: it is done in f32", c.in, c.out);
    return choice->made;
}

static void forward(Device *device, const CudaConvCall &c) {
    Plan *plan = plan_for(device, c.conv, c.precision);
    if (!plan) return;
    const CudaDnn *dnn = cuda_state(device)->dnn;
    auto list = [=](cudnnConvolutionFwdAlgoPerf_t *results, int *count) {
        return dnn->cudnnGetConvolutionForwardAlgorithm_v7(dnn->handle, plan->x, plan->filter, dnn->convolution,
                                                           plan->y, MAX_CHOICES, count, results);
    };
    if (!plan->forward.made && !find_algorithm<cudnnConvolutionFwdAlgoPerf_t>(device, dnn, plan, &plan->forward, list))
        return;
    const real one = 1;
    ArenaMark mark = arena_mark(&device->scratch);
    void *room = device_scratch_bytes(device, plan->forward.bytes);
    if (room && set_math(device, dnn, c.conv, plan->forward.math))
        ok(device, dnn,
           dnn->cudnnConvolutionForward(dnn->handle, &one, plan->x, c.x, plan->filter, c.filter, dnn->convolution,
                                        plan->forward.algorithm, room, plan->forward.bytes, &one, plan->y, c.out),
           c.conv, "forward");
    arena_release(&device->scratch, mark);
}

static void backward_data(Device *device, const CudaConvCall &c) {
    Plan *plan = plan_for(device, c.conv, c.precision);
    if (!plan) return;
    const CudaDnn *dnn = cuda_state(device)->dnn;
    auto list = [=](cudnnConvolutionBwdDataAlgoPerf_t *results, int *count) {
        return dnn->cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn->handle, plan->filter, plan->y, dnn->convolution,
                                                                plan->x, MAX_CHOICES, count, results);
    };
    if (!plan->data.made && !find_algorithm<cudnnConvolutionBwdDataAlgoPerf_t>(device, dnn, plan, &plan->data, list))
        return;
    const real one = 1, beta = c.add;
    ArenaMark mark = arena_mark(&device->scratch);
    void *room = device_scratch_bytes(device, plan->data.bytes);
    if (room && set_math(device, dnn, c.conv, plan->data.math))
        ok(device, dnn,
           dnn->cudnnConvolutionBackwardData(dnn->handle, &one, plan->filter, c.filter, plan->y, c.dy, dnn->convolution,
                                             plan->data.algorithm, room, plan->data.bytes, &beta, plan->x, c.out),
           c.conv, "backward to x");
    arena_release(&device->scratch, mark);
}

static void backward_filter(Device *device, const CudaConvCall &c) {
    Plan *plan = plan_for(device, c.conv, c.precision);
    if (!plan) return;
    const CudaDnn *dnn = cuda_state(device)->dnn;
    auto list = [=](cudnnConvolutionBwdFilterAlgoPerf_t *results, int *count) {
        return dnn->cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn->handle, plan->x, plan->y, dnn->convolution,
                                                                  plan->filter, MAX_CHOICES, count, results);
    };
    if (!plan->weights.made &&
        !find_algorithm<cudnnConvolutionBwdFilterAlgoPerf_t>(device, dnn, plan, &plan->weights, list))
        return;
    const real one = 1, zero = 0;
    ArenaMark mark = arena_mark(&device->scratch);
    void *room = device_scratch_bytes(device, plan->weights.bytes);
    if (room && set_math(device, dnn, c.conv, plan->weights.math))
        ok(device, dnn,
           dnn->cudnnConvolutionBackwardFilter(dnn->handle, &one, plan->x, c.x, plan->y, c.dy, dnn->convolution,
                                               plan->weights.algorithm, room, plan->weights.bytes, &zero, plan->filter,
                                               c.out),
           c.conv, "backward to the weights");
    arena_release(&device->scratch, mark);
}

void CudaConvCall::run(Device *device) const {
    switch (kind) {
    case CudaConvKind::forward: return forward(device, *this);
    case CudaConvKind::backward_data: return backward_data(device, *this);
    case CudaConvKind::backward_filter: return backward_filter(device, *this);
    }
}

void cuda_dnn_close(Device *device) {
    CudaDnn *dnn = cuda_state(device)->dnn;
    if (dnn) forget_plans(dnn);
    if (dnn) dnn->cudnnDestroyConvolutionDescriptor(dnn->convolution);
    if (dnn) dnn->cudnnDestroy(dnn->handle);
    free(dnn);
    cuda_state(device)->dnn = nullptr;
}
