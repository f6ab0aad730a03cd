// SPDX-License-Identifier: Apache-2.0
#include "nn/combine.h"

#include "nn/backend.h"

typedef struct CombineNode {
    CombineArgs args;
    Tensor *a, *b, *y;
} CombineNode;

static void combine_backward_node(Tape *tape, void *context) {
    CombineNode *node = context;
    node->args.dy = node->y->grad;
    if (!node->args.dy) return;
    node->args.da = tape_grad(tape, node->a);
    node->args.db = tape_grad(tape, node->b);
    if (!tape->device->failed) tape->device->nn->combine_backward(tape->device, &node->args);
}

static Tensor *combine(Tape *tape, Tensor *a, real alpha, Tensor *b, real beta) {
    Tensor *inputs[] = {a, b};
    Tensor *y = tape_tensor(tape, a->rows, a->cols, tape_wants(tape, 2, inputs));
    CombineNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    CombineArgs args = {.count = a->rows * a->cols, .alpha = alpha, .beta = beta, .a = a->value, .y = y->value};
    if (b) args.b = b->value;
    *node = (CombineNode){args, a, b, y};
    tape->device->nn->combine_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, combine_backward_node, node);
    return y;
}

Tensor *tensor_add_scaled(Tape *tape, Tensor *a, Tensor *b, real beta) {
    TAPE_CHECK_EQ(tape, a->rows, b->rows);
    TAPE_CHECK_EQ(tape, a->cols, b->cols);
    return combine(tape, a, 1, b, beta);
}

Tensor *tensor_add(Tape *tape, Tensor *a, Tensor *b) { return tensor_add_scaled(tape, a, b, 1); }

Tensor *tensor_scale(Tape *tape, Tensor *a, real alpha) { return combine(tape, a, alpha, NULL, 0); }
