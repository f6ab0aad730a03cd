// SPDX-License-Identifier: Apache-2.0
#include "gnn/advance.h"

#include "gnn/backend.h"

typedef struct AdvanceNode {
    AdvanceArgs args;
    AdvanceCall call;
    AdvanceOutput output;
} AdvanceNode;

static void advance_backward_node(Tape *tape, void *context) {
    AdvanceNode *node = context;
    AdvanceArgs *a = &node->args;
    a->d_dx = node->output.dx->grad;
    a->d_x_next = node->output.x->grad;
    a->d_f_next = a->features ? node->output.f->grad : NULL;
    if (!a->d_dx && !a->d_x_next && !a->d_f_next) return;
    a->grad_x = tape_grad(tape, node->call.x);
    a->grad_f = a->features ? tape_grad(tape, node->call.f) : NULL;
    a->grad_o = tape_grad(tape, node->call.o);
    if (!tape->device->failed) tape->device->gnn->advance_backward(tape->device, a);
}

AdvanceOutput advance(Tape *tape, const AdvanceCall *call) {
    Tensor *inputs[] = {call->x, call->o, call->f};
    size_t count = call->x->rows, features = call->change > 0 ? call->f->cols - call->f_first : 0;
    bool wants = tape_wants(tape, 2, inputs);
    TAPE_CHECK_EQ(tape, call->o->rows, count);
    TAPE_CHECK_EQ(tape, call->o->cols, 3 + features);
    AdvanceOutput output = {tape_tensor(tape, count, 3, wants), tape_tensor(tape, count, 3, wants), call->f};
    if (features) output.f = tape_tensor(tape, count, call->f->cols, tape_wants(tape, 3, inputs));
    AdvanceNode *node = tape_context(tape, sizeof *node);
    if (!node) return output;
    *node = (AdvanceNode){{.count = count,
                           .width = call->o->cols,
                           .features = features,
                           .f_width = call->f->cols,
                           .f_first = call->f_first,
                           .scale = call->scale,
                           .change = call->change,
                           .x = call->x->value,
                           .f = call->f->value,
                           .o = call->o->value,
                           .dx = output.dx->value,
                           .x_next = output.x->value,
                           .f_next = features ? output.f->value : NULL},
                          *call,
                          output};
    tape->device->gnn->advance_forward(tape->device, &node->args);
    if (tape_wants(tape, 3, inputs)) tape_record(tape, advance_backward_node, node);
    return output;
}
