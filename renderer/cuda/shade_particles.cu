// SPDX-License-Identifier: Apache-2.0
#include "renderer/cuda/shade_particles.h"

#include "nn/cuda/lists.h"
#include "renderer/elements.h"

// A warp sums up what its particle's pairs give it, in the order of samples.
static __global__ void add_to_particles(ShadeArgs a, ShadePairs pairs, const int32_t *start, const int32_t *pair) {
    WARP_LOOP(p, a.particles) {
        int32_t first = start[p], last = start[p + 1];
        size_t K = static_cast<size_t>(a.neighbours), D = a.features;
        for (size_t d = cuda_lane(); d < D && first < last && a.df; d += CUDA_WARP) {
            real sum = 0;
            for (int32_t j = first; j < last; j++) {
                size_t i = static_cast<size_t>(pair[j]);
                const real *g = pairs.g + i / K * RENDERER_RINGS * D + d;
                float4 w = pairs.w[i];
                sum += w.x * g[0] + w.y * g[D] + w.z * g[2 * D] + w.w * g[3 * D];
            }
            a.df[p * D + d] += sum;
        }
        if (!a.dx || cuda_lane() >= 3 || first == last) continue;
        real sum = 0;
        for (int32_t j = first; j < last; j++) sum += pairs.dx[3 * static_cast<size_t>(pair[j]) + cuda_lane()];
        a.dx[3 * p + cuda_lane()] += sum;
    }
}

void shade_particles_backward(Device *device, const ShadeArgs *a, const ShadePairs &pairs) {
    size_t count = a->samples * static_cast<size_t>(a->neighbours);
    CudaLists lists = cuda_lists(device, count, a->neighbour, a->particles);
    LAUNCH(device, cuda_blocks(a->particles, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, add_to_particles, *a, pairs,
           lists.start, lists.item);
}
