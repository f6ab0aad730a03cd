// SPDX-License-Identifier: Apache-2.0
// The simulator on a device with memory of its own: what its back end gets beside the arrays of sim/backend.h, which
// lie in the device's memory with SIM_DEVICE_LANES lanes. A call is a few commands to the device, and waits for
// nothing.
#ifndef VPD_SIM_DEVICE_BACKEND_H
#define VPD_SIM_DEVICE_BACKEND_H

#include "nn/device.h"
#include "sim/backend.h"

enum { SIM_DEVICE_LANES = 32 };

// Vertices of what a group of SIM_DEVICE_LANES rows of touching.touch touch, without particles, and with the edges' own
// ends; low > high: they touch nothing.
typedef struct SimTouched {
    int32_t low, high;
} SimTouched;

typedef struct SimDevicePacked {
    SimPacked packed;
    size_t elements[SIM_KINDS];                            // without padding
    size_t first_chunk[SIM_KINDS], kind_chunks[SIM_KINDS]; // chunks of a kind follow one another
    const int32_t *vertex[SIM_KINDS];                      // (blocks, corners, lanes)
    // Slot s adds the corners corner_list[corners_of[s]] .. corner_list[corners_of[s+1]-1] of its chunk, each
    // corner * SIM_CHUNK_ELEMENTS + element.
    const int32_t *corners_of;
    const uint16_t *corner_list;
    // Of bodies that meet, beside `touching`, whose `near` has all that may ever meet.
    const int32_t *point_of;      // (vertices) place in touching.point, or -1
    SimTouched *touched;          // (groups of touching.rows)
    unsigned long long *bad_step; // the first step whose state is not finite, or ULLONG_MAX
    unsigned long long *growth;   // bits of the largest |component| of the adjoint, a double
} SimDevicePacked;

typedef struct SimDeviceBack {
    SimBack back;
    void *control[SIM_KINDS]; // (blocks, lanes) reals: gradient of the present control interval; or NULL
} SimDeviceBack;

typedef struct SimDevicePhases {
    // All phases of a step, which makes state `number`; where bodies meet, also those that fill touching.sum. Once a
    // state is not finite, later steps change none.
    void (*step)(Device *, const SimDevicePacked *, const SimStep *, unsigned long long number);
    // Its adjoint, with touch_sum and touch_values where bodies meet.
    void (*back)(Device *, const SimDevicePacked *, const SimDeviceBack *);
} SimDevicePhases;

typedef struct SimDeviceBackend {
    const char *name;
    SimDevicePhases f32, f64;
} SimDeviceBackend;

#endif
