// SPDX-License-Identifier: Apache-2.0
// The sentence about a state that is not finite.
#ifndef VPD_SIM_FAILURE_H
#define VPD_SIM_FAILURE_H

#include "sim/solver.h"

// Step `step` made it, from records `before` to `after`. STATUS_FAILED, with the particle and the element at it whose
// particles were fastest before.
Status sim_failure(const Sim *sim, const char *before, const char *after, size_t step, Error *err);

#endif
