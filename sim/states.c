// SPDX-License-Identifier: Apache-2.0
#include "sim/states.h"

#include <math.h>

static Status check_counts(const SimRun *run, Error *err) {
    if (!run->steps || !run->every || run->steps % run->every)
        return error_set(err, STATUS_BAD_INPUT,
                         "%zu steps, a frame every %zu: expected at least one step, and a whole number of frames",
                         run->steps, run->every);
    if (sim_is_controlled(run) && !run->control_every)
        return error_set(err, STATUS_BAD_INPUT, "controls need an interval of at least one step");
    return STATUS_OK;
}

Status sim_check_run(const Sim *sim, const SimRun *run, Error *err) {
    Status status = check_counts(run, err);
    for (size_t i = 0; i < 3 * sim->topology.vertices && status == STATUS_OK; i++)
        if (!isfinite(run->position[i]) || (run->velocity && !isfinite(run->velocity[i])))
            status = error_set(err, STATUS_BAD_INPUT, "particle %zu of scene %zu: its initial state is not finite",
                               i / 3 % sim->model.particles, i / 3 / sim->model.particles);
    return status;
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

Status sim_plan_states(const Sim *sim, const SimRun *run, SimStates *out, Error *err) {
    const size_t bytes = (size_t)sim->backend->real_bytes, padded = sim_padded(&sim->topology);
    *out = (SimStates){.steps = run->steps,
                       .state_bytes = padded * SIM_RECORD * bytes,
                       .total_bytes = padded * SIM_QUAD * bytes,
                       .has_total = sim->model.rigids > 0};
    return run->gradient ? plan_segments(sim, out, err) : STATUS_OK;
}

// ---- the loss

bool sim_pack_loss(const Sim *sim, const SimLoss *loss, size_t frame, size_t first, size_t last, void *records) {
    const size_t row = 3 * sim->topology.vertices * frame;
    bool any = false;
    for (size_t i = 0; i < sim->topology.vertices; i++) {
        const size_t vertex = (size_t)sim->topology.vertex_of[i];
        if (vertex < first || vertex >= last) continue;
        for (size_t c = 0; c < 3; c++) {
            const size_t at = vertex * SIM_RECORD + c;
            const double x = loss->position ? loss->position[row + 3 * i + c] : 0,
                         u = loss->velocity ? loss->velocity[row + 3 * i + c] : 0;
            sim_put(sim, records, at, x);
            sim_put(sim, records, at + SIM_QUAD, u);
            any |= x != 0 || u != 0;
        }
    }
    return any;
}

double sim_growth(const Sim *sim, const SimRun *run, const SimLoss *loss, double largest) {
    const size_t count = sim_frames(run) * 3 * sim->topology.vertices;
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        if (loss->position) most = fmax(most, fabs(loss->position[i]));
        if (loss->velocity) most = fmax(most, fabs(loss->velocity[i]));
    }
    return most > 0 ? largest / most : 0;
}
