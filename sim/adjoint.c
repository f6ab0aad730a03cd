// SPDX-License-Identifier: Apache-2.0
// The adjoint of a rollout: segments from the last to the first, each run again unless its states are still there.
#include "base/check.h"
#include "sim/advance.h"
#include "sim/controls.h"
#include "sim/on_device.h"
#include "sim/pack.h"
#include "sim/states.h"

#include <math.h>
#include <string.h>

typedef struct Reverse {
    const SimLoss *loss;
    const SimValues *gradient;
    void *kept;     // records of one frame's loss
    double *growth; // (threads) largest |adjoint|
    double *act;    // (B,tets)
} Reverse;

// The thread's part of the loss of frame f, as records.
static const void *frame_loss(SimTeam *team, const Reverse *r, int thread, size_t n) {
    const Sim *sim = team->sim;
    if (n % team->run->every || (!r->loss->position && !r->loss->velocity)) return NULL;
    const size_t lanes = sim->topology.lanes, *blocks = sim->blocks[thread];
    sim_pack_loss(sim, r->loss, n / team->run->every, blocks[0] * lanes, blocks[1] * lanes, r->kept);
    return r->kept;
}

// *touch: back.touch_sum has a part of the adjoint after the step; becomes whether it has one of that before it.
static void one_step_back(SimTeam *team, const Reverse *r, int thread, size_t n, bool jump, bool *touch) {
    const Sim *sim = team->sim;
    const SimRun *run = team->run;
    const SimStates *s = &sim->states;
    SimBack back = sim->back;
    back.state = sim_state(s, n);
    back.total = s->totals + n % s->segment * s->total_bytes;
    back.loss = frame_loss(team, r, thread, n + 1);
    back.last = n + 1 == run->steps;
    back.touch = *touch;
    double most = sim->backend->vertices_back(&sim->packed, &back, sim->blocks[thread][0], sim->blocks[thread][1]);
    if (most > r->growth[thread]) r->growth[thread] = most;
    const bool interval_ends = run->control_every && n % run->control_every == 0;
    if (interval_ends) sim_unpack_vertex_controls(sim, r->gradient, n / run->control_every, thread);
    sim_team_wait(team);
    sim->backend->forces_back(&sim->packed, &back, sim->chunks[thread][0], sim->chunks[thread][1]);
    sim->backend->body_boxes(&sim->packed.touching, back.state, jump, thread, team->threads);
    if (interval_ends) sim_unpack_element_controls(sim, r->gradient, n / run->control_every, r->act, thread);
    if (thread == 0) sim_team_look_for_stop(team);
    if (thread == 0 && team->status != STATUS_OK) sim_team_end(team);
    sim_team_wait(team);
    *touch = sim_team_touch(team, thread, back.state, &back);
}

// Steps first .. last-1 backwards; their states are in the trajectory.
static void segment_back(SimTeam *team, const Reverse *r, int thread, size_t first, size_t last, bool *touch) {
    const SimRun *run = team->run;
    for (size_t n = last; n-- > first && !sim_team_ended(team);) {
        if (sim_is_controlled(run) && (n + 1 == last || (n + 1) % run->control_every == 0))
            sim_pack_controls(team->sim, run, n / run->control_every, thread);
        one_step_back(team, r, thread, n, n + 1 == last, touch);
    }
}

static void reverse(SimTeam *team, int thread, void *context) {
    const Reverse *r = context;
    Sim *sim = team->sim;
    const SimStates *s = &sim->states;
    bool touch = false;
    for (size_t c = s->segments; c-- > 0 && !sim_team_ended(team);) {
        const size_t first = c * s->segment, end = first + s->segment, last = end < s->steps ? end : s->steps;
        // The state after the segment's last step is known, and its place holds the next segment's start.
        if (c != s->in_trajectory) sim_advance(team, thread, first, last);
        if (!sim_team_ended(team)) segment_back(team, r, thread, first, last, &touch);
    }
    if (sim_team_ended(team)) return;
    SimBack back = sim->back;
    back.state = back.total = NULL;
    back.touch = touch;
    back.loss = frame_loss(team, r, thread, 0);
    double most = sim->backend->vertices_back(&sim->packed, &back, sim->blocks[thread][0], sim->blocks[thread][1]);
    if (most > r->growth[thread]) r->growth[thread] = most;
}

// ---- memory

