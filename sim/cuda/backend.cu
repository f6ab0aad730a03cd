// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/launch.h"

#include "sim/cuda/functions.h"

extern const SimDeviceBackend sim_backend_cuda; // a constant of C++ is seen outside only so
const SimDeviceBackend sim_backend_cuda = {
    .name = "cuda",
    .f32 = {.step = sim_cuda_f32::step, .back = sim_cuda_f32::back},
    .f64 = {.step = sim_cuda_f64::step, .back = sim_cuda_f64::back},
};
