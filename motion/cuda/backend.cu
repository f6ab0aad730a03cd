// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/launch.h"

#include "motion/cuda/functions.h"

extern const MotionBackend motion_backend_cuda; // a constant of C++ is seen outside only so
const MotionBackend motion_backend_cuda = {MOTION_OPS(OP_CUDA_ENTRY)};
