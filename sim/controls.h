// SPDX-License-Identifier: Apache-2.0
// Controls of a rollout: external forces, activations, torques of hinges, thrusts of slides and velocities of fixed
// particles, each held for control_every steps.
#ifndef VPD_SIM_CONTROLS_H
#define VPD_SIM_CONTROLS_H

#include "sim/solver.h"

// What is added to a field of each element of a kind (C,B,elements), and its gradient; NULL: nothing, and not wanted.
const double *sim_element_control(const SimRun *run, int kind);
double *sim_element_control_gradient(const SimValues *gradient, int kind);
// Bytes of one interval, packed.
size_t sim_element_control_bytes(const Sim *sim, int kind);

// Makes sim->driven, from run_memory; nothing without a drive.
Status sim_place_driven(Sim *sim, const SimRun *run, Error *err);

// Packs the part of thread `thread` of control interval c.
void sim_pack_controls(const Sim *sim, const SimRun *run, size_t c, int thread);

// Moves the thread's part of the gradient of interval c to `gradient`, and zeroes it: vertices, then elements. `act`
// (B,tets) gathers what belongs to SIM_TET_ACT.
void sim_unpack_vertex_controls(const Sim *sim, const SimValues *gradient, size_t c, int thread);
void sim_unpack_element_controls(const Sim *sim, const SimValues *gradient, size_t c, double *act, int thread);

#endif
