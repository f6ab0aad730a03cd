// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_GNN_CUDA_BY_OTHER_H
#define VPD_GNN_CUDA_BY_OTHER_H

#include "gnn/edges.h"
#include "nn/cuda/lists.h"

// The rows of edges (groups * k) by their other end, so that sums over those that share one need no atomics.
static inline CudaLists edges_by_other(Device *device, const GnnEdges *edges) {
    return cuda_lists(device, edges->groups * edges->k, edges->index, edges->others);
}

#endif
