// SPDX-License-Identifier: Apache-2.0
// The CUDA back end's table of renderer ops.
#ifndef VPD_RENDERER_CUDA_BACKEND_H
#define VPD_RENDERER_CUDA_BACKEND_H

#include "nn/cuda/launch.h"

#include "renderer/backend.h"

extern const RendererBackend renderer_backend_cuda;

#endif
