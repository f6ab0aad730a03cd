// SPDX-License-Identifier: Apache-2.0
// The CUDA back end's table of nn ops.
#ifndef VPD_NN_CUDA_BACKEND_H
#define VPD_NN_CUDA_BACKEND_H

#include "nn/cuda/launch.h"

#include "nn/backend.h"

extern const NnBackend nn_backend_cuda;

#endif
