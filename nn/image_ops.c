// SPDX-License-Identifier: Apache-2.0
#include "nn/image_ops.h"

#include "nn/backend.h"
#include "nn/columns.h"

typedef struct ImageOpNode {
    ImageOpArgs args;
    Tensor *x, *skip, *y; // skip: the first channels of y, or NULL
} ImageOpNode;

// skip's part of y is copied, or its gradient added: channels lie together within a pixel, or within an image where
// they lie in blocks.
static void copy_skip(Device *device, const ImageOpNode *node, const real *from, real *to, bool back, bool add) {
    const ImageOpArgs *a = &node->args;
    size_t pixels = a->to.h * a->to.w, whole = image_run(a->y_block, a->y_channels) == a->y_channels;
    size_t rows = whole ? node->y->rows : a->to.n, factor = whole ? 1 : pixels, skip = node->skip->cols * factor,
           all = node->y->cols * factor;
    CopyColumnsArgs args = {.rows = rows,
                            .cols = skip,
                            .from = from,
                            .from_stride = back ? all : skip,
                            .to = to,
                            .to_stride = back ? skip : all,
                            .add = add};
    device->nn->copy_columns(device, &args);
}

static void image_op_backward_node(Tape *tape, void *context) {
    ImageOpNode *node = context;
    ImageOpArgs *args = &node->args;
    args->dy = node->y->grad;
    if (!args->dy) return;
    args->dx = tape_grad_or_new(tape, node->x, &args->dx_is_new);
    if (args->dx) tape->device->nn->image_op_backward(tape->device, args);
    bool is_new;
    real *dskip = tape_grad_or_new(tape, node->skip, &is_new);
    if (dskip) copy_skip(tape->device, node, args->dy, dskip, true, !is_new);
}

static Tensor *image_op(Tape *tape, ImageOpKind kind, Tensor *x, ImageShape from, ImageShape to, Tensor *skip,
                        size_t block) {
    TAPE_CHECK_EQ(tape, x->rows, image_pixels(from));
    if (skip) TAPE_CHECK_EQ(tape, skip->rows, image_pixels(to));
    Tensor *inputs[] = {x, skip};
    size_t first = skip ? skip->cols : 0;
    Tensor *y = tape_tensor(tape, image_pixels(to), first + x->cols, tape_wants(tape, 2, inputs));
    y->block = block;
    ImageOpNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (ImageOpNode){{.kind = kind,
                           .from = from,
                           .to = to,
                           .channels = x->cols,
                           .block = x->block,
                           .first = first,
                           .y_channels = y->cols,
                           .y_block = block,
                           .x = x->value,
                           .y = y->value},
                          x,
                          skip,
                          y};
    tape->device->nn->image_op_forward(tape->device, &node->args);
    if (skip) copy_skip(tape->device, node, skip->value, y->value, false, false);
    if (y->wants_grad) tape_record(tape, image_op_backward_node, node);
    return y;
}

Tensor *average_pool_2x2(Tape *tape, Tensor *x, ImageShape shape) {
    TAPE_CHECK_EQ(tape, shape.h % 2 + shape.w % 2, 0);
    return image_op(tape, IMAGE_AVERAGE_POOL, x, shape, (ImageShape){shape.n, shape.h / 2, shape.w / 2}, NULL,
                    x->block);
}

Tensor *upsample_concat(Tape *tape, Tensor *skip, Tensor *x, ImageShape shape) {
    if (skip) TAPE_CHECK_EQ(tape, skip->block, x->block);
    if (x->block) TAPE_CHECK_EQ(tape, x->cols % x->block + (skip ? skip->cols % x->block : 0), 0);
    return image_op(tape, IMAGE_UPSAMPLE, x, shape, (ImageShape){shape.n, 2 * shape.h, 2 * shape.w}, skip, x->block);
}

Tensor *image_pad(Tape *tape, Tensor *x, ImageShape from, size_t h, size_t w) {
    if (h == from.h && w == from.w) return x;
    return image_op(tape, IMAGE_PAD, x, from, (ImageShape){from.n, h, w}, NULL, x->block);
}

Tensor *image_crop_to_rows(Tape *tape, Tensor *x, ImageShape from, size_t h, size_t w) {
    if (h == from.h && w == from.w && image_run(x->block, x->cols) == x->cols) return x;
    return image_op(tape, IMAGE_CROP, x, from, (ImageShape){from.n, h, w}, NULL, 0);
}
