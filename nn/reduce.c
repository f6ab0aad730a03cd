// SPDX-License-Identifier: Apache-2.0
#include "nn/reduce.h"

#include "nn/backend.h"

typedef struct ReduceNode {
    ReduceArgs args;
    Tensor *x, *y;
} ReduceNode;

static void reduce_backward_node(Tape *tape, void *context) {
    ReduceNode *node = context;
    node->args.dy = node->y->grad;
    node->args.dx = node->args.dy ? tape_grad(tape, node->x) : NULL;
    if (node->args.dx) tape->device->nn->reduce_backward(tape->device, &node->args);
}

static Tensor *reduce_rows(Tape *tape, Tensor *x, ReduceKind kind, const real *target, const real *weight, double huber,
                           double scale) {
    Tensor *y = tape_tensor(tape, 1, 1, tape_wants(tape, 1, &x));
    ReduceNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (ReduceNode){{.kind = kind,
                          .rows = x->rows,
                          .cols = x->cols,
                          .x = x->value,
                          .target = target,
                          .weight = weight,
                          .scale = scale,
                          .huber = huber,
                          .y = y->value},
                         x,
                         y};
    tape->device->nn->reduce_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, reduce_backward_node, node);
    return y;
}

Tensor *reduce(Tape *tape, Tensor *x, ReduceKind kind, const real *target, const real *weight, double scale) {
    return reduce_rows(tape, x, kind, target, weight, 0, scale);
}

Tensor *reduce_huber(Tape *tape, Tensor *x, const real *target, const real *weight, double huber, double scale) {
    return reduce_rows(tape, x, REDUCE_HUBER, target, weight, huber, scale);
}

Tensor *reduce_mean(Tape *tape, Tensor *x) {
    double count = (double)x->rows * (double)x->cols;
    return reduce(tape, x, REDUCE_VALUE, NULL, NULL, count > 0 ? 1 / count : 0);
}
