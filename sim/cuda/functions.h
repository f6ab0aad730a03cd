// SPDX-License-Identifier: Apache-2.0
// Functions of the simulator's CUDA back end, in both precisions.
#ifndef VPD_SIM_CUDA_FUNCTIONS_H
#define VPD_SIM_CUDA_FUNCTIONS_H

#include "sim/device_backend.h"

namespace sim_cuda_f32 {
void step(Device *, const SimDevicePacked *, const SimStep *, unsigned long long number);
void back(Device *, const SimDevicePacked *, const SimDeviceBack *);
} // namespace sim_cuda_f32

namespace sim_cuda_f64 {
void step(Device *, const SimDevicePacked *, const SimStep *, unsigned long long number);
void back(Device *, const SimDevicePacked *, const SimDeviceBack *);
} // namespace sim_cuda_f64

#endif
