// SPDX-License-Identifier: Apache-2.0
// The adjoint of a rollout on a GPU: segments from the last to the first, each run again unless its states are there.
#include "base/stop.h"
#include "nn/backend.h"
#include "sim/controls.h"
#include "sim/on_device.h"
#include "sim/pack.h"
#include "sim/states.h"

#include <string.h>

typedef struct Reverse {
    const SimLoss *loss;
    const SimValues *gradient;
    size_t room, first, count; // the frames whose loss is on the device
    char *losses, *host;       // (room) records there, and where they are packed
    bool *any;                 // (room) the loss of a frame is not 0
    char *force, *drive,
        *control[SIM_KINDS]; // gradients of all control intervals, the first two of as many bytes, or NULL
} Reverse;

// ---- memory

static void zero(SimOnDevice *on, void *memory, size_t bytes) {
    if (!on->device->failed) on->device->nn->zero(on->device, memory, bytes);
}

static void *zeroed(SimOnDevice *on, size_t bytes) {
    void *out = sim_device_memory(on, &on->run_memory, bytes);
    zero(on, out, bytes);
    return out;
}

// Gradients of parameters: on the device, and where they are brought on the host.
static Status make_parameters(Sim *sim, Error *err) {
    SimOnDevice *on = sim->on_device;
    SimBack *b = &on->back.back;
    if (!sim->back.vertex) {
        Status status = sim_pack_allocate(sim, sim->back.element, &sim->back.vertex, &sim->back.contact, err);
        if (status != STATUS_OK) return status;
    }
    if (!b->contact) {
        for (int k = 0; k < SIM_TABLES; k++)
            b->element[k] = sim_device_memory(on, &on->memory, sim_element_bytes(sim, k));
        b->vertex = sim_device_memory(on, &on->memory, sim_vertex_bytes(sim));
        b->contact = sim_device_memory(on, &on->memory, sim_contact_bytes(sim));
    }
    for (int k = 0; k < SIM_TABLES; k++) zero(on, b->element[k], sim_element_bytes(sim, k));
    zero(on, b->vertex, sim_vertex_bytes(sim));
    zero(on, b->contact, sim_contact_bytes(sim));
    return STATUS_OK;
}

static Status make_reverse(Sim *sim, const SimRun *run, Reverse *r, Error *err) {
    static const unsigned long long none = 0;
    SimOnDevice *on = sim->on_device;
    const SimStates *s = &sim->states;
    SimBack *b = &on->back.back;
    const size_t intervals = sim_controls(run);
    Status status = make_parameters(sim, err);
    if (status != STATUS_OK) return status;
    r->room = sim_device_frames(sim, run);
    r->losses = sim_device_memory(on, &on->run_memory, r->room * s->state_bytes);
    b->slots =
        sim_device_memory(on, &on->run_memory, (sim->topology.slots + 1) * SIM_RECORD * (size_t)on->layout.real_bytes);
    b->adjoint = zeroed(on, s->state_bytes);
    b->w = sim_device_memory(on, &on->run_memory, s->total_bytes);
    if (sim->packed.touching.bodies) {
        b->touch_sum = sim_device_memory(on, &on->run_memory, s->state_bytes);
        b->touch_values = zeroed(on, s->total_bytes);
    }
    r->force = r->gradient->of[SIM_FORCE] && intervals ? zeroed(on, intervals * on->force_bytes) : NULL;
    r->drive = r->gradient->of[SIM_DRIVE] && run->drive ? zeroed(on, intervals * on->force_bytes) : NULL;
    for (int k = 0; k < SIM_KINDS; k++) {
        const size_t size = sim_element_control_bytes(sim, k);
        r->control[k] = sim_element_control_gradient(r->gradient, k) && intervals ? zeroed(on, intervals * size) : NULL;
    }
    r->host = arena_array(&sim->run_memory, r->room, s->state_bytes);
    r->any = arena_array(&sim->run_memory, r->room, sizeof *r->any);
    sim->back.touch_values = arena_alloc(&sim->run_memory, sim->packed.touching.bodies ? s->total_bytes : 0);
    if (!r->host || !r->any || !sim->back.touch_values)
        return error_set(err, STATUS_FAILED, "out of memory for the gradient of %zu particles", sim->topology.vertices);
    memset(r->host, 0, r->room * s->state_bytes); // padding
    if (!on->device->failed) on->device->nn->upload(on->device, on->packed.growth, &none, sizeof none);
    b->rest = r->gradient->of[SIM_REST] != NULL;
    return STATUS_OK;
}

