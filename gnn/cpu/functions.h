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

#endif
