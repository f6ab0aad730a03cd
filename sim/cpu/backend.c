// SPDX-License-Identifier: Apache-2.0
#include "sim/cpu/functions.h"
#include "sim/cpu/lanes.h"

#define NAME_OF_(isa) #isa
#define NAME_OF(isa) NAME_OF_(isa)

extern const SimBackend CPU_FN(sim_backend);
const SimBackend CPU_FN(sim_backend) = {
    .isa = NAME_OF(VPD_ISA),
    .lanes = SIM_LANES,
    .real_bytes = sizeof(real),
    .forces = CPU_FN(sim_forces),
    .vertices = CPU_FN(sim_vertices),
    .vertices_back = CPU_FN(sim_vertices_back),
    .forces_back = CPU_FN(sim_forces_back),
    .body_boxes = CPU_FN(sim_body_boxes),
    .body_trees = CPU_FN(sim_body_trees),
    .touches = CPU_FN(sim_touches),
    .touch_sums = CPU_FN(sim_touch_sums),
    .surface_gaps = CPU_FN(sim_surface_gaps),
};
