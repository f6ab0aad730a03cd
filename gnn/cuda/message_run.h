// SPDX-License-Identifier: Apache-2.0
// The fused MLP in one precision: f32, tf32 or bf16 (message_f32.cu and so on).
#ifndef VPD_GNN_CUDA_MESSAGE_RUN_H
#define VPD_GNN_CUDA_MESSAGE_RUN_H

#include "nn/cuda/launch.h"

#include "gnn/cuda/message_kernels.h"

// False without doing anything if the GPU has too little shared memory for layers of this width; at most
// MESSAGE_WIDEST.
constexpr size_t MESSAGE_WIDEST = 512;
template <Precision P> bool message_run_forward(Device *device, const MessageArgs *m);
template <Precision P> bool message_run_backward(Device *device, const MessageArgs *m);

// A kernel that does messages, and its launch.
struct MessageKernel {
    void (*run)(MessageJobsArgument);
    const char *name;
    unsigned threads;
    size_t shared; // bytes

    bool operator==(const MessageKernel &) const = default;
};

static inline unsigned message_blocks(size_t count, size_t each = CUDA_THREADS) {
    return static_cast<unsigned>(cuda_blocks(count, each));
}

// Adds a message to those that wait to be done by one launch.
void message_hold(Device *device, const MessageKernel &kernel, const MessageJob &job);

#endif
