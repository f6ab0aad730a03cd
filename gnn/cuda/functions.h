// SPDX-License-Identifier: Apache-2.0
// The CUDA back end's gnn ops.
#ifndef VPD_GNN_CUDA_FUNCTIONS_H
#define VPD_GNN_CUDA_FUNCTIONS_H

#include "gnn/backend.h"

void advance_forward_cuda(Device *, const AdvanceArgs *);
void advance_backward_cuda(Device *, const AdvanceArgs *);
void edge_geometry_forward_cuda(Device *, const EdgeGeometryArgs *);
void edge_geometry_backward_cuda(Device *, const EdgeGeometryArgs *);
void message_forward_cuda(Device *, const MessageArgs *);
void message_backward_cuda(Device *, const MessageArgs *);
void node_blend_forward_cuda(Device *, const NodeBlendArgs *);
void node_blend_backward_cuda(Device *, const NodeBlendArgs *);
void plan_bodies_cuda(Device *, const PlanBodiesArgs *);
void plan_carry_cuda(Device *, const PlanCarryArgs *);
void plan_contact_cuda(Device *, const PlanContactArgs *);
void plan_count_cuda(Device *, const PlanCountArgs *);
void plan_extra_cuda(Device *, const PlanExtraArgs *);
void plan_farthest_cuda(Device *, const PlanFarthestArgs *);
void plan_gap_cuda(Device *, const PlanGapArgs *);
void plan_join_cuda(Device *, const PlanJoinArgs *);
void plan_logit_cuda(Device *, const PlanLogitArgs *);
void plan_mark_cuda(Device *, const PlanMarkArgs *);
void plan_meet_cuda(Device *, const PlanMeetArgs *);
void plan_motion_cuda(Device *, const PlanMotionArgs *);
void plan_scatter_cuda(Device *, const PlanScatterArgs *);
void plan_sides_cuda(Device *, const PlanSidesArgs *);
void plan_smooth_cuda(Device *, const PlanSmoothArgs *);
void plan_spin_cuda(Device *, const PlanSpinArgs *);
void plan_spread_cuda(Device *, const PlanSpreadArgs *);

#endif
