// SPDX-License-Identifier: Apache-2.0
#include "nn/columns.h"

#include "nn/backend.h"

#include <string.h>

typedef struct ColumnsNode {
    Tensor *y;
    size_t count;
    Tensor *x[]; // (count)
} ColumnsNode;

static void copy_columns(Device *device, size_t rows, size_t cols, const real *from, size_t from_stride, real *to,
                         size_t to_stride, bool add) {
    CopyColumnsArgs args = {rows, cols, from, from_stride, to, to_stride, add};
    if (from && to && !device->failed) device->nn->copy_columns(device, &args);
}

static void concat_backward(Tape *tape, void *context) {
    ColumnsNode *node = context;
    size_t at = 0, width = node->y->cols;
    for (size_t i = 0; i < node->count && node->y->grad; i++) {
        Tensor *x = node->x[i];
        bool is_new;
        real *dx = tape_grad_or_new(tape, x, &is_new);
        copy_columns(tape->device, x->rows, x->cols, node->y->grad + at, width, dx, x->cols, !is_new);
        at += x->cols;
    }
}

Tensor *concat_columns(Tape *tape, size_t count, Tensor *const *x) {
    size_t cols = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        TAPE_CHECK_EQ(tape, x[i]->rows, x[0]->rows);
        cols += x[i]->cols;
    }
    Tensor *y = tape_tensor(tape, x[0]->rows, cols, tape_wants(tape, count, x));
    ColumnsNode *node = tape_context(tape, sizeof *node + count * sizeof(Tensor *));
    if (!node) return y;
    *node = (ColumnsNode){.y = y, .count = count};
    memcpy(node->x, x, count * sizeof(Tensor *));
    for (size_t i = 0; i < count; i++) {
        copy_columns(tape->device, y->rows, x[i]->cols, x[i]->value, x[i]->cols, y->value + at, cols, false);
        at += x[i]->cols;
    }
    if (y->wants_grad) tape_record(tape, concat_backward, node);
    return y;
}
