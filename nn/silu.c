// SPDX-License-Identifier: Apache-2.0
#include "nn/silu.h"

#include "nn/backend.h"

typedef struct SiluNode {
    SiluArgs args;
    Tensor *x, *y;
} SiluNode;

static void silu_backward_node(Tape *tape, void *context) {
    SiluNode *node = context;
    node->args.dy = node->y->grad;
    node->args.dx = tape_grad(tape, node->x);
    if (node->args.dy && node->args.dx) tape->device->nn->silu_backward(tape->device, &node->args);
}

Tensor *silu(Tape *tape, Tensor *x) {
    Tensor *y = tape_tensor(tape, x->rows, x->cols, tape_wants(tape, 1, &x));
    SiluNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (SiluNode){{.count = x->rows * x->cols, .x = x->value, .y = y->value}, x, y};
    tape->device->nn->silu_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, silu_backward_node, node);
    return y;
}
