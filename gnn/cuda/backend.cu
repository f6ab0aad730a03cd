// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/launch.h"

#include "gnn/cuda/functions.h"

extern const GnnBackend gnn_backend_cuda; // a constant of C++ is seen outside only so
const GnnBackend gnn_backend_cuda = {
    .name = "cuda", OP_CUDA_ENTRY(edges_order, EdgesOrderArgs).message_products = true, GNN_OPS(OP_CUDA_ENTRY)};
