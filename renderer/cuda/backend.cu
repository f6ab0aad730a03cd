// SPDX-License-Identifier: Apache-2.0
#include "renderer/cuda/functions.h"

extern const RendererBackend renderer_backend_cuda; // a constant of C++ is seen outside only so
const RendererBackend renderer_backend_cuda = {
    .name = "cuda", .shade_saved = shade_saved_cuda, RENDERER_OPS(OP_CUDA_ENTRY)};
