// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "sim/advance.h"
#include "sim/controls.h"
#include "sim/failure.h"
#include "sim/on_device.h"
#include "sim/pack.h"
#include "sim/states.h"

#include <string.h>

static Status allocate_states(Sim *sim, const SimRun *run, Error *err) {
    SimStates *s = &sim->states;
    const SimTopology *t = &sim->topology;
    const size_t bytes = (size_t)sim->backend->real_bytes, padded = sim_padded(t);
    Status status = sim_plan_states(sim, run, s, err);
    if (status != STATUS_OK) return status;
    arena_reset(&sim->run_memory);
    s->start = arena_array(&sim->run_memory, sim_starts(s), s->state_bytes);
    s->trajectory = arena_array(&sim->run_memory, sim_trajectory(s), s->state_bytes);
    s->totals = arena_array(&sim->run_memory, sim_totals(s), s->total_bytes);
    sim->force = run->force ? arena_array(&sim->run_memory, SIM_FORCE_FIELDS * padded, bytes) : NULL;
    sim->drive = run->drive ? arena_array(&sim->run_memory, SIM_DRIVE_FIELDS * padded, bytes) : NULL;
    bool good = s->start && s->trajectory && s->totals && (sim->force || !run->force) && (sim->drive || !run->drive);
    for (int k = 0; k < SIM_KINDS; k++) {
        const bool given = sim_element_control(run, k);
        const size_t size = sim_element_control_bytes(sim, k);
        sim->packed.control[k] = sim->control[k] = given ? arena_alloc(&sim->run_memory, size) : NULL;
        if (sim->control[k]) memset(sim->control[k], 0, size); // padding
        good = good && (sim->control[k] || !given);
    }
    if (!good)
        return error_set(err, STATUS_FAILED, "out of memory for the states of %zu steps of %zu particles", run->steps,
                         t->vertices);
    if (sim->force) memset(sim->force, 0, SIM_FORCE_FIELDS * padded * bytes);
    if (sim->drive) memset(sim->drive, 0, SIM_DRIVE_FIELDS * padded * bytes);
    sim->packed.force = sim->force;
    sim->packed.drive = sim->drive;
    return STATUS_OK;
}

// ---- the run

static void roll(SimTeam *team, int thread, void *context) {
    (void)context;
    sim_advance(team, thread, 0, team->run->steps);
}

Status sim_rollout(Sim *sim, const SimRun *run, Error *err) {
    CHECK(sim->packed.chunk); // sim_set comes first
    sim->states.steps = 0;
    sim->rollouts++;
    Status status = sim_check_run(sim, run, err);
    if (status == STATUS_OK && sim->on_device) return sim_device_rollout(sim, run, err);
    if (status == STATUS_OK) status = allocate_states(sim, run, err);
    if (status == STATUS_OK) status = sim_place_driven(sim, run, err);
    if (status != STATUS_OK) return status;
    sim_pack_records(sim, run->position, run->velocity, sim_state(&sim->states, 0));
    SimTeam team = {.sim = sim, .run = run, .frames = true, .err = err};
    const size_t row = 3 * sim->topology.vertices;
    team.position = arena_array(&sim->run_memory, run->keep ? 2 * row : 0, sizeof(double));
    if (!team.position) return error_set(err, STATUS_FAILED, "out of memory for a frame of %zu numbers", row);
    team.velocity = team.position + (run->keep ? row : 0);
    sim_team_run(&team, roll, NULL);
    if (sim->memory.used + sim->run_memory.used > sim->peak) sim->peak = sim->memory.used + sim->run_memory.used;
    if (team.status == STATUS_OK && team.bad_step)
        team.status = sim_failure(sim, sim_state(&sim->states, team.bad_step - 1),
                                  sim_state(&sim->states, team.bad_step), team.bad_step, err);
    if (team.status != STATUS_OK || !run->gradient) sim->states.steps = 0;
    else sim->states.in_trajectory = sim->states.segments - 1;
    return team.status;
}
