// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/launch.h"

#include "motion/cuda/backend.h"
#include "motion/cuda/functions.h"

const MotionBackend motion_backend_cuda = {
    .flow_adopt = flow_adopt_cuda,
    .flow_at = flow_at_cuda,
    .flow_motion = flow_motion_cuda,
    .flow_normals = flow_normals_cuda,
    .flow_pair_points = flow_pair_points_cuda,
    .flow_place = flow_place_cuda,
    .flow_step = flow_step_cuda,
    .flow_vote = flow_vote_cuda,
};
