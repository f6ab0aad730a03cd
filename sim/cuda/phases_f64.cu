// SPDX-License-Identifier: Apache-2.0
#define VPD_DOUBLE
#define SIM_CUDA_SPACE sim_cuda_f64
#include "sim/cuda/phases.h"
