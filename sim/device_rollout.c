// SPDX-License-Identifier: Apache-2.0
// A rollout on a GPU: commands for all steps, with frames that are copied many at a time.
#include "base/stop.h"
#include "nn/backend.h"
#include "sim/controls.h"
#include "sim/failure.h"
#include "sim/on_device.h"
#include "sim/pack.h"
#include "sim/states.h"

#include <limits.h>
#include <string.h>

enum { FRAME_BYTES = 16 << 20 }; // that are copied at once

size_t sim_device_frames(const Sim *sim, const SimRun *run) {
    const size_t fit = FRAME_BYTES / (sim->states.state_bytes + 1) + 1, frames = sim_frames(run);
    return fit < frames ? fit : frames;
}

// ---- memory

static void allocate_states(Sim *sim) {
    SimOnDevice *on = sim->on_device;
    SimStates *s = &sim->states;
    Arena *memory = &on->run_memory;
    arena_reset(memory);
    s->start = sim_device_memory(on, memory, sim_starts(s) * s->state_bytes);
    s->trajectory = sim_device_memory(on, memory, sim_trajectory(s) * s->state_bytes);
    s->totals = sim_device_memory(on, memory, sim_totals(s) * s->total_bytes);
}

// Interval c of controls from where the host has packed it; `to` NULL: there are none.
static void upload_interval(SimOnDevice *on, void *to, size_t c, const void *from, size_t bytes) {
    if (to && !on->device->failed) on->device->nn->upload(on->device, (char *)to + c * bytes, from, bytes);
}

// Controls of all intervals, packed one after the other on the host.
static Status copy_controls(Sim *sim, const SimRun *run, Error *err) {
    SimOnDevice *on = sim->on_device;
    const SimTopology *t = &sim->topology;
    Device *device = on->device;
    const size_t bytes = (size_t)on->layout.real_bytes, intervals = sim_controls(run);
    on->force_bytes = SIM_FORCE_FIELDS * sim_padded(t) * bytes;
    on->drive_bytes = SIM_DRIVE_FIELDS * sim_padded(t) * bytes;
    on->force = run->force ? sim_device_memory(on, &on->run_memory, intervals * on->force_bytes) : NULL;
    on->drive = run->drive ? sim_device_memory(on, &on->run_memory, intervals * on->drive_bytes) : NULL;
    sim->force = arena_alloc(&sim->run_memory, on->force_bytes);
    sim->drive = arena_alloc(&sim->run_memory, on->drive_bytes);
    bool good = sim->force && sim->drive;
    for (int k = 0; k < SIM_KINDS; k++) {
        const size_t size = sim_element_control_bytes(sim, k);
        const bool given = sim_element_control(run, k);
        on->control[k] = given ? sim_device_memory(on, &on->run_memory, intervals * size) : NULL;
        sim->control[k] = arena_alloc(&sim->run_memory, size);
        good = good && sim->control[k];
        if (good) memset(sim->control[k], 0, size); // padding
    }
    if (!good) return error_set(err, STATUS_FAILED, "out of memory for the controls of %zu particles", t->vertices);
    memset(sim->force, 0, on->force_bytes);
    memset(sim->drive, 0, on->drive_bytes);
    for (size_t c = 0; c < intervals && sim_is_controlled(run) && !device->failed; c++) {
        sim_pack_controls(sim, run, c, 0);
        upload_interval(on, on->force, c, sim->force, on->force_bytes);
        upload_interval(on, on->drive, c, sim->drive, on->drive_bytes);
        for (int k = 0; k < SIM_KINDS; k++)
            upload_interval(on, on->control[k], c, sim->control[k], sim_element_control_bytes(sim, k));
    }
    return STATUS_OK;
}

static Status begin(Sim *sim, const SimRun *run, Error *err) {
    static const unsigned long long none = ULLONG_MAX;
    SimOnDevice *on = sim->on_device;
    Device *device = on->device;
    Status status = sim_plan_states(sim, run, &sim->states, err);
    if (status != STATUS_OK) return status;
    arena_reset(&sim->run_memory);
    allocate_states(sim);
    void *first = arena_alloc(&sim->run_memory, sim->states.state_bytes);
    if (!first)
        return error_set(err, STATUS_FAILED, "out of memory for a state of %zu particles", sim->topology.vertices);
    sim_pack_records(sim, run->position, run->velocity, first);
    if (!device->failed) device->nn->upload(device, sim_state(&sim->states, 0), first, sim->states.state_bytes);
    if (!device->failed) device->nn->upload(device, on->packed.bad_step, &none, sizeof none);
    status = sim_place_driven(sim, run, err);
    return status == STATUS_OK ? copy_controls(sim, run, err) : status;
}

// ---- steps

SimDevicePacked sim_device_packed(const Sim *sim, const SimRun *run, size_t n) {
    const SimOnDevice *on = sim->on_device;
    const size_t c = run->control_every ? n / run->control_every : 0;
    SimDevicePacked out = on->packed;
    out.packed.force = on->force ? (char *)on->force + c * on->force_bytes : NULL;
    out.packed.drive = on->drive ? (char *)on->drive + c * on->drive_bytes : NULL;
    for (int k = 0; k < SIM_KINDS; k++)
        out.packed.control[k] = on->control[k] ? (char *)on->control[k] + c * sim_element_control_bytes(sim, k) : NULL;
    return out;
}

