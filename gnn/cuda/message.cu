// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/functions.h"
#include "gnn/cuda/message_run.h"
#include "nn/cuda/device.h"

// Products of terms by group are computed once per group if they have at least this many columns.
constexpr size_t MESSAGE_WIDE = 32;

// Moves wide terms by group from `m` to a separate call over groups, which only sums products. In `m` they become one
// term without a weight, whose rows are in scratch memory.
static MessageArgs split_groups(Device *device, MessageArgs *m) {
    MessageArgs of_groups = {};
    size_t left = 0;
    of_groups.edges = edges_of_rows(m->edges.groups);
    of_groups.hidden = of_groups.out = m->hidden;
    for (size_t i = 0; i < m->term_count; i++) {
        MessageTermArgs term = m->terms[i];
        bool moves = term.kind == TERM_GROUP && term.weight && term.width > MESSAGE_WIDE && m->edges.k > 1;
        if (!moves) m->terms[left++] = term;
        else term.kind = TERM_ROW, of_groups.terms[of_groups.term_count++] = term;
    }
    m->term_count = left;
    if (of_groups.term_count == 0) return of_groups;
    of_groups.rows = device_scratch(device, m->edges.groups * m->hidden);
    m->terms[m->term_count++] = {TERM_GROUP, m->hidden, of_groups.rows, nullptr, nullptr, nullptr};
    return of_groups;
}

static bool fits(Device *device, const MessageArgs *m) {
    if (m->hidden <= MESSAGE_WIDEST && m->out <= MESSAGE_WIDEST) return true;
    device_fail(device, STATUS_FAILED, "CUDA: model.C is %zu; at most %zu there", m->hidden, MESSAGE_WIDEST);
    return false;
}

typedef bool Run(Device *device, const MessageArgs *m);

// Runs in the device's precision, or in f32 if that precision needs more shared memory than there is.
static void run(Device *device, const MessageArgs *m, Run *f32, Run *tf32, Run *bf16) {
    Precision precision = device->precision;
    if (precision == PRECISION_TF32 && tf32(device, m)) return;
    if (precision == PRECISION_BF16 && bf16(device, m)) return;
    if (!f32(device, m))
        device_fail(device, STATUS_FAILED,
                    "CUDA: layers of %zu channels need more shared memory than this GPU has (%zu KiB)",
                    m->hidden > m->out ? m->hidden : m->out, cuda_state(device)->shared_limit >> 10);
}

static void forward(Device *device, const MessageArgs *m) {
    run(device, m, message_run_forward<PRECISION_F32>, message_run_forward<PRECISION_TF32>,
        message_run_forward<PRECISION_BF16>);
}

static void backward(Device *device, const MessageArgs *m) {
    run(device, m, message_run_backward<PRECISION_F32>, message_run_backward<PRECISION_TF32>,
        message_run_backward<PRECISION_BF16>);
}

void message_forward_cuda(Device *device, const MessageArgs *a) {
    if (!cuda_op(device, "message forward", a->edges.groups, a->edges.k, a->edges.others, a->hidden, a->out) ||
        !fits(device, a))
        return;
    ArenaMark mark = arena_mark(&device->scratch);
    MessageArgs m = *a, of_groups = split_groups(device, &m);
    if (of_groups.term_count) forward(device, &of_groups);
    forward(device, &m);
    arena_release(&device->scratch, mark);
}

void message_backward_cuda(Device *device, const MessageArgs *a) {
    if (!cuda_op(device, "message backward", a->edges.groups, a->edges.k, a->edges.others, a->hidden, a->out) ||
        !fits(device, a))
        return;
    ArenaMark mark = arena_mark(&device->scratch);
    MessageArgs m = *a, of_groups = split_groups(device, &m);
    if (of_groups.term_count) {
        size_t count = m.edges.groups * m.hidden;
        real *d = m.terms[m.term_count - 1].dx = device_scratch(device, count);
        cuda_zero(device, d, count * sizeof *d);
        if (!m.kept_a) forward(device, &of_groups);
        backward(device, &m);
        of_groups.drows = d;
        backward(device, &of_groups);
    } else {
        backward(device, &m);
    }
    arena_release(&device->scratch, mark);
}
