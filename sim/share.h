// SPDX-License-Identifier: Apache-2.0
// Which chunks and vertex blocks each thread takes.
#ifndef VPD_SIM_SHARE_H
#define VPD_SIM_SHARE_H

#include "sim/solver.h"

// Divides the work among `threads` threads, at most sim->threads: contiguous shares of about the same cost.
void sim_share_work(Sim *sim, int threads);

#endif