Status sim_device_advance(Sim *sim, const SimRun *run, size_t first, size_t last, Error *err) {
    SimOnDevice *on = sim->on_device;
    for (size_t n = first; n < last && !on->device->failed; n++) {
        const SimDevicePacked packed = sim_device_packed(sim, run, n);
        SimStep step = sim_step_of(sim, run, on->slots, n);
        step.touch = packed.packed.touching.bodies > 0;
        on->phases->step(on->device, &packed, &step, n + 1);
        if (stop_requested()) return stop_error(err);
    }
    return STATUS_OK;
}

// ---- frames

typedef struct Frames {
    size_t room, first, count;   // that wait on the device
    char *waiting, *host;        // (room) records
    double *position, *velocity; // of one
} Frames;

static Status make_frames(Sim *sim, const SimRun *run, Frames *f, Error *err) {
    SimOnDevice *on = sim->on_device;
    const size_t row = 3 * sim->topology.vertices;
    *f = (Frames){.room = sim_device_frames(sim, run)};
    f->waiting = sim_device_memory(on, &on->run_memory, f->room * sim->states.state_bytes);
    f->host = arena_array(&sim->run_memory, f->room, sim->states.state_bytes);
    f->position = arena_array(&sim->run_memory, 2 * row, sizeof *f->position);
    if (!f->host || !f->position) return error_set(err, STATUS_FAILED, "out of memory for frames of %zu numbers", row);
    f->velocity = f->position + row;
    return STATUS_OK;
}

// Number of the step that made a state which is not finite; 0: none so far. Waits.
static size_t bad_step(const SimOnDevice *on) {
    unsigned long long step = ULLONG_MAX;
    if (!on->device->failed) on->device->nn->download(on->device, &step, on->packed.bad_step, sizeof step);
    return step == ULLONG_MAX ? 0 : (size_t)step;
}

// Hands out the frames that wait, those before a state that is not finite.
static Status hand_out(Sim *sim, const SimRun *run, Frames *f, Error *err) {
    SimOnDevice *on = sim->on_device;
    const size_t bad = bad_step(on), bytes = sim->states.state_bytes;
    Status status = STATUS_OK;
    if (!on->device->failed) on->device->nn->download(on->device, f->host, f->waiting, f->count * bytes);
    for (size_t k = 0; k < f->count && status == STATUS_OK && !on->device->failed; k++) {
        const size_t frame = f->first + k;
        if (bad && frame * run->every >= bad) break;
        sim_unpack_records(sim, f->host + k * bytes, f->position, f->velocity);
        status = run->keep(run->context, frame, f->position, f->velocity, err);
    }
    f->first += f->count;
    f->count = 0;
    return status;
}

// Steps up to that of the next frame, which then waits.
static Status next_frame(Sim *sim, const SimRun *run, Frames *f, size_t frame, Error *err) {
    SimOnDevice *on = sim->on_device;
    const size_t n = frame * run->every, bytes = sim->states.state_bytes;
    Status status = frame ? sim_device_advance(sim, run, n - run->every, n, err) : STATUS_OK;
    if (status != STATUS_OK || !run->keep || on->device->failed) return status;
    on->device->nn->copy(on->device, f->waiting + f->count++ * bytes, sim_state(&sim->states, n), bytes);
    return f->count == f->room || n == run->steps ? hand_out(sim, run, f, err) : STATUS_OK;
}

// The sentence about the step that made a state which is not finite.
static Status tell_failure(Sim *sim, size_t step, Error *err) {
    const SimStates *s = &sim->states;
    Device *device = sim->on_device->device;
    char *both = arena_array(&sim->run_memory, 2, s->state_bytes);
    Status status = both ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for two states");
    if (both) {
        device->nn->download(device, both, sim_state(s, step - 1), s->state_bytes);
        device->nn->download(device, both + s->state_bytes, sim_state(s, step), s->state_bytes);
        status = device_status(device, err);
    }
    if (status == STATUS_OK) status = sim_failure(sim, both, both + s->state_bytes, step, err);
    return status;
}

Status sim_device_rollout(Sim *sim, const SimRun *run, Error *err) {
    SimOnDevice *on = sim->on_device;
    Frames frames = {0};
    Status status = begin(sim, run, err);
    if (status == STATUS_OK && run->keep) status = make_frames(sim, run, &frames, err);
    for (size_t f = 0; f < sim_frames(run) && status == STATUS_OK && !on->device->failed; f++)
        status = next_frame(sim, run, &frames, f, err);
    sim_device_note_peak(sim);
    const size_t bad = status == STATUS_OK ? bad_step(on) : 0;
    Status of_device = device_status(on->device, status == STATUS_OK ? err : NULL);
    if (status == STATUS_OK) status = of_device;
    if (status == STATUS_OK && bad) status = tell_failure(sim, bad, err);
    if (status != STATUS_OK || !run->gradient) sim->states.steps = 0;
    else sim->states.in_trajectory = sim->states.segments - 1;
    return status;
}
