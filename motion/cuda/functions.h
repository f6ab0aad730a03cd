// SPDX-License-Identifier: Apache-2.0
// Scene-flow kernels of the CUDA back end.
#ifndef VPD_MOTION_CUDA_FUNCTIONS_H
#define VPD_MOTION_CUDA_FUNCTIONS_H

#include "motion/backend.h"

MOTION_OPS(OP_CUDA)

#endif
