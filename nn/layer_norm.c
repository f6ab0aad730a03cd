// SPDX-License-Identifier: Apache-2.0
#include "nn/layer_norm.h"

#include "base/check.h"
#include "nn/backend.h"

typedef struct LayerNormNode {
    LayerNormArgs args;
    Tensor *x, *gain, *offset, *y;
} LayerNormNode;

static void layer_norm_backward_node(Tape *tape, void *context) {
    LayerNormNode *node = context;
    LayerNormArgs *args = &node->args;
    args->dy = node->y->grad;
    if (!args->dy) return;
    args->dx = tape_grad(tape, node->x);
    args->dgain = tape_grad(tape, node->gain);
    args->doffset = tape_grad(tape, node->offset);
    if (!tape->device->failed) tape->device->nn->layer_norm_backward(tape->device, args);
}

Tensor *layer_norm(Tape *tape, Tensor *x, Tensor *gain, Tensor *offset) {
    TAPE_CHECK_EQ(tape, gain->rows * gain->cols, x->cols);
    TAPE_CHECK_EQ(tape, offset->rows * offset->cols, x->cols);
    Tensor *inputs[] = {x, gain, offset};
    Tensor *y = tape_tensor(tape, x->rows, x->cols, tape_wants(tape, 3, inputs));
    LayerNormNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (LayerNormNode){
        {.rows = x->rows, .cols = x->cols, .x = x->value, .gain = gain->value, .offset = offset->value, .y = y->value},
        x,
        gain,
        offset,
        y};
    tape->device->nn->layer_norm_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, layer_norm_backward_node, node);
    return y;
}
