// SPDX-License-Identifier: Apache-2.0
// A simulation on a GPU. Model, options and packed arrays of the host are those of every simulation; copies of them,
// and all states, lie on the device. Nothing waits for the device but frames that are handed out and the end of a
// rollout.
#ifndef VPD_SIM_ON_DEVICE_H
#define VPD_SIM_ON_DEVICE_H

#include "sim/device_backend.h"
#include "sim/solver.h"

typedef struct SimOnDevice {
    Device *device;
    const SimDevicePhases *phases;
    SimBackend layout;        // lanes and bytes of the packed arrays; no functions
    Arena memory, run_memory; // of the device: kept from the first sim_set on; of a rollout
    SimDevicePacked packed;
    void *slots;
    SimDeviceBack back;                       // gradients, once sim_adjoint has run
    void *force, *drive, *control[SIM_KINDS]; // of all control intervals, or NULL
    size_t force_bytes, drive_bytes;          // of one
} SimOnDevice;

// Makes `sim` one of the device, before its topology is made. False without memory.
bool sim_device_open(Sim *sim, Device *device);
void sim_device_close(Sim *sim); // nothing on the CPU

// What sim_set, sim_rollout and sim_adjoint do (sim/sim.h) once the host has checked and packed its part.
Status sim_device_set(Sim *sim, Error *err);
Status sim_device_rollout(Sim *sim, const SimRun *run, Error *err);
Status sim_device_adjoint(Sim *sim, const SimRun *run, const SimLoss *loss, const SimValues *gradient, double *growth,
                          Error *err);

// ---- shared by these

// `bytes` of the device from one of its arenas; NULL with the device failed.
void *sim_device_memory(SimOnDevice *on, Arena *memory, size_t bytes);
// A copy on the device that stays; NULL with the device failed.
void *sim_device_copy(SimOnDevice *on, const void *host, size_t bytes);
// Bodies that meet: what never changes of them, with room for what a step finds; what sim_pack_bodies has packed.
Status sim_device_make_bodies(Sim *sim, Error *err);
void sim_device_copy_bodies(Sim *sim);
// Steps first .. last-1 of the run; state `first` is ready. STATUS_INTERRUPTED as in base/stop.h.
Status sim_device_advance(Sim *sim, const SimRun *run, size_t first, size_t last, Error *err);
// The arrays, with the controls of step n.
SimDevicePacked sim_device_packed(const Sim *sim, const SimRun *run, size_t n);
void sim_device_note_peak(Sim *sim);
// Frames that are copied at once, from or to the device.
size_t sim_device_frames(const Sim *sim, const SimRun *run);

#endif
