// SPDX-License-Identifier: Apache-2.0
// Captures repeated steps as CUDA graphs. Everything that the back end puts into its stream is a command: a kernel, a
// copy, a library call. Between cuda_step_begin and cuda_step_end commands form parts, which end where the host waits
// or flushes. A part that repeats often enough is captured as a CUDA graph. From then on its commands are only compared
// with those of the graph, which is launched when the part ends: the host's share of a command is a comparison.
//
// Kernels with new arguments or sizes are updated in the graph. If anything else differs, all commands of the part go
// to the stream one by one, and the part is captured again some steps later (later each time). Results have the same
// bits in every case.
#ifndef VPD_NN_CUDA_REPLAY_H
#define VPD_NN_CUDA_REPLAY_H

#include <cuda_runtime.h>

#include "nn/device.h"

struct CudaReplay;

void cuda_step_begin(Device *device, bool replay);
void cuda_step_end(Device *device);
// Ends the part.
void cuda_flush(Device *device);
void cuda_give_held(Device *device); // CudaHeldOps
// Gives memory of cudaMalloc back at the part's end; false if no commands of a graph may use it: then it can be now.
bool cuda_free_later(Device *device, void *memory);
void cuda_replay_close(Device *device);

// The functions of a type of calls.
struct CudaCommandType {
    size_t bytes;
    void (*copy)(void *to, const void *call);
    bool (*same)(const void *call, const void *other);
    void (*run)(Device *, const void *call); // gives it to the stream
    // Updates the node of `old` to `call`; false when it cannot. NULL: no call of the type can.
    bool (*change)(cudaGraphExec_t, cudaGraphNode_t, const void *old, const void *call);
};

void cuda_submit(Device *device, const CudaCommandType *type, const void *call);

// Call: run(device) and ==, which together define the command completely, and perhaps change(graph, node, old).
template <class Call> void cuda_submit(Device *device, const Call &call) {
    static_assert(std::is_trivially_destructible_v<Call>);
    static constexpr CudaCommandType type = {
        .bytes = sizeof(Call),
        .copy = [](void *to, const void *from) { new (to) Call(*static_cast<const Call *>(from)); },
        .same = [](const void *a,
                   const void *b) { return *static_cast<const Call *>(a) == *static_cast<const Call *>(b); },
        .run = [](Device *to, const void *what) { static_cast<const Call *>(what)->run(to); },
        .change =
            [] {
                bool (*change)(cudaGraphExec_t, cudaGraphNode_t, const void *, const void *) = nullptr;
                if constexpr (requires { &Call::change; })
                    change = [](cudaGraphExec_t graph, cudaGraphNode_t node, const void *old, const void *what) {
                        return static_cast<const Call *>(what)->change(graph, node, *static_cast<const Call *>(old));
                    };
                return change;
            }(),
    };
    cuda_submit(device, &type, &call);
}

// Host memory that keeps its contents until the step's end, for copies to the device; NULL, with the device failed,
// when there is none. NULL outside of steps, where no copy needs it.
void *cuda_staged(Device *device, const void *host, size_t bytes);

#endif
