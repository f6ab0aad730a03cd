// SPDX-License-Identifier: Apache-2.0
// Values per pair of a sample and a particle that shading's backward pass keeps, and the particles' gradients from
// them.
#ifndef VPD_RENDERER_CUDA_SHADE_PARTICLES_H
#define VPD_RENDERER_CUDA_SHADE_PARTICLES_H

#include "nn/cuda/lists.h"
#include "renderer/elements.h"
#include "renderer/shade.h"

struct ShadePairs {
    real *g;   // (n, 4 D) (dL/da_k) / (0.01 + sum w_k); NULL = particles want no gradient
    float4 *w; // (n, K) ring weights
    real *dx;  // (n, K, 3)
};

// A warp sums up what its particle's pairs give it, in the order of samples.
static __device__ inline void add_to_particles(const ShadeArgs &a, const ShadePairs &pairs, const CudaLists &lists) {
    WARP_LOOP(p, a.particles) {
        int32_t first = lists.start[p], last = lists.start[p + 1];
        size_t K = static_cast<size_t>(a.neighbours), D = a.features;
        for (size_t d = cuda_lane(); d < D && first < last && a.df; d += CUDA_WARP) {
            real sum = 0;
            for (int32_t j = first; j < last; j++) {
                size_t i = static_cast<size_t>(lists.item[j]);
                const real *g = pairs.g + i / K * RENDERER_RINGS * D + d;
                float4 w = pairs.w[i];
                sum += w.x * g[0] + w.y * g[D] + w.z * g[2 * D] + w.w * g[3 * D];
            }
            a.df[p * D + d] += sum;
        }
        if (!a.dx || cuda_lane() >= 3 || first == last) continue;
        real sum = 0;
        for (int32_t j = first; j < last; j++) sum += pairs.dx[3 * static_cast<size_t>(lists.item[j]) + cuda_lane()];
        a.dx[3 * p + cuda_lane()] += sum;
    }
}

#endif
