// SPDX-License-Identifier: Apache-2.0
// Controls of a rollout: external forces, activations and velocities of fixed particles, each held for control_every
// steps.
#ifndef VPD_SIM_CONTROLS_H
#define VPD_SIM_CONTROLS_H

#include "sim/solver.h"

// Makes sim->driven, from run_memory; nothing without a drive.
Status sim_place_driven(Sim *sim, const SimRun *run, Error *err);

// Packs the part of thread `thread` of control interval c.
void sim_pack_controls(const Sim *sim, const SimRun *run, size_t c, int thread);

// Moves the thread's part of the gradient of interval c to `gradient`, and zeroes it: vertices, then elements. `act`
// (B,tets) gathers what belongs to SIM_TET_ACT.
void sim_unpack_vertex_controls(const Sim *sim, const SimValues *gradient, size_t c, int thread);
void sim_unpack_activations(const Sim *sim, const SimValues *gradient, size_t c, double *act, int thread);

#endif
