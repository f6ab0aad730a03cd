// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_DEVICE_SIM_OPTIONS_H
#define VPD_DEVICE_SIM_OPTIONS_H

#include "nn/device.h"
#include "sim/sim.h"

// A simulation on the device; on the CPU with its instruction set and number of threads.
SimOptions sim_options_of(Device *device, SimPrecision precision);

#endif