// ---- steps

// The loss of the state after step n-1 on the device, or NULL. Frames are asked for from the last to the first.
static const void *frame_loss(Sim *sim, const SimRun *run, Reverse *r, size_t n) {
    Device *device = sim->on_device->device;
    const size_t bytes = sim->states.state_bytes, vertices = sim_padded(&sim->topology), frame = n / run->every;
    if (n % run->every) return NULL;
    if (!r->count || frame < r->first) {
        r->first = frame + 1 > r->room ? frame + 1 - r->room : 0;
        r->count = frame + 1 - r->first;
        for (size_t k = 0; k < r->count; k++)
            r->any[k] = sim_pack_loss(sim, r->loss, r->first + k, 0, vertices, r->host + k * bytes);
        if (!device->failed) device->nn->upload(device, r->losses, r->host, r->count * bytes);
    }
    return r->any[frame - r->first] ? r->losses + (frame - r->first) * bytes : NULL;
}

static SimDeviceBack back_of(Sim *sim, const SimRun *run, Reverse *r, size_t n) {
    const SimOnDevice *on = sim->on_device;
    const SimStates *s = &sim->states;
    const size_t c = run->control_every ? n / run->control_every : 0;
    SimDeviceBack b = on->back;
    b.back.state = sim_state(s, n);
    b.back.total = s->totals + n % s->segment * s->total_bytes;
    b.back.loss = frame_loss(sim, run, r, n + 1);
    b.back.last = n + 1 == run->steps;
    b.back.touch = sim->packed.touching.bodies && !b.back.last;
    b.back.force = r->force ? r->force + c * on->force_bytes : NULL;
    b.back.drive = r->drive ? r->drive + c * on->force_bytes : NULL;
    for (int k = 0; k < SIM_KINDS; k++)
        b.control[k] = r->control[k] ? r->control[k] + c * sim_element_control_bytes(sim, k) : NULL;
    return b;
}

static Status segment_back(Sim *sim, const SimRun *run, Reverse *r, size_t first, size_t last, Error *err) {
    SimOnDevice *on = sim->on_device;
    for (size_t n = last; n-- > first && !on->device->failed;) {
        const SimDevicePacked packed = sim_device_packed(sim, run, n);
        const SimDeviceBack back = back_of(sim, run, r, n);
        on->phases->back(on->device, &packed, &back);
        if (stop_requested()) return stop_error(err);
    }
    return STATUS_OK;
}

static Status reverse(Sim *sim, const SimRun *run, Reverse *r, Error *err) {
    SimOnDevice *on = sim->on_device;
    const SimStates *s = &sim->states;
    Status status = STATUS_OK;
    for (size_t c = s->segments; c-- > 0 && status == STATUS_OK;) {
        const size_t first = c * s->segment, end = first + s->segment, last = end < s->steps ? end : s->steps;
        if (c != s->in_trajectory) status = sim_device_advance(sim, run, first, last, err);
        if (status == STATUS_OK) status = segment_back(sim, run, r, first, last, err);
    }
    if (status != STATUS_OK) return status;
    SimDeviceBack b = on->back;
    b.back.state = b.back.total = NULL;
    b.back.loss = frame_loss(sim, run, r, 0);
    b.back.last = false;
    b.back.touch = sim->packed.touching.bodies > 0;
    if (!on->device->failed) on->phases->back(on->device, &on->packed, &b);
    return STATUS_OK;
}

