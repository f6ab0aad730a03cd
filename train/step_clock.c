// SPDX-License-Identifier: Apache-2.0
#include "train/step_clock.h"

typedef struct ClockNode {
    StepClock *clock;
    StepPart part;
} ClockNode;

static double lap(StepClock *clock) {
    double before = clock->last;
    clock->last = device_seconds(clock->device);
    return clock->last - before;
}

void step_clock_start(StepClock *clock, Device *device) {
    if (!clock) return;
    *clock = (StepClock){.device = device};
    lap(clock);
}

// Where a part ends in the forward pass, it begins in the backward pass.
static void begin_backward(Tape *tape, void *context) {
    (void)tape;
    const ClockNode *node = context;
    node->clock->backward[node->clock->running] += lap(node->clock);
    node->clock->running = node->part;
}

void step_clock_part(StepClock *clock, Tape *tape, StepPart part) {
    ClockNode *node = clock ? tape_context(tape, sizeof *node) : NULL;
    if (!node) return;
    clock->forward[part] += lap(clock);
    clock->running = part;
    *node = (ClockNode){clock, part};
    tape_record(tape, begin_backward, node);
}

void step_clock_end(StepClock *clock) {
    if (clock) clock->backward[clock->running] += lap(clock);
}
