// SPDX-License-Identifier: Apache-2.0
#include "nn/group_norm.h"

#include "nn/backend.h"

typedef struct GroupNormNode {
    GroupNormArgs args;
    Tensor *x, *gain, *offset, *y;
} GroupNormNode;

size_t group_norm_groups(size_t channels) {
    size_t groups = GROUP_NORM_GROUPS;
    while (channels % groups) groups--;
    return groups;
}

static void group_norm_backward_node(Tape *tape, void *context) {
    GroupNormNode *node = context;
    GroupNormArgs *args = &node->args;
    args->dy = node->y->grad;
    if (!args->dy) return;
    args->dx = tape_grad_or_new(tape, node->x, &args->dx_is_new);
    args->dgain = tape_grad(tape, node->gain);
    args->doffset = tape_grad(tape, node->offset);
    if (!tape->device->failed) tape->device->nn->group_norm_backward(tape->device, args);
}

Tensor *group_norm(Tape *tape, Tensor *x, ImageShape shape, Tensor *gain, Tensor *offset) {
    TAPE_CHECK_EQ(tape, x->rows, image_pixels(shape));
    TAPE_CHECK_EQ(tape, gain->rows * gain->cols, x->cols);
    TAPE_CHECK_EQ(tape, offset->rows * offset->cols, x->cols);
    Tensor *inputs[] = {x, gain, offset};
    Tensor *y = tape_tensor(tape, x->rows, x->cols, tape_wants(tape, 3, inputs));
    size_t groups = group_norm_groups(x->cols);
    real *statistics = tape_memory(tape, 2 * shape.n * groups, sizeof(real));
    y->block = x->block;
    GroupNormNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (GroupNormNode){{.shape = shape,
                             .channels = x->cols,
                             .block = x->block,
                             .groups = groups,
                             .x = x->value,
                             .gain = gain->value,
                             .offset = offset->value,
                             .mean = statistics,
                             .rstd = statistics + shape.n * groups,
                             .y = y->value},
                            x,
                            gain,
                            offset,
                            y};
    if (x->rows > 0) tape->device->nn->group_norm_forward(tape->device, &node->args);
    if (y->wants_grad && x->rows > 0) tape_record(tape, group_norm_backward_node, node);
    return y;
}
