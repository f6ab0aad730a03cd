// SPDX-License-Identifier: Apache-2.0
// What a rollout keeps, and checks of what it is given.
#ifndef VPD_SIM_STATES_H
#define VPD_SIM_STATES_H

#include "sim/solver.h"

// STATUS_BAD_INPUT: counts that do not fit one another, an initial state that is not finite.
Status sim_check_run(const Sim *sim, const SimRun *run, Error *err);

// Sizes of the states of `run`; for a gradient the segments that memory_mib allows. The arrays are the caller's to
// make.
Status sim_plan_states(const Sim *sim, const SimRun *run, SimStates *out, Error *err);

// States at starts of segments, and of one segment; two without a gradient.
static inline size_t sim_starts(const SimStates *s) { return s->segments ? s->segments + 1 : 0; }
static inline size_t sim_trajectory(const SimStates *s) { return s->segments ? s->segment - 1 : 2; }
static inline size_t sim_totals(const SimStates *s) { return s->segments ? s->segment : s->has_total; }

// Step n of the run, without touches.
static inline SimStep sim_step_of(const Sim *sim, const SimRun *run, void *slots, size_t n) {
    const SimStates *s = &sim->states;
    return (SimStep){.state = sim_state(s, n),
                     .next = sim_state(s, n + 1),
                     .slots = slots,
                     .total = !sim_totals(s) ? NULL : s->totals + n % sim_totals(s) * s->total_bytes,
                     .into = run->control_every ? (double)(n % run->control_every + 1) * sim->model.dt : 0};
}

// dLoss/d(state) of frame f as records, for the vertices first .. last-1; false when all of it is 0.
bool sim_pack_loss(const Sim *sim, const SimLoss *loss, size_t frame, size_t first, size_t last, void *records);

// The largest |component| of the adjoint over that of the loss.
double sim_growth(const Sim *sim, const SimRun *run, const SimLoss *loss, double largest);

#endif
