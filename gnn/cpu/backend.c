// SPDX-License-Identifier: Apache-2.0
// The CPU's table of gnn ops.
#include "gnn/backend.h"

#include "gnn/cpu/functions.h"

#define ISA_TEXT_(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_(isa)

extern const GnnBackend CPU_FN(gnn_backend);
const GnnBackend CPU_FN(gnn_backend) = {
    .name = ISA_TEXT(VPD_ISA),
    .advance_forward = CPU_FN(advance_forward),
    .advance_backward = CPU_FN(advance_backward),
    .edge_geometry_forward = CPU_FN(edge_geometry_forward),
    .edge_geometry_backward = CPU_FN(edge_geometry_backward),
    .message_forward = CPU_FN(message_forward),
    .message_backward = CPU_FN(message_backward),
    .node_blend_forward = CPU_FN(node_blend_forward),
    .node_blend_backward = CPU_FN(node_blend_backward),
    .plan_bodies = CPU_FN(plan_bodies),
    .plan_carry = CPU_FN(plan_carry),
    .plan_contact = CPU_FN(plan_contact),
    .plan_count = CPU_FN(plan_count),
    .plan_extra = CPU_FN(plan_extra),
    .plan_farthest = CPU_FN(plan_farthest),
    .plan_gap = CPU_FN(plan_gap),
    .plan_join = CPU_FN(plan_join),
    .plan_logit = CPU_FN(plan_logit),
    .plan_mark = CPU_FN(plan_mark),
    .plan_meet = CPU_FN(plan_meet),
    .plan_motion = CPU_FN(plan_motion),
    .plan_scatter = CPU_FN(plan_scatter),
    .plan_sides = CPU_FN(plan_sides),
    .plan_smooth = CPU_FN(plan_smooth),
    .plan_spin = CPU_FN(plan_spin),
    .plan_spread = CPU_FN(plan_spread),
};
