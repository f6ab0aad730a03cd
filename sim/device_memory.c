// SPDX-License-Identifier: Apache-2.0
#include "nn/device_memory.h"

#include "nn/backend.h"
#include "sim/on_device.h"

void *sim_device_memory(SimOnDevice *on, Arena *memory, size_t bytes) {
    if (on->device->failed) return NULL;
    void *out = arena_alloc(memory, bytes);
    if (!out) device_no_memory(on->device, &memory->source, bytes, "a simulation");
    return out;
}

void *sim_device_copy(SimOnDevice *on, const void *host, size_t bytes) {
    void *out = sim_device_memory(on, &on->memory, bytes);
    if (out) on->device->nn->upload(on->device, out, host, bytes);
    return out;
}

void sim_device_note_peak(Sim *sim) {
    const SimOnDevice *on = sim->on_device;
    const size_t used = sim->memory.used + sim->run_memory.used + on->memory.used + on->run_memory.used;
    if (used > sim->peak) sim->peak = used;
}
