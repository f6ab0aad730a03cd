// SPDX-License-Identifier: Apache-2.0
// The renderer part of a back end; see nn/backend.h for the rules.
#ifndef VPD_RENDERER_BACKEND_H
#define VPD_RENDERER_BACKEND_H

#include "nn/device.h"
#include "nn/op_list.h"

// index_measure fills edge, box, packed, levels and the number of entries; index_fill, with room for them, the lists.
#define RENDERER_OPS(OP)                                                                                               \
    OP(index_measure, IndexArgs)                                                                                       \
    OP(index_fill, IndexArgs)                                                                                          \
    OP(place_samples, PlaceSamplesArgs)                                                                                \
    OP(shade_forward, ShadeArgs)                                                                                       \
    OP(shade_backward, ShadeArgs)                                                                                      \
    OP(composite_forward, CompositeArgs)                                                                               \
    OP(composite_backward, CompositeArgs)                                                                              \
    OP(blend_labels, BlendLabelsArgs)

RENDERER_OPS(OP_STRUCT)

typedef struct RendererBackend {
    const char *name;                                // of the instruction set
    size_t (*shade_saved)(const struct ShadeArgs *); // reals that shade_forward keeps for shade_backward
    RENDERER_OPS(OP_MEMBER)
} RendererBackend;

#endif
