// SPDX-License-Identifier: Apache-2.0
// The renderer's ops of the CUDA back end; backend.cu puts them in the table.
#ifndef VPD_RENDERER_CUDA_FUNCTIONS_H
#define VPD_RENDERER_CUDA_FUNCTIONS_H

#include "nn/cuda/launch.h"

#include "renderer/backend.h"

size_t shade_saved_cuda(const struct ShadeArgs *);

RENDERER_OPS(OP_CUDA)

#endif
