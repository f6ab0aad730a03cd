// SPDX-License-Identifier: Apache-2.0
// The CPU's table of scene-flow kernels.
#include "motion/backend.h"

#include "motion/cpu/functions.h"

extern const MotionBackend CPU_FN(motion_backend);
const MotionBackend CPU_FN(motion_backend) = {
    .flow_adopt = CPU_FN(flow_adopt),
    .flow_at = CPU_FN(flow_at),
    .flow_motion = CPU_FN(flow_motion),
    .flow_normals = CPU_FN(flow_normals),
    .flow_pair_points = CPU_FN(flow_pair_points),
    .flow_place = CPU_FN(flow_place),
    .flow_step = CPU_FN(flow_step),
    .flow_vote = CPU_FN(flow_vote),
};
