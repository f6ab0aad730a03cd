// SPDX-License-Identifier: Apache-2.0
// A warp blends a ray, sample after sample: lanes stand for neighbours when cuts are computed, for labels when they are
// added.
#include "nn/cuda/launch.h"
#include "renderer/blend_labels.h"

#include "renderer/cuda/functions.h"
#include "renderer/elements.h"

constexpr int SLOTS = RENDERER_MAX_NEIGHBOURS / CUDA_WARP; // neighbours of a lane

// Adds `weight` times the shares of the labels around sample s; label l is lane l % 32's.
static __device__ void add_sample(const BlendLabelsArgs &a, size_t ray, size_t s, real weight, real *out) {
    real cut[SLOTS], sum = 0, q[3];
    int32_t label[SLOTS];
    for (int c = 0; c < 3; c++) q[c] = element_along(a.origin[3 * ray + c], a.z[s], a.direction[3 * ray + c]);
    for (int slot = 0; slot < SLOTS; slot++) {
        int place = slot * static_cast<int>(CUDA_WARP) + static_cast<int>(cuda_lane());
        int32_t p = place < a.neighbours ? a.neighbour[s * static_cast<size_t>(a.neighbours) + place] : -1;
        const real *x = a.x + 3 * static_cast<size_t>(p);
        cut[slot] =
            p < 0 ? 0 : element_cut(element_u2(q[0] - x[0], q[1] - x[1], q[2] - x[2], element_inverse_R2(a.R[p])));
        label[slot] = p < 0 ? -1 : a.label[p];
        sum += warp_sum(cut[slot]);
    }
    for (int i = 0; i < a.neighbours && sum > 0; i++) {
        int slot = i / static_cast<int>(CUDA_WARP), from = i % static_cast<int>(CUDA_WARP);
        real share = weight * __shfl_sync(WHOLE_WARP, slot ? cut[1] : cut[0], from) / sum;
        int32_t l = __shfl_sync(WHOLE_WARP, slot ? label[1] : label[0], from);
        if (l >= 0 && l < a.labels && static_cast<unsigned>(l) % CUDA_WARP == cuda_lane()) out[l] += share;
    }
}

static __global__ void blend_rays(BlendLabelsArgs a) {
    WARP_LOOP(ray, a.rays) {
        real *out = a.out + ray * static_cast<size_t>(a.labels), T = 1;
        for (int l = static_cast<int>(cuda_lane()); l < a.labels; l += static_cast<int>(CUDA_WARP)) out[l] = 0;
        for (int32_t s = a.start[ray]; s < a.start[ray + 1]; s++) {
            real alpha = element_alpha(a.shaded[4 * static_cast<size_t>(s)], a.delta);
            add_sample(a, ray, static_cast<size_t>(s), T * alpha, out);
            T *= 1 - alpha;
        }
    }
}

void blend_labels_cuda(Device *device, const BlendLabelsArgs *a) {
    if (!cuda_op(device, "labels of rays", a->rays, a->labels)) return;
    LAUNCH(device, cuda_blocks(a->rays, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, blend_rays, *a);
}
