// SPDX-License-Identifier: Apache-2.0
// What never changes of bodies that meet: their particles and faces in the order of memory (SimTouching), and room for
// what a step finds.
#ifndef VPD_SIM_BODIES_H
#define VPD_SIM_BODIES_H

#include "sim/solver.h"

// Fills sim->packed.touching from the model, whose topology is made. Nothing without faces.
Status sim_make_bodies(Sim *sim, Error *err);

// Contact materials and the rest pose into it.
void sim_pack_bodies(const Sim *sim, const SimValues *values);

// Trees without faces.
void sim_empty_groups(const Sim *sim, size_t groups, void *group);

#endif
