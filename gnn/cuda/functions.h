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

#endif
