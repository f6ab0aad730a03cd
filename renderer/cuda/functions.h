// SPDX-License-Identifier: Apache-2.0
// The renderer's ops of the CUDA back end; backend.cu puts them in the table.
#ifndef VPD_RENDERER_CUDA_FUNCTIONS_H
#define VPD_RENDERER_CUDA_FUNCTIONS_H

#include "nn/cuda/launch.h"

#include "renderer/backend.h"

void index_measure_cuda(Device *, const struct IndexArgs *);
void index_fill_cuda(Device *, const struct IndexArgs *);
void place_samples_cuda(Device *, const struct PlaceSamplesArgs *);
size_t shade_saved_cuda(const struct ShadeArgs *);
void shade_forward_cuda(Device *, const struct ShadeArgs *);
void shade_backward_cuda(Device *, const struct ShadeArgs *);
void composite_forward_cuda(Device *, const struct CompositeArgs *);
void composite_backward_cuda(Device *, const struct CompositeArgs *);
void blend_labels_cuda(Device *, const struct BlendLabelsArgs *);

#endif
