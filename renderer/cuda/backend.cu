// SPDX-License-Identifier: Apache-2.0
#include "renderer/cuda/backend.h"

#include "renderer/cuda/functions.h"

const RendererBackend renderer_backend_cuda = {
    .name = "cuda", .shade_saved = shade_saved_cuda, RENDERER_OPS(OP_CUDA_ENTRY)};
