// SPDX-License-Identifier: Apache-2.0
// The CUDA back end's gnn ops.
#ifndef VPD_GNN_CUDA_FUNCTIONS_H
#define VPD_GNN_CUDA_FUNCTIONS_H

#include "gnn/backend.h"

GNN_OPS(OP_CUDA)
OP_CUDA(edges_order, EdgesOrderArgs)

#endif
