// SPDX-License-Identifier: Apache-2.0
// Density and colour of ray samples from their neighbours: ring features and the MLP of docs/model.md, "Renderer", in
// one op. Works through chunks of samples that stay in the L2 cache. When the tape records, inputs and hidden layers of
// the samples are kept (1.3 KB each at the reference widths: 10 % faster than computing them again); nothing has the
// size samples x K x D. A row's bits depend on its sample alone. Gradients are the same bits for any number of threads.
#ifndef VPD_RENDERER_SHADE_H
#define VPD_RENDERER_SHADE_H

#include "renderer/renderer.h"

typedef struct ShadeArgs {
    size_t samples, particles, features; // n, N, D
    size_t hidden[2];
    int neighbours; // K
    bool view_direction, carry_rgb;
    real radius;                    // r
    const int32_t *ray;             // (n)
    const int32_t *used;            // (1) rows of n that are samples; the others have no neighbours
    const int32_t *neighbour;       // (n,K), -1 = none; no particle twice in a row
    const real *z;                  // (n)
    const real *origin, *direction; // (R,3)
    const real *x, *f, *R;          // (N,3), (N,D), (N)
    const real *weight[3], *bias[3];
    real *saved;                           // shade_saved() reals for the backward pass; NULL = there will be none
    real *shaded;                          // (n,4) density, rgb; overwritten
    const real *dshaded;                   // (n,4)
    real *dx, *df, *dweight[3], *dbias[3]; // added into; NULL = not wanted
} ShadeArgs;

// weight and bias: of the three layers.
Tensor *shade(Tape *tape, const RendererConfig *config, const RendererParticles *particles, const RendererRays *rays,
              const RendererSamples *samples, Tensor *const weight[3], Tensor *const bias[3]);

static inline size_t shade_inputs(size_t features, bool view_direction) {
    return 4 * features + 4 + (view_direction ? 3 : 0);
}

#endif
