// SPDX-License-Identifier: Apache-2.0
// What a vertex has beside its state.
#ifndef VPD_SIM_VERTEX_H
#define VPD_SIM_VERTEX_H

#include "sim/num.h"

// As gradients: inverse_mass holds -mass dLoss/d(mass), which is dLoss/d(force) . force where nothing is rigid.
typedef struct SimVertex {
    Num inverse_mass, gravity[3]; // both 0 when fixed
} SimVertex;

#endif
