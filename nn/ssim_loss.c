// SPDX-License-Identifier: Apache-2.0
#include "nn/ssim_loss.h"

#include "nn/backend.h"

typedef struct SsimLossNode {
    SsimLossArgs args;
    Tensor *x, *y;
} SsimLossNode;

static void ssim_loss_backward_node(Tape *tape, void *context) {
    SsimLossNode *node = context;
    node->args.dy = node->y->grad;
    node->args.dx = node->args.dy ? tape_grad(tape, node->x) : NULL;
    if (node->args.dx) tape->device->nn->ssim_loss_backward(tape->device, &node->args);
}

Tensor *ssim_loss(Tape *tape, Tensor *x, const real *target, size_t patches, const int32_t *first) {
    Tensor *y = tape_tensor(tape, 1, 1, tape_wants(tape, 1, &x));
    SsimLossNode *node = tape_context(tape, sizeof *node);
    if (!node) return y;
    *node = (SsimLossNode){
        {.patches = patches, .cols = x->cols, .first = first, .x = x->value, .target = target, .y = y->value}, x, y};
    tape->device->nn->ssim_loss_forward(tape->device, &node->args);
    if (y->wants_grad) tape_record(tape, ssim_loss_backward_node, node);
    return y;
}
