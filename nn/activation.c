// SPDX-License-Identifier: Apache-2.0
#include "nn/activation.h"

#include "nn/backend.h"

typedef struct ActivationNode {
    ActivationArgs args;
    Tensor *x, *y;
} ActivationNode;

static void activation_backward_node(Tape *tape, void *context) {
    ActivationNode *node = context;
    node->args.dy = node->y->grad;
    node->args.dx = tape_grad(tape, node->x);
    if (node->args.dy && node->args.dx) tape->device->nn->activation_backward(tape->device, &node->args);
}

Tensor *activation(Tape *tape, Tensor *x, Activation kind) {
    if (kind == ACTIVATION_NONE) return x;
    Tensor *y = tape_tensor(tape, x->rows, x->cols, tape_wants(tape, 1, &x));
    ActivationNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (ActivationNode){{.kind = kind, .count = x->rows * x->cols, .x = x->value, .y = y->value}, x, y};
    tape->device->nn->activation_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, activation_backward_node, node);
    return y;
}
