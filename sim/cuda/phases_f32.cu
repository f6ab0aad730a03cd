// SPDX-License-Identifier: Apache-2.0
#define SIM_CUDA_SPACE sim_cuda_f32
#include "sim/cuda/phases.h"
