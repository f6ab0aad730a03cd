// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_GNN_CUDA_BY_OTHER_H
#define VPD_GNN_CUDA_BY_OTHER_H

#include "gnn/edges.h"
#include "nn/cuda/lists.h"

// Rows of edges (groups * k) sorted by their other end, so that sums by other end need no atomics.
static inline CudaLists edges_by_other(Device *device, const GnnEdges *edges) {
    return cuda_lists(device, edges->groups * edges->k, edges->index, edges->others);
}

#endif
