// SPDX-License-Identifier: Apache-2.0
// The CUDA back end's table of gnn ops.
#ifndef VPD_GNN_CUDA_BACKEND_H
#define VPD_GNN_CUDA_BACKEND_H

#include "gnn/backend.h"

extern const GnnBackend gnn_backend_cuda;

#endif
