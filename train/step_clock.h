// SPDX-License-Identifier: Apache-2.0
// Times the parts of a training step for `vpd bench step`, and counts a GPU's commands in them. The step marks where a
// part ends in the forward pass, and a node on the tape marks the same place in the backward pass.
#ifndef VPD_TRAIN_STEP_CLOCK_H
#define VPD_TRAIN_STEP_CLOCK_H

#include "nn/tape.h"

typedef enum StepPart { PART_ENCODER, PART_DYNAMICS, PART_RENDERER, PART_COUNT } StepPart;

typedef struct StepClock {
    double forward[PART_COUNT], backward[PART_COUNT];                   // seconds, summed over rollout steps
    size_t forward_commands[PART_COUNT], backward_commands[PART_COUNT]; // DeviceReplay.commands
    double last;
    size_t last_commands;
    StepPart running; // current part of the backward pass
    Device *device;
} StepClock;

// All functions accept a NULL clock and then do nothing.
void step_clock_start(StepClock *clock, Device *device);
// Marks the end of a part's forward pass.
void step_clock_part(StepClock *clock, Tape *tape, StepPart part);
// Marks the end of the backward pass.
void step_clock_end(StepClock *clock);

#endif
