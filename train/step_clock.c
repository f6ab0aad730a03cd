// SPDX-License-Identifier: Apache-2.0
#include "train/step_clock.h"

typedef struct ClockNode {
    StepClock *clock;
    StepPart part;
} ClockNode;

// Adds what came since the last lap.
static void lap(StepClock *clock, double *seconds, size_t *commands) {
    double now = device_seconds(clock->device);
    *seconds += now - clock->last;
    *commands += clock->device->replay.commands - clock->last_commands;
    clock->last = now;
    clock->last_commands = clock->device->replay.commands;
}

void step_clock_start(StepClock *clock, Device *device) {
    if (!clock) return;
    *clock = (StepClock){.device = device, .last = device_seconds(device)};
    clock->last_commands = device->replay.commands; // with those that it waited for
}

static void lap_backward(StepClock *clock) {
    lap(clock, &clock->backward[clock->running], &clock->backward_commands[clock->running]);
}

// Where a part ends in the forward pass, it begins in the backward pass.
static void begin_backward(Tape *tape, void *context) {
    (void)tape;
    const ClockNode *node = context;
    lap_backward(node->clock);
    node->clock->running = node->part;
}

void step_clock_part(StepClock *clock, Tape *tape, StepPart part) {
    ClockNode *node = clock ? tape_context(tape, sizeof *node) : NULL;
    if (!node) return;
    lap(clock, &clock->forward[part], &clock->forward_commands[part]);
    clock->running = part;
    *node = (ClockNode){clock, part};
    tape_record(tape, begin_backward, node);
}

void step_clock_end(StepClock *clock) {
    if (clock) lap_backward(clock);
}
