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

static double mean_scale(const Tensor *x) { return x->rows && x->cols ? 1 / ((double)x->rows * (double)x->cols) : 0; }

Tensor *reduce_mean(Tape *tape, Tensor *x) { return reduce(tape, x, REDUCE_VALUE, NULL, NULL, mean_scale(x)); }
Tensor *mean_squared_error(Tape *tape, Tensor *x, const real *target) {
    return reduce(tape, x, REDUCE_SQUARE, target, NULL, mean_scale(x));
}
