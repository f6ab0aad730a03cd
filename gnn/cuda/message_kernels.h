// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of the fused MLP. A block takes tiles of rows through all layers in registers and shared
// memory. It writes only what the caller keeps, sums by group or other end, and its part of the weights' gradients.
// One launch does several messages, one after the other; all blocks wait for each other in between.
#ifndef VPD_GNN_CUDA_MESSAGE_KERNELS_H
#define VPD_GNN_CUDA_MESSAGE_KERNELS_H

#include "gnn/cuda/message_backward.h"
#include "gnn/cuda/message_forward.h"

// Clearing memory; the backward pass of products; tiles; what they leave.
enum MessagePhase { MESSAGE_CLEAR, MESSAGE_PRODUCTS_BACK, MESSAGE_TILES, MESSAGE_REST, MESSAGE_PHASES };

typedef struct MessageClear {
    real *memory;
    size_t count;
} MessageClear;

// A message, and memory that is cleared before it; or one of them.
typedef struct MessageJob {
    unsigned blocks[MESSAGE_PHASES]; // that have something to do; 0: there is no such phase
    MessageClear clear;
    MessageArgs args;
    MessageWork work;
} MessageJob;

constexpr size_t MESSAGE_JOB_ROOM = (sizeof(MessageJob) / 16 + 1) * 16 / sizeof(real);

// As many as the arguments of a kernel have room for.
constexpr unsigned MESSAGE_JOBS = CUDART_VERSION >= 12010 ? 16 : 1;

typedef struct MessageJobs {
    MessageJob job[MESSAGE_JOBS];
    unsigned jobs, steps;
    struct {
        unsigned char job, phase;
    } step[MESSAGE_JOBS * MESSAGE_PHASES];
} MessageJobs;

// How the kernel takes them. On the CPU each thread would have a copy of its own.
#ifdef __CUDACC__
typedef MessageJobs MessageJobsArgument;
#define MESSAGE_JOBS_ARGUMENT const __grid_constant__ MessageJobs
#else
typedef const MessageJobs &MessageJobsArgument;
#define MESSAGE_JOBS_ARGUMENT MessageJobsArgument
#endif

static_assert(sizeof(MessageJobs) <= (MESSAGE_JOBS > 1 ? 32764 : 4096), "too large for the arguments of a kernel");

template <class S, bool BACKWARD>
static __device__ inline void run_phase(const MessageJob &job, unsigned phase, const BlockMemory &memory) {
    if (phase == MESSAGE_CLEAR) {
        GRID_LOOP(i, job.clear.count) job.clear.memory[i] = 0;
    } else if constexpr (BACKWARD) {
        if (phase == MESSAGE_PRODUCTS_BACK) backward_block<S, true>(job.args, job.work, memory);
        else if (phase == MESSAGE_TILES) backward_block<S, false>(job.args, job.work, memory);
        else finish_backward(job.args, job.work);
    } else {
        if (phase == MESSAGE_TILES) forward_block<S>(job.args, job.work, memory);
        else finish_segments(job.args, job.work);
    }
}

// Does the steps in their order. A job comes to shared memory: as constants behind an index its members would take
// registers.
template <class S, bool BACKWARD>
static __global__ __launch_bounds__(CUDA_THREADS, BACKWARD ? S::BLOCKS_BACKWARD
                                                           : S::BLOCKS) void run_messages(MESSAGE_JOBS_ARGUMENT jobs) {
    if constexpr (TENSOR_CORES || !S::TENSOR) {
        SHARED(unsigned, shared);
        const MessageJob &job = *reinterpret_cast<const MessageJob *>(shared);
        const BlockMemory memory = block_memory<S>(reinterpret_cast<real *>(shared) + MESSAGE_JOB_ROOM);
        UNROLL(1)
        for (unsigned i = 0; i < jobs.steps; i = shared[MESSAGE_JOB_ROOM - 1] + 1) {
            if (i > 0) CUDA_GRID_BARRIER();
            const unsigned *from = reinterpret_cast<const unsigned *>(&jobs.job[jobs.step[i].job]);
            THREAD_LOOP(word, sizeof job / sizeof *from) shared[word] = from[word];
            if (threadIdx.x == 0) shared[MESSAGE_JOB_ROOM - 1] = i; // costs no register meanwhile
            __syncthreads();
            run_phase<S, BACKWARD>(job, jobs.step[i].phase, memory);
        }
    }
}

#endif
