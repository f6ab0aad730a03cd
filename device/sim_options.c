// SPDX-License-Identifier: Apache-2.0
#include "device/sim_options.h"

#include "gnn/backend.h"

SimOptions sim_options_of(Device *device, SimPrecision precision) {
    if (device->sim) return (SimOptions){.precision = precision, .device = device};
    return (SimOptions){.precision = precision, .threads = device->threads, .isa = device->gnn->name};
}
