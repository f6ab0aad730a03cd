// SPDX-License-Identifier: Apache-2.0
// The rows of edges by their other end, so that sums over those that share one need no atomics.
#ifndef VPD_GNN_CUDA_BY_OTHER_H
#define VPD_GNN_CUDA_BY_OTHER_H

#include "nn/cuda/launch.h"

#include "gnn/edges.h"

typedef struct RowsByOther {
    const int32_t *row;   // (groups * k) by other end, then by number; absent rows last
    const int32_t *start; // (others + 2) where those of an other end begin in `row`; start[others]: the absent ones
} RowsByOther;

// In scratch memory; members are NULL, and the device has failed, when there is none.
RowsByOther rows_by_other(Device *device, const GnnEdges *edges);

#endif
