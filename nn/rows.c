// SPDX-License-Identifier: Apache-2.0
#include "nn/rows.h"

#include "nn/backend.h"
#include "nn/combine.h"

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

// ---- parts

Tensor *tensor_rows(Tape *tape, Tensor *x, size_t first, size_t rows) {
    Tensor *whole = x->whole ? x->whole : x;
    if (rows == x->rows) return x;
    Tensor *part = tape_context(tape, sizeof *part);
    if (!part) return tape_tensor(tape, rows, x->cols, false);
    CHECK(first <= x->rows && rows <= x->rows - first);
    *part = (Tensor){.value = x->value + first * x->cols,
                     .rows = rows,
                     .cols = x->cols,
                     .wants_grad = x->wants_grad,
                     .stage = x->stage,
                     .whole = whole};
    return part;
}

typedef struct JoinNode {
    size_t count;
    Tensor *y, *part[];
} JoinNode;

static void join_backward_node(Tape *tape, void *context) {
    const JoinNode *node = context;
    const real *dy = node->y->grad;
    for (size_t i = 0; dy && i < node->count; i++) {
        size_t count = node->part[i]->rows * node->part[i]->cols;
        real *to = tape_grad(tape, node->part[i]);
        if (to && count)
            tape->device->nn->combine_backward(tape->device,
                                               &(CombineArgs){.count = count, .alpha = 1, .dy = dy, .da = to});
        dy += count;
    }
}

// Whether the parts are rows of one tensor that follow each other; *rows is their number.
static bool are_joined(size_t count, Tensor *const *parts, size_t *rows) {
    *rows = 0;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i]->whole || parts[i]->whole != parts[0]->whole) return false;
        if (parts[i]->value != parts[0]->value + *rows * parts[0]->cols) return false;
        *rows += parts[i]->rows;
    }
    return true;
}

Tensor *join_rows(Tape *tape, size_t count, Tensor **parts) {
    size_t rows, cols = parts[0]->cols;
    if (count == 1) return parts[0];
    if (are_joined(count, parts, &rows)) {
        Tensor *whole = parts[0]->whole;
        return tensor_rows(tape, whole, (size_t)(parts[0]->value - whole->value) / cols, rows);
    }
    rows = 0;
    for (size_t i = 0; i < count; i++) rows += parts[i]->rows;
    Tensor *y = tape_tensor(tape, rows, cols, tape_wants(tape, count, parts));
    JoinNode *node = tape_context(tape, sizeof *node + count * sizeof *node->part);
    if (!node) return y;
    *node = (JoinNode){count, y};
    rows = 0;
    for (size_t i = 0; i < count; i++) {
        TAPE_CHECK_EQ(tape, parts[i]->cols, cols);
        node->part[i] = parts[i];
        parts[i] = tensor_rows(tape, y, rows, node->part[i]->rows);
        if (tape->device->failed) return y;
        tape->device->nn->copy(tape->device, parts[i]->value, node->part[i]->value,
                               parts[i]->rows * cols * sizeof(real));
        rows += parts[i]->rows;
    }
    if (y->wants_grad) tape_record(tape, join_backward_node, node);
    return y;
}
