// SPDX-License-Identifier: Apache-2.0
// The steps of a rollout as one thread of a team runs them.
#ifndef VPD_SIM_ADVANCE_H
#define VPD_SIM_ADVANCE_H

#include "base/spin_barrier.h"
#include "sim/solver.h"

typedef struct SimTeam {
    Sim *sim;
    const SimRun *run;
    SpinBarrier barrier;
    bool frames;                 // hand frames to run->keep
    int threads;                 // that came
    int ended;                   // set between the first and the second barrier of a step, read after the second
    size_t bad_step;             // when a state is not finite: the step that made it
    double *position, *velocity; // of a frame
    Status status;
    Error *err;
} SimTeam;

static inline void sim_team_wait(SimTeam *team) { spin_barrier_wait(&team->barrier, team->threads); }
static inline bool sim_team_ended(const SimTeam *team) { return __atomic_load_n(&team->ended, __ATOMIC_RELAXED); }
static inline void sim_team_end(SimTeam *team) { __atomic_store_n(&team->ended, 1, __ATOMIC_RELAXED); }

// Steps first .. last-1 of the run; state `first` is ready. All threads of the team call it.
void sim_advance(SimTeam *team, int thread, size_t first, size_t last);

// Bodies that meet in this state: true when touching.sum has their forces at the thread's vertices; or, where `back` is
// given and its w is ready, back->touch_sum their adjoints. All threads of the team call it after the boxes of their
// bodies, and get the same.
bool sim_team_touch(SimTeam *team, int thread, const void *state, const SimBack *back);

// STATUS_INTERRUPTED into the team's status when somebody asked to stop. For thread 0.
void sim_team_look_for_stop(SimTeam *team);

// Runs `work` in a parallel region with the simulation's number of threads; each thread of the simulation once.
void sim_team_run(SimTeam *team, void (*work)(SimTeam *team, int thread, void *context), void *context);

#endif
