// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/functions.h"
#include "gnn/cuda/message_run.h"

#include <stdlib.h>

// ---- messages that wait for each other's command (CudaState.held)

struct HeldMessages {
    MessageKernel kernel;
    MessageJobs jobs;
};

static HeldMessages *held_of(Device *device) { return static_cast<HeldMessages *>(cuda_state(device)->held.memory); }

// Blocks of a launch that the GPU has at once; 0 if they cannot wait for each other.
static unsigned blocks_at_once(Device *device, const MessageKernel &kernel) {
    int each = 0;
    if (!cuda_state(device)->cooperative) return 0;
    cuda_opt_in(device, kernel.run, kernel.shared, kernel.name);
    cuda_ok(device,
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel.run, static_cast<int>(kernel.threads),
                                                          kernel.shared),
            kernel.name);
    return static_cast<unsigned>(each * cuda_state(device)->processors);
}

static void add_steps(MessageJobs *jobs, unsigned job, unsigned *most) {
    for (unsigned phase = 0; phase < MESSAGE_PHASES; phase++) {
        unsigned blocks = jobs->job[job].blocks[phase];
        if (blocks == 0) continue;
        jobs->step[jobs->steps++] = {static_cast<unsigned char>(job), static_cast<unsigned char>(phase)};
        *most = blocks > *most ? blocks : *most;
    }
}

// A command for each step: where blocks cannot wait for each other, and where there is one step.
static void give_steps(Device *device, const MessageKernel &kernel, const MessageJobs &jobs) {
    MessageJobs one = {};
    one.steps = 1;
    for (unsigned i = 0; i < jobs.steps; i++) {
        unsigned phase = jobs.step[i].phase;
        one.job[0] = jobs.job[jobs.step[i].job];
        one.step[0] = {0, static_cast<unsigned char>(phase)};
        cuda_launch(device, kernel.name, one.job[0].blocks[phase], kernel.threads, kernel.shared, kernel.run, one);
    }
}

static void give(Device *device) {
    HeldMessages *held = held_of(device);
    const MessageKernel &kernel = held->kernel;
    unsigned most = 0;
    cuda_state(device)->op = kernel.name;
    for (unsigned i = 0; i < held->jobs.jobs; i++) add_steps(&held->jobs, i, &most);
    unsigned at_once = held->jobs.steps > 1 ? blocks_at_once(device, kernel) : 0;
    if (at_once == 0) return give_steps(device, kernel, held->jobs);
    cuda_submit(device, CudaKernelCall<MessageJobsArgument>{kernel.name,
                                                            kernel.run,
                                                            most < at_once ? most : at_once,
                                                            kernel.threads,
                                                            kernel.shared,
                                                            true,
                                                            {held->jobs}});
}

// Room for one more job; NULL: there is none.
static MessageJob *next_job(HeldMessages *held) {
    return held->jobs.jobs < MESSAGE_JOBS ? &held->jobs.job[held->jobs.jobs++] : nullptr;
}

static bool zero(Device *device, real *memory, size_t count) {
    MessageJob *job = next_job(held_of(device));
    if (!job) return false;
    job->clear = {memory, count};
    job->blocks[MESSAGE_CLEAR] = message_blocks(count);
    return true;
}

// The last job if it only clears memory so far, or the next one.
static MessageJob *job_for_message(HeldMessages *held) {
    MessageJob *last = &held->jobs.job[held->jobs.jobs - 1];
    return last->blocks[MESSAGE_TILES] || last->blocks[MESSAGE_REST] ? next_job(held) : last;
}

void message_hold(Device *device, const MessageKernel &kernel, const MessageJob &job) {
    CudaHeldOps *ops = &cuda_state(device)->held;
    if (!ops->memory && !(ops->memory = calloc(1, sizeof(HeldMessages))))
        return device_fail(device, STATUS_FAILED, "out of memory for the messages of a step");
    HeldMessages *held = held_of(device);
    if (held->kernel != kernel) cuda_give_held(device);
    MessageJob *to = ops->give ? job_for_message(held) : nullptr;
    if (!to) cuda_give_held(device);
    if (device->failed) return; // perhaps for want of the message's own memory
    if (!to) {
        memset(held, 0, sizeof *held); // equal calls have equal bytes
        held->kernel = kernel;
        ops->give = give;
        ops->zero = zero;
        to = next_job(held);
    }
    MessageClear clear = to->clear;
    *to = job;
    to->clear = clear;
    to->blocks[MESSAGE_CLEAR] = message_blocks(clear.count);
}

// ---- ops

static bool fits(Device *device, const MessageArgs *m) {
    if (m->hidden <= MESSAGE_WIDEST && m->out <= MESSAGE_WIDEST) return true;
    device_fail(device, STATUS_FAILED, "CUDA: model.C is %zu; at most %zu there", m->hidden, MESSAGE_WIDEST);
    return false;
}

// Runs f<P> in the device's precision, or in f32 if that precision needs more shared memory than there is.
template <class F> static void run(Device *device, const MessageArgs *m, F f) {
    Precision precision = device->precision;
    if (precision == PRECISION_TF32 && f.template operator()<PRECISION_TF32>()) return;
    if (precision == PRECISION_BF16 && f.template operator()<PRECISION_BF16>()) return;
    if (!f.template operator()<PRECISION_F32>())
        device_fail(device, STATUS_FAILED,
                    "CUDA: layers of %zu channels need more shared memory than this GPU has (%zu KiB)",
                    m->hidden > m->out ? m->hidden : m->out, cuda_state(device)->shared_limit >> 10);
}

void message_forward_cuda(Device *device, const MessageArgs *a) {
    if (!cuda_op(device, "message forward", a->edges.groups, a->edges.k, a->edges.others, a->hidden, a->out) ||
        !fits(device, a))
        return;
    ArenaMark mark = arena_mark(&device->scratch);
    run(device, a, [=]<Precision P>() { return message_run_forward<P>(device, a); });
    arena_release(&device->scratch, mark);
}

void message_backward_cuda(Device *device, const MessageArgs *a) {
    if (!cuda_op(device, "message backward", a->edges.groups, a->edges.k, a->edges.others, a->hidden, a->out) ||
        !fits(device, a))
        return;
    ArenaMark mark = arena_mark(&device->scratch);
    run(device, a, [=]<Precision P>() { return message_run_backward<P>(device, a); });
    arena_release(&device->scratch, mark);
}
