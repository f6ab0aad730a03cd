// SPDX-License-Identifier: Apache-2.0
// The CPU's table of scene-flow kernels.
#include "motion/backend.h"

#include "motion/cpu/functions.h"

extern const MotionBackend CPU_FN(motion_backend);
const MotionBackend CPU_FN(motion_backend) = {MOTION_OPS(OP_CPU_ENTRY)};
