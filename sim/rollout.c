// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "sim/advance.h"
#include "sim/failure.h"
#include "sim/pack.h"

#include <math.h>
#include <string.h>

static Status check_run(const SimRun *run, Error *err) {
    if (!run->steps || !run->every || run->steps % run->every)
        return error_set(err, STATUS_BAD_INPUT,
                         "%zu steps, a frame every %zu: expected at least one step, and a whole number of frames",
                         run->steps, run->every);
    if ((run->force || run->activation) && !run->control_every)
        return error_set(err, STATUS_BAD_INPUT, "controls need an interval of at least one step");
    return STATUS_OK;
}

// ---- memory

// Bytes of states with segments of `segment` steps.
static double bytes_of(const SimStates *s, double segment) {
    double starts = ceil((double)s->steps / segment) + 1;
    return (starts + segment - 1) * (double)s->state_bytes + segment * (double)s->total_bytes;
}

// Segments of the whole rollout where that fits into the budget, else of the length that needs least memory.
static Status plan_segments(const Sim *sim, SimStates *s, Error *err) {
    const double budget = (sim->options.memory_mib > 0 ? sim->options.memory_mib : 256) * 1048576,
                 steps = (double)s->steps;
    double segment = steps;
    if (bytes_of(s, segment) > budget) {
        segment = ceil(sqrt(steps * (double)s->state_bytes / (double)(s->state_bytes + s->total_bytes)));
        if (bytes_of(s, segment) > budget)
            return error_set(err, STATUS_BAD_INPUT,
                             "the gradient of %zu steps needs %.1f MiB for states, and memory_mib is %g; raise it",
                             s->steps, bytes_of(s, segment) / 1048576, budget / 1048576);
    }
    s->segment = (size_t)segment;
    s->segments = (s->steps + s->segment - 1) / s->segment;
    return STATUS_OK;
}

static Status allocate_states(Sim *sim, const SimRun *run, Error *err) {
    SimStates *s = &sim->states;
    const SimTopology *t = &sim->topology;
    const size_t bytes = (size_t)sim->backend->real_bytes, padded = t->vertex_blocks * t->lanes;
    *s = (SimStates){
        .steps = run->steps, .state_bytes = padded * SIM_RECORD * bytes, .total_bytes = padded * SIM_QUAD * bytes};
    Status status = run->gradient ? plan_segments(sim, s, err) : STATUS_OK;
    if (status != STATUS_OK) return status;
    arena_reset(&sim->run_memory);
    s->start = arena_array(&sim->run_memory, s->segments ? s->segments + 1 : 0, s->state_bytes);
    s->trajectory = arena_array(&sim->run_memory, s->segments ? s->segment - 1 : 2, s->state_bytes);
    s->totals = arena_array(&sim->run_memory, s->segments ? s->segment : 0, s->total_bytes);
    sim->force = run->force ? arena_array(&sim->run_memory, 3 * padded, bytes) : NULL;
    sim->activation = run->activation ? arena_array(&sim->run_memory, t->blocks[SIM_KIND_TET] * t->lanes, bytes) : NULL;
    if (!s->start || !s->trajectory || !s->totals || (run->force && !sim->force) ||
        (run->activation && !sim->activation))
        return error_set(err, STATUS_FAILED, "out of memory for the states of %zu steps of %zu particles", run->steps,
                         t->vertices);
    if (sim->force) memset(sim->force, 0, 3 * padded * bytes); // padding
    if (sim->activation) memset(sim->activation, 0, t->blocks[SIM_KIND_TET] * t->lanes * bytes);
    sim->packed.force = sim->force;
    sim->packed.activation = sim->activation;
    return STATUS_OK;
}

// ---- the run

static void roll(SimTeam *team, int thread, void *context) {
    (void)context;
    sim_advance(team, thread, 0, team->run->steps);
}

static Status first_state(const Sim *sim, const SimRun *run, Error *err) {
    for (size_t i = 0; i < 3 * sim->topology.vertices; i++)
        if (!isfinite(run->position[i]) || (run->velocity && !isfinite(run->velocity[i])))
            return error_set(err, STATUS_BAD_INPUT, "particle %zu of scene %zu: its initial state is not finite",
                             i / 3 % sim->model.particles, i / 3 / sim->model.particles);
    sim_pack_records(sim, run->position, run->velocity, sim_state(&sim->states, 0));
    return STATUS_OK;
}

Status sim_rollout(Sim *sim, const SimRun *run, Error *err) {
    CHECK(sim->packed.chunk); // sim_set comes first
    sim->states.steps = 0;
    Status status = check_run(run, err);
    if (status == STATUS_OK) status = allocate_states(sim, run, err);
    if (status == STATUS_OK) status = first_state(sim, run, err);
    if (status != STATUS_OK) return status;
    SimTeam team = {.sim = sim, .run = run, .frames = true, .err = err};
    const size_t row = 3 * sim->topology.vertices;
    team.position = arena_array(&sim->run_memory, run->keep ? 2 * row : 0, sizeof(double));
    if (!team.position) return error_set(err, STATUS_FAILED, "out of memory for a frame of %zu numbers", row);
    team.velocity = team.position + (run->keep ? row : 0);
    sim_team_run(&team, roll, NULL);
    if (sim->memory.used + sim->run_memory.used > sim->peak) sim->peak = sim->memory.used + sim->run_memory.used;
    if (team.status == STATUS_OK && team.bad_step) team.status = sim_failure(sim, team.bad_step, err);
    if (team.status != STATUS_OK || !run->gradient) sim->states.steps = 0;
    else sim->states.in_trajectory = sim->states.segments - 1;
    return team.status;
}
