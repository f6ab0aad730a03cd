// SPDX-License-Identifier: Apache-2.0
// Compositing of packed rays: alpha_j = 1 - exp(-density_j delta), T_j = prod_{i<j} (1 - alpha_i),
//   colour = sum_j T_j alpha_j colour_j + T_end background, opacity = 1 - T_end,
//   depth = sum_j T_j alpha_j z_j / max(opacity, 1e-6)
// A ray without samples is exactly the background. The opacity is summed as sum_j T_j alpha_j, the same but precise
// when small.
#ifndef VPD_RENDERER_COMPOSITE_H
#define VPD_RENDERER_COMPOSITE_H

#include "nn/tape.h"
#include "renderer/place_samples.h"

typedef struct CompositeArgs {
    size_t rays;
    const int32_t *start; // (R+1)
    const real *z;        // (n)
    real delta;
    const real *shaded;     // (n,4) density, rgb
    const real *background; // (1,3) or (R,3); NULL = black
    bool background_per_ray;
    bool background_logits;                  // sigmoid(background) is the colour
    real *colour, *opacity, *depth;          // (R,3), (R), (R); overwritten
    const real *dcolour, *dopacity, *ddepth; // NULL = zero
    real *dshaded, *dbackground;             // added into; NULL = not wanted
} CompositeArgs;

typedef struct CompositeOutput {
    Tensor *colour, *opacity, *depth;
} CompositeOutput;

// background: (1,3), (R,3) or NULL.
CompositeOutput composite(Tape *tape, const RendererSamples *samples, Tensor *shaded, Tensor *background, bool logits,
                          real delta);

#endif
