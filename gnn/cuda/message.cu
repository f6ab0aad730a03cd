// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/functions.h"
#include "gnn/cuda/message_run.h"

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
