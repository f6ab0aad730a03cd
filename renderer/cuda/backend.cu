// SPDX-License-Identifier: Apache-2.0
#include "renderer/cuda/backend.h"

#include "renderer/cuda/functions.h"

const RendererBackend renderer_backend_cuda = {
    .name = "cuda",
    .index_measure = index_measure_cuda,
    .index_fill = index_fill_cuda,
    .place_samples = place_samples_cuda,
    .shade_saved = shade_saved_cuda,
    .shade_forward = shade_forward_cuda,
    .shade_backward = shade_backward_cuda,
    .composite_forward = composite_forward_cuda,
    .composite_backward = composite_backward_cuda,
    .blend_labels = blend_labels_cuda,
};
