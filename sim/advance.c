// SPDX-License-Identifier: Apache-2.0
#include "sim/advance.h"

#include "base/stop.h"
#include "sim/controls.h"
#include "sim/pack.h"
#include "sim/share.h"
#include "sim/states.h"

#include <omp.h>

void sim_team_look_for_stop(SimTeam *team) {
    if (team->status == STATUS_OK && stop_requested()) team->status = stop_error(team->err);
}

// By thread 0, after step n-1.
static void hand_out_frame(SimTeam *team, size_t n) {
    const SimRun *run = team->run;
    if (!team->frames || !run->keep || n % run->every || team->status != STATUS_OK) return;
    sim_unpack_records(team->sim, sim_state(&team->sim->states, n), team->position, team->velocity);
    team->status = run->keep(run->context, n / run->every, team->position, team->velocity, team->err);
}

bool sim_team_touch(SimTeam *team, int thread, const void *state, const SimBack *back) {
    const Sim *sim = team->sim;
    const SimTouching *t = &sim->packed.touching;
    const size_t lanes = sim->topology.lanes, *blocks = sim->blocks[thread];
    int32_t nears = 0;
    if (!t->bodies) return false;
    sim->backend->body_trees(t, state, thread, team->threads);
    sim_team_wait(team);
    for (size_t b = 0; b < t->bodies; b++) nears |= t->nears[b];
    if (!nears) return false;
    sim->backend->touches(t, state, back ? back->w : NULL, thread, team->threads);
    sim_team_wait(team);
    sim->backend->touch_sums(t, back, blocks[0] * lanes, blocks[1] * lanes);
    return true;
}

void sim_advance(SimTeam *team, int thread, size_t first, size_t last) {
    Sim *sim = team->sim;
    const SimRun *run = team->run;
    const size_t *chunks = sim->chunks[thread], *blocks = sim->blocks[thread];
    if (thread == 0 && first == 0) hand_out_frame(team, 0);
    for (size_t n = first; n < last; n++) {
        SimStep step = sim_step_of(sim, run, sim->slots, n);
        if (sim_is_controlled(run) && (n == first || n % run->control_every == 0))
            sim_pack_controls(sim, run, n / run->control_every, thread);
        sim->backend->forces(&sim->packed, &step, chunks[0], chunks[1]);
        sim->backend->body_boxes(&sim->packed.touching, step.state, n == first, thread, team->threads);
        sim_team_wait(team);
        step.touch = sim_team_touch(team, thread, step.state, NULL);
        if (!sim->backend->vertices(&sim->packed, &step, blocks[0], blocks[1])) {
            __atomic_store_n(&team->bad_step, n + 1, __ATOMIC_RELAXED);
            sim_team_end(team);
        }
        if (thread == 0) sim_team_look_for_stop(team);
        if (thread == 0 && team->status != STATUS_OK) sim_team_end(team);
        sim_team_wait(team);
        if (sim_team_ended(team)) return;
        if (thread == 0) hand_out_frame(team, n + 1);
    }
}

void sim_team_run(SimTeam *team, void (*work)(SimTeam *, int, void *), void *context) {
    const int wanted = team->sim->threads;
#pragma omp parallel num_threads(wanted)
    {
#pragma omp single
        team->threads = omp_get_num_threads();
        if (team->threads == wanted) work(team, omp_get_thread_num(), context);
    }
    if (team->threads == wanted) return;
    sim_share_work(team->sim, 1); // OpenMP gave fewer threads
    team->threads = 1;
    work(team, 0, context);
    sim_share_work(team->sim, wanted);
}