// ---- results

static void fetch(SimOnDevice *on, void *host, const void *from, size_t bytes) {
    if (!on->device->failed) on->device->nn->download(on->device, host, from, bytes);
}

static void fetch_parameters(Sim *sim, const SimValues *gradient) {
    SimOnDevice *on = sim->on_device;
    const SimBack *from = &on->back.back;
    for (int k = 0; k < SIM_TABLES; k++) fetch(on, sim->back.element[k], from->element[k], sim_element_bytes(sim, k));
    fetch(on, sim->back.vertex, from->vertex, sim_vertex_bytes(sim));
    fetch(on, sim->back.contact, from->contact, sim_contact_bytes(sim));
    if (sim->packed.touching.bodies) fetch(on, sim->back.touch_values, from->touch_values, sim->states.total_bytes);
    sim_unpack_parameters(sim, gradient);
}

// sim->force, drive and control are where controls of an interval are packed on the host.
static void fetch_element_control(Sim *sim, const Reverse *r, size_t c, int kind) {
    const size_t count = sim->topology.elements[kind], size = sim_element_control_bytes(sim, kind);
    if (!r->control[kind]) return;
    double *out = sim_element_control_gradient(r->gradient, kind) + c * count;
    fetch(sim->on_device, sim->control[kind], r->control[kind] + c * size, size);
    for (size_t i = 0; i < count; i++) out[sim->topology.element_of[kind][i]] = sim_get(sim, sim->control[kind], i);
}

static void fetch_controls(Sim *sim, const SimRun *run, const Reverse *r) {
    SimOnDevice *on = sim->on_device;
    sim->back.force = r->force ? sim->force : NULL;
    sim->back.drive = r->drive ? sim->drive : NULL;
    for (size_t c = 0; c < sim_controls(run); c++) {
        if (r->force) fetch(on, sim->force, r->force + c * on->force_bytes, on->force_bytes);
        if (r->drive) fetch(on, sim->drive, r->drive + c * on->force_bytes, on->force_bytes);
        sim_unpack_vertex_controls(sim, r->gradient, c, 0);
        for (int k = 0; k < SIM_KINDS; k++) fetch_element_control(sim, r, c, k);
    }
}

static void fetch_results(Sim *sim, const SimRun *run, Reverse *r, double *growth) {
    SimOnDevice *on = sim->on_device;
    double most = 0; // its bits are what kernels compare
    fetch(on, r->host, on->back.back.adjoint, sim->states.state_bytes);
    fetch(on, &most, on->packed.growth, sizeof most);
    sim_unpack_records(sim, r->host, r->gradient->of[SIM_POSITION], r->gradient->of[SIM_VELOCITY]);
    fetch_parameters(sim, r->gradient);
    fetch_controls(sim, run, r);
    if (growth) *growth = sim_growth(sim, run, r->loss, most);
}

Status sim_device_adjoint(Sim *sim, const SimRun *run, const SimLoss *loss, const SimValues *gradient, double *growth,
                          Error *err) {
    SimOnDevice *on = sim->on_device;
    const ArenaMark mark = arena_mark(&sim->run_memory), device_mark = arena_mark(&on->run_memory);
    Reverse r = {.loss = loss, .gradient = gradient};
    Status status = make_reverse(sim, run, &r, err);
    sim_device_note_peak(sim);
    if (status == STATUS_OK) status = reverse(sim, run, &r, err);
    sim->states.in_trajectory = status == STATUS_OK && !on->device->failed ? 0 : sim->states.segments; // none
    if (status == STATUS_OK) fetch_results(sim, run, &r, growth);
    Status of_device = device_status(on->device, status == STATUS_OK ? err : NULL);
    arena_release(&on->run_memory, device_mark);
    arena_release(&sim->run_memory, mark);
    return status == STATUS_OK ? of_device : status;
}
