// SPDX-License-Identifier: Apache-2.0
// tape_checkpoint: a segment of the tape that is run again in the backward pass instead of being kept.
#include "nn/backend.h"
#include "nn/columns.h"
#include "nn/tape.h"

#include <string.h>

typedef struct SegmentNode {
    TapeSegment segment;
    void *context;
    size_t input_count, output_count;
    Tensor **inputs, **outputs;
} SegmentNode;

static Tape *segment_tape(Tape *tape) {
    if (!tape->segment) {
        tape->segment = malloc(sizeof *tape->segment);
        if (!tape->segment) device_fail(tape->device, STATUS_FAILED, "out of memory for a tape");
        else tape_init(tape->segment, tape->device);
        if (tape->segment) tape->segment->outer = tape;
    }
    return tape->segment;
}

static void segment_backward(Tape *tape, void *context) {
    SegmentNode *node = context;
    Tape *again = segment_tape(tape);
    Tensor **outputs = tape_context(tape, node->output_count * sizeof(Tensor *));
    if (!again || !outputs) return;
    // Gradients of the inputs must outlive the segment's memory.
    for (size_t i = 0; i < node->input_count; i++) tape_grad(tape, node->inputs[i]);
    tape_reset(again);
    tape_part(again, tape->device->part);
    again->recording = true;
    node->segment(again, node->context, node->inputs, outputs);
    // Added, not copied: an output of a segment may be one of its inputs.
    for (size_t i = 0; i < node->output_count; i++) {
        Tensor *output = outputs[i];
        real *grad = node->outputs[i]->grad ? tape_grad(again, output) : NULL;
        CopyColumnsArgs add = {output->rows, output->cols, node->outputs[i]->grad, output->cols, grad,
                               output->cols, true};
        if (grad) tape->device->nn->copy_columns(tape->device, &add);
    }
    tape_backward_from_grads(again);
}

void tape_checkpoint(Tape *tape, TapeSegment segment, void *context, size_t input_count, Tensor *const *inputs,
                     size_t output_count, Tensor **outputs) {
    SegmentNode *node = tape_context(tape, sizeof *node);
    Tensor **kept = tape_context(tape, (input_count + output_count) * sizeof(Tensor *));
    Tape *once = segment_tape(tape);
    if (!node || !kept || !once) {
        for (size_t i = 0; i < output_count; i++) outputs[i] = tape_tensor(tape, 0, 0, false);
        return;
    }
    *node = (SegmentNode){segment, context, input_count, output_count, kept, kept + input_count};
    memcpy(node->inputs, inputs, input_count * sizeof(Tensor *));
    tape_reset(once);
    if (tape->device->part) tape_part(once, tape->device->part);
    once->recording = false;
    segment(once, context, inputs, outputs);
    // Outputs move to the outer tape. Parameters inside may want gradients whatever the inputs want.
    for (size_t i = 0; i < output_count; i++) {
        Tensor *inner = outputs[i];
        outputs[i] = node->outputs[i] = tape_tensor(tape, inner->rows, inner->cols, true);
        if (inner->value && outputs[i]->value)
            tape->device->nn->copy(tape->device, outputs[i]->value, inner->value,
                                   inner->rows * inner->cols * sizeof(real));
    }
    tape_record(tape, segment_backward, node);
}
