// SPDX-License-Identifier: Apache-2.0
// Share of each particle label in a pixel: out(ray, l) = sum_j T_j alpha_j (sum_{i: label_i = l} cut(u_ij)) / sum_i
// cut(u_ij). For inference: no gradient.
#ifndef VPD_RENDERER_BLEND_LABELS_H
#define VPD_RENDERER_BLEND_LABELS_H

#include "nn/device.h"

typedef struct BlendLabelsArgs {
    size_t rays;
    int neighbours, labels;
    const int32_t *start, *neighbour;   // (R+1), (n,K)
    const real *z, *origin, *direction; // (n), (R,3), (R,3)
    const real *x, *R;                  // (N,3), (N)
    const real *shaded;                 // (n,4)
    real delta;
    const int32_t *label; // (N)
    real *out;            // (R,labels), overwritten
} BlendLabelsArgs;

#endif
