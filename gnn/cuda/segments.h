// SPDX-License-Identifier: Apache-2.0
// Edges by the node in which they end, so that its sums can be taken in one order.
#ifndef VPD_GNN_CUDA_SEGMENTS_H
#define VPD_GNN_CUDA_SEGMENTS_H

#include "nn/cuda/launch.h"

#include "gnn/edges.h"

// count[o] = edges that end in node o.
void cuda_count_ends(Device *device, const GnnEdges *edges, int32_t *count);

// The edges that end in node o are row[end[o] - count[o] .. end[o]), ascending; segments lie in any order.
struct CudaSegments {
    int32_t *count, *end; // (others)
    int32_t *row;         // (groups * k) or fewer
};

// Scratch memory: the caller marks and releases. Rows are below 2^31.
CudaSegments cuda_segments(Device *device, const GnnEdges *edges);

#endif
