// SPDX-License-Identifier: Apache-2.0
// The scene-flow part of a back end (motion/flow_ops.h). See nn/backend.h for the rules.
#ifndef VPD_MOTION_BACKEND_H
#define VPD_MOTION_BACKEND_H

#include "nn/device.h"

struct FlowAdoptArgs;
struct FlowAtArgs;
struct FlowMotionArgs;
struct FlowNormalsArgs;
struct FlowPairPointsArgs;
struct FlowPlaceArgs;
struct FlowStepArgs;
struct FlowVoteArgs;

typedef struct MotionBackend {
    void (*flow_adopt)(Device *, const struct FlowAdoptArgs *);
    void (*flow_at)(Device *, const struct FlowAtArgs *);
    void (*flow_motion)(Device *, const struct FlowMotionArgs *);
    void (*flow_normals)(Device *, const struct FlowNormalsArgs *);
    void (*flow_pair_points)(Device *, const struct FlowPairPointsArgs *);
    void (*flow_place)(Device *, const struct FlowPlaceArgs *);
    void (*flow_step)(Device *, const struct FlowStepArgs *);
    void (*flow_vote)(Device *, const struct FlowVoteArgs *);
} MotionBackend;

#endif
