// SPDX-License-Identifier: Apache-2.0
// The scene-flow part of a back end (motion/flow_ops.h). See nn/backend.h for the rules.
#ifndef VPD_MOTION_BACKEND_H
#define VPD_MOTION_BACKEND_H

#include "nn/device.h"
#include "nn/op_list.h"

#define MOTION_OPS(OP)                                                                                                 \
    OP(flow_adopt, FlowAdoptArgs)                                                                                      \
    OP(flow_motion, FlowMotionArgs)                                                                                    \
    OP(flow_normals, FlowNormalsArgs)                                                                                  \
    OP(flow_pair_points, FlowPairPointsArgs)                                                                           \
    OP(flow_place, FlowPlaceArgs)                                                                                      \
    OP(flow_step, FlowStepArgs)                                                                                        \
    OP(flow_vote, FlowVoteArgs)

MOTION_OPS(OP_STRUCT)

typedef struct MotionBackend {
    MOTION_OPS(OP_MEMBER)
} MotionBackend;

#endif
