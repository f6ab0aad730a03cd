// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/launch.h"

#include "motion/cuda/backend.h"
#include "motion/cuda/functions.h"

const MotionBackend motion_backend_cuda = {MOTION_OPS(OP_CUDA_ENTRY)};
