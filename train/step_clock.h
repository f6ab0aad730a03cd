// SPDX-License-Identifier: Apache-2.0
// Seconds that the parts of a training step take, for `vpd bench step`: the step itself says where a part ends, and a
// node on the tape says when the backward pass gets there.
#ifndef VPD_TRAIN_STEP_CLOCK_H
#define VPD_TRAIN_STEP_CLOCK_H

#include "nn/tape.h"

typedef enum StepPart { PART_ENCODER, PART_DYNAMICS, PART_RENDERER, PART_COUNT } StepPart;

typedef struct StepClock {
    double forward[PART_COUNT], backward[PART_COUNT]; // seconds, added up over rollout steps
    double last;
    StepPart running; // in the backward pass
    Device *device;
} StepClock;

// Every function does nothing without a clock.
void step_clock_start(StepClock *clock, Device *device);
// The forward pass of a part ends here.
void step_clock_part(StepClock *clock, Tape *tape, StepPart part);
// The backward pass ends here.
void step_clock_end(StepClock *clock);

#endif
