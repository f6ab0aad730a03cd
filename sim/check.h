// SPDX-License-Identifier: Apache-2.0
// What sim_open and sim_set refuse.
#ifndef VPD_SIM_CHECK_H
#define VPD_SIM_CHECK_H

#include "sim/sim.h"

Status sim_check_model(const SimModel *model, Error *err);
// All values but the shapes of tetrahedra.
Status sim_check_values(const SimModel *model, const SimValues *values, Error *err);

#endif
