// SPDX-License-Identifier: Apache-2.0
// The ops of the CUDA back end; backend.cu puts them in the table.
#ifndef VPD_NN_CUDA_FUNCTIONS_H
#define VPD_NN_CUDA_FUNCTIONS_H

#include "nn/cuda/launch.h"

#include "nn/backend.h"

void knn_index_cuda(Device *, Arena *memory, const struct KnnArgs *, struct KnnIndex *);
void knn_search_cuda(Device *, const struct KnnIndex *, const struct KnnArgs *);

NN_OPS(OP_CUDA)

#endif
