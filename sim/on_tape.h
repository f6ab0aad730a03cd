// SPDX-License-Identifier: Apache-2.0
// A rollout as one op on the tape (nn/tape.h). What is in front of it, such as a policy made of nn ops, gets its
// gradient from the adjoint of the rollout:
//
//     Tensor *push = linear(tape, silu(tape, linear(tape, seen, w1, b1)), w2, b2);
//     SimOnTape roll = {.sim = sim, .run = run, .values = &values, .of[SIM_FORCE] = push};
//     Tensor *position = sim_on_tape(tape, &roll, NULL);
#ifndef VPD_SIM_ON_TAPE_H
#define VPD_SIM_ON_TAPE_H

#include "nn/tape.h"
#include "sim/sim.h"

typedef struct SimOnTape {
    Sim *sim;   // either precision, on the CPU or a device; not that of a sim_rollout that waits for its adjoint
    SimRun run; // keep, context and gradient are the op's own
    const SimValues *values; // parameters, as for sim_set
    // Tensors in the place of these values, shaped as they are: (rows of all scenes, axes), (C*B*N, 3) of forces. NULL:
    // the run's or those of `values`.
    Tensor *of[SIM_VALUES];
} SimOnTape;

// Positions of the kept frames (frames*B*N, 3); *velocity (may be NULL) gets the velocities. The device fails as
// sim_set and sim_rollout do. Arrays that `roll` names must stay until the tape's backward pass. Several ops may use
// one Sim, as a loop of policy and rollout does: those before the last then run their rollout again in the backward
// pass.
Tensor *sim_on_tape(Tape *tape, const SimOnTape *roll, Tensor **velocity);

#endif
