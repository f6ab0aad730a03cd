// SPDX-License-Identifier: Apache-2.0
// Functions of the simulator's CPU back end (sim/backend.h), named for their instruction set and precision.
#ifndef VPD_SIM_CPU_FUNCTIONS_H
#define VPD_SIM_CPU_FUNCTIONS_H

#include "nn/cpu/cpu.h"
#include "sim/backend.h"

void CPU_FN(sim_forces)(const SimPacked *, const SimStep *, size_t first, size_t last);
bool CPU_FN(sim_vertices)(const SimPacked *, const SimStep *, size_t first, size_t last);
double CPU_FN(sim_vertices_back)(const SimPacked *, const SimBack *, size_t first, size_t last);
void CPU_FN(sim_forces_back)(const SimPacked *, const SimBack *, size_t first, size_t last);
void CPU_FN(sim_body_boxes)(const SimTouching *, const void *state, bool jump, int thread, int threads);
void CPU_FN(sim_body_trees)(const SimTouching *, const void *state, int thread, int threads);
void CPU_FN(sim_touches)(const SimTouching *, const void *state, const void *w, int thread, int threads);
void CPU_FN(sim_touch_sums)(const SimTouching *, const SimBack *, size_t first, size_t last);
void CPU_FN(sim_surface_gaps)(const SimTouching *, const void *state, double *gap);

#endif
