// SPDX-License-Identifier: Apache-2.0
#include "nn/linear.h"

#include "nn/backend.h"

typedef struct LinearNode {
    LinearArgs args;
    Tensor *x, *weight, *bias, *y;
} LinearNode;

static void linear_backward_node(Tape *tape, void *context) {
    LinearNode *node = context;
    LinearArgs *args = &node->args;
    args->dy = node->y->grad;
    if (!args->dy) return;
    args->dx = tape_grad(tape, node->x);
    args->dweight = tape_grad(tape, node->weight);
    args->dbias = tape_grad(tape, node->bias);
    tape->device->nn->linear_backward(tape->device, args);
}

Tensor *linear(Tape *tape, Tensor *x, Tensor *weight, Tensor *bias) {
    TAPE_CHECK_EQ(tape, x->cols, weight->rows);
    if (bias) TAPE_CHECK_EQ(tape, bias->rows * bias->cols, weight->cols);
    Tensor *inputs[] = {x, weight, bias};
    Tensor *y = tape_tensor(tape, x->rows, weight->cols, tape_wants(tape, 3, inputs));
    LinearNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (LinearNode){{.rows = x->rows,
                          .in = x->cols,
                          .out = weight->cols,
                          .x = x->value,
                          .weight = weight->value,
                          .bias = bias ? bias->value : NULL,
                          .y = y->value},
                         x,
                         weight,
                         bias,
                         y};
    tape->device->nn->linear_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, linear_backward_node, node);
    return y;
}
