// SPDX-License-Identifier: Apache-2.0
// The gnn part of a back end; see nn/backend.h for the rules.
#ifndef VPD_GNN_BACKEND_H
#define VPD_GNN_BACKEND_H

#include "nn/device.h"

struct AdvanceArgs;
struct EdgeGeometryArgs;
struct MessageArgs;
struct NodeBlendArgs;
struct PlanBodiesArgs;
struct PlanCarryArgs;
struct PlanContactArgs;
struct PlanCountArgs;
struct PlanExtraArgs;
struct PlanFarthestArgs;
struct PlanGapArgs;
struct PlanJoinArgs;
struct PlanLogitArgs;
struct PlanMarkArgs;
struct PlanMeetArgs;
struct PlanMotionArgs;
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

    // loops of a plan (gnn/plan_ops.h)
    void (*plan_bodies)(Device *, const struct PlanBodiesArgs *);
    void (*plan_carry)(Device *, const struct PlanCarryArgs *);
    void (*plan_contact)(Device *, const struct PlanContactArgs *);
    void (*plan_count)(Device *, const struct PlanCountArgs *);
    void (*plan_extra)(Device *, const struct PlanExtraArgs *);
    void (*plan_farthest)(Device *, const struct PlanFarthestArgs *);
    void (*plan_gap)(Device *, const struct PlanGapArgs *);
    void (*plan_join)(Device *, const struct PlanJoinArgs *);
    void (*plan_logit)(Device *, const struct PlanLogitArgs *);
    void (*plan_mark)(Device *, const struct PlanMarkArgs *);
    void (*plan_meet)(Device *, const struct PlanMeetArgs *);
    void (*plan_motion)(Device *, const struct PlanMotionArgs *);
    void (*plan_scatter)(Device *, const struct PlanScatterArgs *);
    void (*plan_sides)(Device *, const struct PlanSidesArgs *);
    void (*plan_smooth)(Device *, const struct PlanSmoothArgs *);
    void (*plan_spin)(Device *, const struct PlanSpinArgs *);
    void (*plan_spread)(Device *, const struct PlanSpreadArgs *);
} GnnBackend;

#endif
