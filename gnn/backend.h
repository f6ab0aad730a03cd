// SPDX-License-Identifier: Apache-2.0
// The gnn part of a back end; see nn/backend.h for the rules.
#ifndef VPD_GNN_BACKEND_H
#define VPD_GNN_BACKEND_H

#include "nn/device.h"

struct AdvanceArgs;
struct EdgeGeometryArgs;
struct FlowAdoptArgs;
struct FlowAtArgs;
struct FlowMotionArgs;
struct FlowNormalsArgs;
struct FlowPlaceArgs;
struct FlowStepArgs;
struct FlowVoteArgs;
struct MessageArgs;
struct NodeBlendArgs;
struct PlanAddArgs;
struct PlanBodiesArgs;
struct PlanCarryArgs;
struct PlanContactArgs;
struct PlanCountArgs;
struct PlanExtraArgs;
struct PlanFarthestArgs;
struct PlanGapArgs;
struct PlanGatherArgs;
struct PlanJoinArgs;
struct PlanLogitArgs;
struct PlanMarkArgs;
struct PlanMeanArgs;
struct PlanMeetArgs;
struct PlanMotionArgs;
struct PlanPairsArgs;
struct PlanScatterArgs;
struct PlanSidesArgs;
struct PlanSmoothArgs;
struct PlanSpinArgs;
struct PlanSpreadArgs;

typedef struct GnnBackend {
    const char *name; // of the instruction set

    void (*advance_forward)(Device *, const struct AdvanceArgs *);
    void (*advance_backward)(Device *, const struct AdvanceArgs *);
    void (*edge_geometry_forward)(Device *, const struct EdgeGeometryArgs *);
    void (*edge_geometry_backward)(Device *, const struct EdgeGeometryArgs *);
    void (*message_forward)(Device *, const struct MessageArgs *);
    void (*message_backward)(Device *, const struct MessageArgs *);
    void (*node_blend_forward)(Device *, const struct NodeBlendArgs *);
    void (*node_blend_backward)(Device *, const struct NodeBlendArgs *);

    // loops of scene flow (gnn/flow_ops.h)
    void (*flow_adopt)(Device *, const struct FlowAdoptArgs *);
    void (*flow_at)(Device *, const struct FlowAtArgs *);
    void (*flow_motion)(Device *, const struct FlowMotionArgs *);
    void (*flow_normals)(Device *, const struct FlowNormalsArgs *);
    void (*flow_place)(Device *, const struct FlowPlaceArgs *);
    void (*flow_step)(Device *, const struct FlowStepArgs *);
    void (*flow_vote)(Device *, const struct FlowVoteArgs *);

    // loops of a plan (gnn/plan_ops.h)
    void (*plan_add)(Device *, const struct PlanAddArgs *);
    void (*plan_bodies)(Device *, const struct PlanBodiesArgs *);
    void (*plan_carry)(Device *, const struct PlanCarryArgs *);
    void (*plan_contact)(Device *, const struct PlanContactArgs *);
    void (*plan_count)(Device *, const struct PlanCountArgs *);
    void (*plan_extra)(Device *, const struct PlanExtraArgs *);
    void (*plan_farthest)(Device *, const struct PlanFarthestArgs *);
    void (*plan_gap)(Device *, const struct PlanGapArgs *);
    void (*plan_gather)(Device *, const struct PlanGatherArgs *);
    void (*plan_join)(Device *, const struct PlanJoinArgs *);
    void (*plan_logit)(Device *, const struct PlanLogitArgs *);
    void (*plan_mark)(Device *, const struct PlanMarkArgs *);
    void (*plan_mean)(Device *, const struct PlanMeanArgs *);
    void (*plan_meet)(Device *, const struct PlanMeetArgs *);
    void (*plan_motion)(Device *, const struct PlanMotionArgs *);
    void (*plan_pairs)(Device *, const struct PlanPairsArgs *);
    void (*plan_scatter)(Device *, const struct PlanScatterArgs *);
    void (*plan_sides)(Device *, const struct PlanSidesArgs *);
    void (*plan_smooth)(Device *, const struct PlanSmoothArgs *);
    void (*plan_spin)(Device *, const struct PlanSpinArgs *);
    void (*plan_spread)(Device *, const struct PlanSpreadArgs *);
} GnnBackend;

#endif
