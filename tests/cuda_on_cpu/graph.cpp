// SPDX-License-Identifier: Apache-2.0
// Captured graphs: what a stream was asked for is kept, and done when the graph is launched.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/cuda_on_cpu/cuda_runtime.h"

#include <algorithm>

struct CudaOnCpuGraph {
    std::vector<cudaGraphNode_t> nodes;
};

struct CudaOnCpuGraphExec {
    cudaGraph_t graph;
};

static cudaGraph_t capture; // under way

bool cuda_on_cpu_capturing() { return capture != nullptr; }

cudaGraphNode_t cuda_on_cpu_keep(std::function<cudaError_t()> run) {
    capture->nodes.push_back(new CudaOnCpuNode{run, nullptr, nullptr, {}});
    return capture->nodes.back();
}

static bool skipping;

void cuda_on_cpu_skip(bool on) { skipping = on; }
bool cuda_on_cpu_skipping(void) { return skipping; }

cudaError_t cuda_on_cpu_do(std::function<void()> work) {
    if (skipping) return cudaSuccess;
    auto run = [work] {
        cuda_on_cpu_enter();
        work();
        cuda_on_cpu_leave();
        return cudaSuccess;
    };
    if (!cuda_on_cpu_capturing()) return run();
    cuda_on_cpu_keep(run);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    if (capture) return cudaErrorInvalidValue;
    capture = new CudaOnCpuGraph;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
    if (!capture) return cudaErrorInvalidValue;
    *graph = capture;
    capture = nullptr;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus *status, unsigned long long *, cudaGraph_t *,
                                     const cudaGraphNode_t **last, const cudaGraphEdgeData **, size_t *count) {
    *status = capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    *count = capture && !capture->nodes.empty();
    *last = *count ? &capture->nodes.back() : nullptr;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    *exec = new CudaOnCpuGraphExec{graph};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
    cudaError_t error = cudaSuccess;
    cuda_on_cpu_enter(); // once for all
    for (cudaGraphNode_t node : exec->graph->nodes) {
        error = cuda_on_cpu_lost() ? cudaErrorLaunchFailure : node->run();
        if (error != cudaSuccess) break;
    }
    cuda_on_cpu_leave();
    return error;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *to) {
    auto &nodes = exec->graph->nodes;
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end() || node->kernel != to->func)
        return cudaErrorInvalidValue;
    node->config->gridDim = to->gridDim;
    node->config->blockDim = to->blockDim;
    node->config->dynamicSmemBytes = to->sharedMemBytes;
    for (size_t i = 0; i < node->arguments.size(); i++) {
        memcpy(node->arguments[i].first, to->kernelParams[i], node->arguments[i].second);
        cuda_on_cpu_hide_host(node->arguments[i].first, node->arguments[i].second);
    }
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    for (cudaGraphNode_t node : graph->nodes) delete node;
    delete graph;
    return cudaSuccess;
}
