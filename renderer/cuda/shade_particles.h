// SPDX-License-Identifier: Apache-2.0
// Values per pair of a sample and a particle that shading's backward pass keeps, and the particles' gradients from
// them.
#ifndef VPD_RENDERER_CUDA_SHADE_PARTICLES_H
#define VPD_RENDERER_CUDA_SHADE_PARTICLES_H

#include "nn/cuda/launch.h"
#include "renderer/shade.h"

struct ShadePairs {
    real *g;   // (n, 4 D) (dL/da_k) / (0.01 + sum w_k); NULL = particles want no gradient
    float4 *w; // (n, K) ring weights
    real *dx;  // (n, K, 3)
};

// a->dx and a->df, where they are wanted, += the sums over each particle's pairs, in the order of samples.
void shade_particles_backward(Device *device, const ShadeArgs *a, const ShadePairs &pairs);

#endif
