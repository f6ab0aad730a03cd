// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/launch.h"

#include "gnn/cuda/backend.h"
#include "gnn/cuda/functions.h"

const GnnBackend gnn_backend_cuda = {
    .name = "cuda",
    .advance_forward = advance_forward_cuda,
    .advance_backward = advance_backward_cuda,
    .edge_geometry_forward = edge_geometry_forward_cuda,
    .edge_geometry_backward = edge_geometry_backward_cuda,
    .message_forward = message_forward_cuda,
    .message_backward = message_backward_cuda,
    .node_blend_forward = node_blend_forward_cuda,
    .node_blend_backward = node_blend_backward_cuda,
    .plan_bodies = plan_bodies_cuda,
    .plan_carry = plan_carry_cuda,
    .plan_contact = plan_contact_cuda,
    .plan_count = plan_count_cuda,
    .plan_extra = plan_extra_cuda,
    .plan_farthest = plan_farthest_cuda,
    .plan_gap = plan_gap_cuda,
    .plan_join = plan_join_cuda,
    .plan_logit = plan_logit_cuda,
    .plan_mark = plan_mark_cuda,
    .plan_meet = plan_meet_cuda,
    .plan_motion = plan_motion_cuda,
    .plan_scatter = plan_scatter_cuda,
    .plan_sides = plan_sides_cuda,
    .plan_smooth = plan_smooth_cuda,
    .plan_spin = plan_spin_cuda,
    .plan_spread = plan_spread_cuda,
};
