// SPDX-License-Identifier: Apache-2.0
#include "nn/conv2d.h"

#include "nn/backend.h"

typedef struct Conv2dNode {
    Conv2dArgs args;
    Tensor *x, *weight, *bias, *y;
} Conv2dNode;

static void conv2d_backward_node(Tape *tape, void *context) {
    Conv2dNode *node = context;
    Conv2dArgs *args = &node->args;
    args->dy = node->y->grad;
    if (!args->dy) return;
    args->dx = tape_grad_or_new(tape, node->x, &args->dx_is_new);
    args->dweight = tape_grad(tape, node->weight);
    args->dbias = tape_grad(tape, node->bias);
    if (!tape->device->failed) tape->device->nn->conv2d_backward(tape->device, args);
}

Tensor *conv2d(Tape *tape, Tensor *x, ImageShape shape, Tensor *weight, Tensor *bias) {
    TAPE_CHECK_EQ(tape, x->rows, image_pixels(shape));
    TAPE_CHECK_EQ(tape, weight->rows, 9 * x->cols);
    TAPE_CHECK_EQ(tape, bias->rows * bias->cols, weight->cols);
    Tensor *inputs[] = {x, weight, bias};
    Tensor *y = tape_tensor(tape, x->rows, weight->cols, tape_wants(tape, 3, inputs));
    y->block = x->block;
    Conv2dNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (Conv2dNode){{.shape = shape,
                          .in = x->cols,
                          .block = x->block,
                          .out = weight->cols,
                          .x = x->value,
                          .weight = weight->value,
                          .bias = bias->value,
                          .y = y->value},
                         x,
                         weight,
                         bias,
                         y};
    if (x->rows > 0) tape->device->nn->conv2d_forward(tape->device, &node->args);
    if (y->wants_grad && x->rows > 0) tape_record(tape, conv2d_backward_node, node);
    return y;
}
