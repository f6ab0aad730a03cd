// SPDX-License-Identifier: Apache-2.0
// The renderer part of a back end; see nn/backend.h for the rules.
#ifndef VPD_RENDERER_BACKEND_H
#define VPD_RENDERER_BACKEND_H

#include "nn/device.h"

struct BlendLabelsArgs;
struct CompositeArgs;
struct IndexArgs;
struct PlaceSamplesArgs;
struct ShadeArgs;

typedef struct RendererBackend {
    const char *name; // of the instruction set
    // Fills edge, box, packed, levels and the number of entries; then, with room for them, the lists.
    void (*index_measure)(Device *, const struct IndexArgs *);
    void (*index_fill)(Device *, const struct IndexArgs *);
    void (*place_samples)(Device *, const struct PlaceSamplesArgs *);
    size_t (*shade_saved)(const struct ShadeArgs *); // reals that shade_forward keeps for shade_backward
    void (*shade_forward)(Device *, const struct ShadeArgs *);
    void (*shade_backward)(Device *, const struct ShadeArgs *);
    void (*composite_forward)(Device *, const struct CompositeArgs *);
    void (*composite_backward)(Device *, const struct CompositeArgs *);
    void (*blend_labels)(Device *, const struct BlendLabelsArgs *);
} RendererBackend;

#endif
