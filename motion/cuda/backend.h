// SPDX-License-Identifier: Apache-2.0
// The CUDA back end's table of scene-flow kernels.
#ifndef VPD_MOTION_CUDA_BACKEND_H
#define VPD_MOTION_CUDA_BACKEND_H

#include "motion/backend.h"

extern const MotionBackend motion_backend_cuda;

#endif
