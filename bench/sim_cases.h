// SPDX-License-Identifier: Apache-2.0
// Cases on which back ends of the simulator are compared: each force alone for one step, contact that slides and that
// holds, and rollouts with controls, checkpoints, several chunks, bodies that meet and several scenes; all with the
// gradient of every value.
#ifndef VPD_BENCH_SIM_CASES_H
#define VPD_BENCH_SIM_CASES_H

#include "bench/sim_scenes.h"

typedef struct SimCase {
    const char *name;
    Status (*make)(SimScene *scene, Error *err);
    size_t steps, every, control_every;
    double memory_mib; // for states; 0: all of them
    double allowed[2]; // error in f32 and f64, relative to the largest number of the same array
} SimCase;

extern const SimCase sim_cases[];
extern const size_t sim_case_count;

typedef struct SimCaseRun {
    SimScene scene;
    SimRun run;
    SimValues values, gradient; // of the scene, and controls
    double *loss, *frames;      // (frames,B,N,3) of positions, then of velocities
    double growth;
} SimCaseRun;

// *out is to be freed also after an error.
Status sim_case_run(const SimCase *c, const SimOptions *options, SimCaseRun *out, Error *err);
void sim_case_run_free(SimCaseRun *run);

// The largest error of `found`, and the array that has it. Infinite where exactly one of two numbers is finite.
double sim_case_error(const SimCaseRun *expected, const SimCaseRun *found, const char **where);

#endif
