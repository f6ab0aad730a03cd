// SPDX-License-Identifier: Apache-2.0
#include "gnn/cuda/functions.h"
#include "gnn/cuda/message_run.h"

// Products of terms by group are computed once per group if they have at least this many columns.
constexpr size_t MESSAGE_WIDE = 32;

static bool is_wide_group(const MessageArgs *m, const MessageTermArgs *term) {
    return term->kind == TERM_GROUP && term->weight && term->width > MESSAGE_WIDE && m->edges.k > 1;
}

// The products of these terms, unless the backward pass need not begin with them.
size_t message_saved_cuda(const MessageArgs *m) {
    bool wide = false;
    for (size_t i = 0; i < m->term_count; i++) wide = wide || is_wide_group(m, &m->terms[i]);
    return wide && !m->kept_a ? m->edges.groups * m->hidden : 0;
}

// Moves wide terms by group from `m` to a separate call over groups, which only sums products. In `m` they become one
// term without a weight, whose rows are saved or in scratch memory.
static MessageArgs split_groups(Device *device, MessageArgs *m) {
    MessageArgs of_groups = {};
    size_t left = 0;
    of_groups.edges = edges_of_rows(m->edges.groups);
    of_groups.hidden = of_groups.out = m->hidden;
    for (size_t i = 0; i < m->term_count; i++) {
        MessageTermArgs term = m->terms[i];
        if (!is_wide_group(m, &term)) m->terms[left++] = term;
        else term.kind = TERM_ROW, of_groups.terms[of_groups.term_count++] = term;
    }
    m->term_count = left;
    if (of_groups.term_count == 0) return of_groups;
    of_groups.rows = m->saved ? m->saved : device_scratch(device, m->edges.groups * m->hidden);
    m->terms[m->term_count++] = {TERM_GROUP, m->hidden, of_groups.rows, nullptr, nullptr, nullptr};
    return of_groups;
}

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

static void forward(Device *device, const MessageArgs *m) {
    run(device, m, [=]<Precision P>() { return message_run_forward<P>(device, m); });
}

static void backward(Device *device, const MessageArgs *m, const real *fresh) {
    run(device, m, [=]<Precision P>() { return message_run_backward<P>(device, m, fresh); });
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
        real *d = m.terms[m.term_count - 1].dx = device_scratch(device, m.edges.groups * m.hidden);
        if (!m.kept_a && !m.saved) forward(device, &of_groups);
        backward(device, &m, d);
        of_groups.drows = d;
        backward(device, &of_groups, nullptr);
    } else {
        backward(device, &m, nullptr);
    }
    arena_release(&device->scratch, mark);
}
