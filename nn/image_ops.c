// SPDX-License-Identifier: Apache-2.0
#include "nn/image_ops.h"

#include "base/check.h"
#include "nn/backend.h"
#include "nn/columns.h"

typedef struct ImageOpNode {
    ImageOpArgs args;
    Tensor *x, *skip, *y; // skip: the first columns of y, or NULL
} ImageOpNode;

static void image_op_backward_node(Tape *tape, void *context) {
    ImageOpNode *node = context;
    ImageOpArgs *args = &node->args;
    args->dy = node->y->grad;
    if (!args->dy) return;
    args->dx = tape_grad(tape, node->x);
    if (args->dx) tape->device->nn->image_op_backward(tape->device, args);
    real *dskip = tape_grad(tape, node->skip);
    if (dskip)
        tape->device->nn->copy_columns(tape->device, &(CopyColumnsArgs){.rows = node->y->rows, .cols = node->skip->cols, .from = args->dy, .from_stride = node->y->cols, .to = dskip, .to_stride = node->skip->cols, .add = true});
}

static Tensor *image_op(Tape *tape, ImageOpKind kind, Tensor *x, ImageShape from, ImageShape to, Tensor *skip) {
    TAPE_CHECK_EQ(tape, x->rows, image_pixels(from));
    if (skip) TAPE_CHECK_EQ(tape, skip->rows, image_pixels(to));
    Tensor *inputs[] = {x, skip};
    size_t first = skip ? skip->cols : 0;
    Tensor *y = tape_tensor(tape, image_pixels(to), first + x->cols, tape_wants(tape, 2, inputs));
    ImageOpNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (ImageOpNode){{.kind = kind, .from = from, .to = to, .channels = x->cols, .x = x->value, .y = y->value, .y_stride = y->cols, .y_first = first}, x, skip, y};
    tape->device->nn->image_op_forward(tape->device, &node->args);
    if (skip)
        tape->device->nn->copy_columns(tape->device, &(CopyColumnsArgs){.rows = y->rows, .cols = first, .from = skip->value, .from_stride = first, .to = y->value, .to_stride = y->cols});
    if (y->wants_grad) tape_record(tape, image_op_backward_node, node);
    return y;
}

Tensor *average_pool_2x2(Tape *tape, Tensor *x, ImageShape shape) {
    TAPE_CHECK_EQ(tape, shape.h % 2 + shape.w % 2, 0);
    return image_op(tape, IMAGE_AVERAGE_POOL, x, shape, (ImageShape){shape.n, shape.h / 2, shape.w / 2}, NULL);
}

Tensor *upsample_concat(Tape *tape, Tensor *skip, Tensor *x, ImageShape shape) {
    return image_op(tape, IMAGE_UPSAMPLE, x, shape, (ImageShape){shape.n, 2 * shape.h, 2 * shape.w}, skip);
}

Tensor *image_pad(Tape *tape, Tensor *x, ImageShape from, size_t h, size_t w) {
    if (h == from.h && w == from.w) return x;
    return image_op(tape, IMAGE_PAD, x, from, (ImageShape){from.n, h, w}, NULL);
}

Tensor *image_crop(Tape *tape, Tensor *x, ImageShape from, size_t h, size_t w) {
    if (h == from.h && w == from.w) return x;
    return image_op(tape, IMAGE_CROP, x, from, (ImageShape){from.n, h, w}, NULL);
}
