// SPDX-License-Identifier: Apache-2.0
#include "nn/rows.h"

#include "nn/backend.h"

typedef struct GatherNode {
    GatherArgs args;
    Tensor *x, *y;
} GatherNode;

static void gather_backward_node(Tape *tape, void *context) {
    GatherNode *node = context;
    node->args.dy = node->y->grad;
    node->args.dx = node->args.dy ? tape_grad(tape, node->x) : NULL;
    if (node->args.dx) tape->device->nn->gather_backward(tape->device, &node->args);
}

static Tensor *gather(Tape *tape, Tensor *x, size_t rows, const int32_t *index, bool distinct) {
    Tensor *y = tape_tensor(tape, rows, x->cols, tape_wants(tape, 1, &x));
    GatherNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (GatherNode){{.rows = rows,
                          .cols = x->cols,
                          .from_rows = x->rows,
                          .index = index,
                          .distinct = distinct,
                          .x = x->value,
                          .y = y->value},
                         x,
                         y};
    tape->device->nn->gather_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, gather_backward_node, node);
    return y;
}

Tensor *gather_rows(Tape *tape, Tensor *x, size_t rows, const int32_t *index) {
    return gather(tape, x, rows, index, false);
}

Tensor *gather_distinct_rows(Tape *tape, Tensor *x, size_t rows, const int32_t *index) {
    return gather(tape, x, rows, index, true);
}