static Status allocate_back(Sim *sim, const SimRun *run, Reverse *r, Error *err) {
    const SimTopology *t = &sim->topology;
    const size_t bytes = (size_t)sim->backend->real_bytes, padded = sim_padded(t);
    SimBack *b = &sim->back;
    if (!b->vertex) {
        Status status = sim_pack_allocate(sim, b->element, &b->vertex, &b->contact, err);
        if (status != STATUS_OK) return status;
    } else sim_pack_clear(sim, b->element, b->vertex, b->contact);
    const size_t forces = r->gradient->of[SIM_FORCE] && run->control_every ? 3 * padded : 0;
    const size_t drives = r->gradient->of[SIM_DRIVE] && run->drive ? 3 * padded : 0;
    b->slots =
        arena_array(&sim->run_memory, t->slots + 1, SIM_RECORD * bytes); // running a segment again uses the others
    b->adjoint = arena_array(&sim->run_memory, padded * SIM_RECORD, bytes);
    b->w = arena_array(&sim->run_memory, padded * SIM_QUAD, bytes);
    b->force = arena_array(&sim->run_memory, forces, bytes);
    b->drive = arena_array(&sim->run_memory, drives, bytes);
    const size_t meeting = sim->packed.touching.bodies ? padded : 0;
    b->touch_sum = arena_array(&sim->run_memory, meeting * SIM_RECORD, bytes);
    b->touch_values = arena_array(&sim->run_memory, meeting * SIM_QUAD, bytes);
    r->kept = arena_array(&sim->run_memory, padded * SIM_RECORD, bytes);
    r->growth = arena_array(&sim->run_memory, (size_t)sim->threads, sizeof *r->growth);
    r->act = arena_array(&sim->run_memory, t->elements[SIM_KIND_TET], sizeof *r->act);
    if (!b->slots || !b->adjoint || !b->w || !b->force || !b->drive || !b->touch_sum || !b->touch_values || !r->kept ||
        !r->growth || !r->act)
        return error_set(err, STATUS_FAILED, "out of memory for the gradient of %zu particles", t->vertices);
    memset(b->adjoint, 0, padded * SIM_RECORD * bytes);
    memset(b->force, 0, forces * bytes);
    memset(b->drive, 0, drives * bytes);
    memset(b->touch_values, 0, meeting * SIM_QUAD * bytes);
    memset(r->kept, 0, padded * SIM_RECORD * bytes);
    memset(r->growth, 0, (size_t)sim->threads * sizeof *r->growth);
    memset(r->act, 0, t->elements[SIM_KIND_TET] * sizeof *r->act);
    if (!forces) b->force = NULL;
    if (!drives) b->drive = NULL;
    b->rest = r->gradient->of[SIM_REST] != NULL;
    return STATUS_OK;
}

// ---- results

static void write_results(const Sim *sim, const SimRun *run, const Reverse *r, double *growth) {
    const SimValues *gradient = r->gradient;
    sim_unpack_records(sim, sim->back.adjoint, gradient->of[SIM_POSITION], gradient->of[SIM_VELOCITY]);
    sim_unpack_parameters(sim, gradient);
    if (gradient->of[SIM_ACTIVATION] && run->control_every && gradient->of[SIM_TET_ACT])
        memcpy(gradient->of[SIM_TET_ACT], r->act, sim->topology.elements[SIM_KIND_TET] * sizeof(double));
    double most = 0;
    for (int i = 0; i < sim->threads; i++) most = fmax(most, r->growth[i]);
    if (growth) *growth = sim_growth(sim, run, r->loss, most);
}

Status sim_adjoint(Sim *sim, const SimRun *run, const SimLoss *loss, const SimValues *gradient, double *growth,
                   Error *err) {
    CHECK_EQ(sim->states.steps, run->steps); // sim_rollout of this run comes first
    if (gradient->of[SIM_DRIVE] && run->control_every && !run->drive)
        return error_set(err, STATUS_BAD_INPUT, "the rollout had no drive, so there is no gradient of one");
    if (sim->on_device) return sim_device_adjoint(sim, run, loss, gradient, growth, err);
    const ArenaMark mark = arena_mark(&sim->run_memory);
    Reverse r = {.loss = loss, .gradient = gradient};
    SimTeam team = {.sim = sim, .run = run, .err = err};
    Status status = allocate_back(sim, run, &r, err);
    if (sim->memory.used + sim->run_memory.used > sim->peak) sim->peak = sim->memory.used + sim->run_memory.used;
    if (status == STATUS_OK) {
        sim_team_run(&team, reverse, &r);
        sim->states.in_trajectory = team.status == STATUS_OK ? 0 : sim->states.segments; // none
        status = team.status;
    }
    if (status == STATUS_OK) write_results(sim, run, &r, growth);
    arena_release(&sim->run_memory, mark);
    return status;
}
