// SPDX-License-Identifier: Apache-2.0
// The gnn ops of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_GNN_CPU_FUNCTIONS_H
#define VPD_GNN_CPU_FUNCTIONS_H

#include "gnn/backend.h"
#include "nn/cpu/cpu.h"

void CPU_FN(advance_forward)(Device *, const struct AdvanceArgs *);
void CPU_FN(advance_backward)(Device *, const struct AdvanceArgs *);
void CPU_FN(edge_geometry_forward)(Device *, const struct EdgeGeometryArgs *);
void CPU_FN(edge_geometry_backward)(Device *, const struct EdgeGeometryArgs *);
void CPU_FN(message_forward)(Device *, const struct MessageArgs *);
void CPU_FN(message_backward)(Device *, const struct MessageArgs *);
void CPU_FN(node_blend_forward)(Device *, const struct NodeBlendArgs *);
void CPU_FN(node_blend_backward)(Device *, const struct NodeBlendArgs *);
void CPU_FN(plan_bodies)(Device *, const struct PlanBodiesArgs *);
void CPU_FN(plan_carry)(Device *, const struct PlanCarryArgs *);
void CPU_FN(plan_contact)(Device *, const struct PlanContactArgs *);
void CPU_FN(plan_count)(Device *, const struct PlanCountArgs *);
void CPU_FN(plan_extra)(Device *, const struct PlanExtraArgs *);
void CPU_FN(plan_farthest)(Device *, const struct PlanFarthestArgs *);
void CPU_FN(plan_gap)(Device *, const struct PlanGapArgs *);
void CPU_FN(plan_join)(Device *, const struct PlanJoinArgs *);
void CPU_FN(plan_logit)(Device *, const struct PlanLogitArgs *);
void CPU_FN(plan_mark)(Device *, const struct PlanMarkArgs *);
void CPU_FN(plan_meet)(Device *, const struct PlanMeetArgs *);
void CPU_FN(plan_motion)(Device *, const struct PlanMotionArgs *);
void CPU_FN(plan_scatter)(Device *, const struct PlanScatterArgs *);
void CPU_FN(plan_sides)(Device *, const struct PlanSidesArgs *);
void CPU_FN(plan_smooth)(Device *, const struct PlanSmoothArgs *);
void CPU_FN(plan_spin)(Device *, const struct PlanSpinArgs *);
void CPU_FN(plan_spread)(Device *, const struct PlanSpreadArgs *);

#endif
