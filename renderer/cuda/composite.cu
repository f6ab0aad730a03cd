// SPDX-License-Identifier: Apache-2.0
// A warp composites a ray, 32 samples at a time: the transmittance before a sample comes from a scan over the lanes.
#include "nn/cuda/sums.h"
#include "renderer/composite.h"

#include "renderer/cuda/functions.h"
#include "renderer/elements.h"

static __device__ real scan_sum(real value) {
    for (unsigned by = 1; by < CUDA_WARP; by *= 2) {
        real before = __shfl_up_sync(WHOLE_WARP, value, by);
        value += cuda_lane() >= by ? before : 0;
    }
    return value;
}

static __device__ real scan_product(real value) {
    for (unsigned by = 1; by < CUDA_WARP; by *= 2) {
        real before = __shfl_up_sync(WHOLE_WARP, value, by);
        value *= cuda_lane() >= by ? before : 1;
    }
    return value;
}

// A lane's sample of the 32 that begin at `first`; density 0 behind the ray's end.
struct RaySample {
    bool there;
    size_t s;
    real colour[3], z, weight, T_next; // T behind it
};

// T: transmittance before these samples, and after the call behind them.
static __device__ RaySample read_sample(const CompositeArgs &a, int32_t first, int32_t last, real *T) {
    RaySample sample = {};
    int32_t s = first + static_cast<int32_t>(cuda_lane());
    real alpha = 0;
    sample.there = s < last;
    sample.s = static_cast<size_t>(s);
    if (sample.there) {
        const real *y = a.shaded + 4 * sample.s;
        alpha = element_alpha(y[0], a.delta);
        for (int c = 0; c < 3; c++) sample.colour[c] = y[1 + c];
        sample.z = a.z[s];
    }
    real through = scan_product(1 - alpha), before = __shfl_up_sync(WHOLE_WARP, through, 1);
    sample.weight = *T * (cuda_lane() ? before : 1) * alpha;
    sample.T_next = *T * through;
    *T = __shfl_sync(WHOLE_WARP, sample.T_next, 31);
    return sample;
}

// Sums over a ray's samples. The opacity is the sum of the weights: equal to 1 - T_end, and precise when it is small.
struct RaySums {
    real colour[3], depth, opacity, T_end, mean_depth;
};

static __device__ RaySums march(const CompositeArgs &a, size_t ray) {
    RaySums sums = {};
    sums.T_end = 1;
    for (int32_t s = a.start[ray]; s < a.start[ray + 1]; s += CUDA_WARP) {
        RaySample sample = read_sample(a, s, a.start[ray + 1], &sums.T_end);
        for (int c = 0; c < 3; c++) sums.colour[c] += warp_sum(sample.weight * sample.colour[c]);
        sums.depth += warp_sum(sample.weight * sample.z);
        sums.opacity += warp_sum(sample.weight);
    }
    if (sums.opacity > 1) sums.opacity = 1; // by rounding
    sums.mean_depth = sums.depth / (sums.opacity > SMALLEST_OPACITY ? sums.opacity : SMALLEST_OPACITY);
    return sums;
}

static __device__ void background_colour(const CompositeArgs &a, size_t ray, real *out) {
    const real *b = a.background ? a.background + (a.background_per_ray ? 3 * ray : 0) : nullptr;
    for (int c = 0; c < 3; c++) out[c] = !b ? 0 : a.background_logits ? element_sigmoid(b[c]) : b[c];
}

static __global__ void composite_rays(CompositeArgs a) {
    WARP_LOOP(ray, a.rays) {
        RaySums sums = march(a, ray);
        real background[3];
        background_colour(a, ray, background);
        if (cuda_lane() > 0) continue;
        for (int c = 0; c < 3; c++) a.colour[3 * ray + c] = sums.colour[c] + sums.T_end * background[c];
        a.opacity[ray] = sums.opacity;
        a.depth[ray] = sums.mean_depth;
    }
}

void composite_forward_cuda(Device *device, const CompositeArgs *a) {
    if (!cuda_op(device, "compositing", a->rays)) return;
    LAUNCH(device, cuda_blocks(a->rays, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, composite_rays, *a);
}

// One pass for the sums, then front to back with the sums over the samples behind. dback (R,3): dL/dbackground of each
// ray, added to when rays have their own.
static __global__ void composite_rays_backward(CompositeArgs a, real *dback) {
    WARP_LOOP(ray, a.rays) {
        RaySums sums = march(a, ray);
        real background[3], dcolour[3], dopacity = a.dopacity ? a.dopacity[ray] : 0,
                                        ddepth = a.ddepth ? a.ddepth[ray] : 0;
        background_colour(a, ray, background);
        // d depth / d weight_j = (z_j - depth) / opacity, or z_j / 1e-6 below that opacity.
        bool seen = sums.opacity > SMALLEST_OPACITY;
        real centre = seen ? sums.mean_depth : 0;
        ddepth /= seen ? sums.opacity : SMALLEST_OPACITY;
        real behind = dopacity * sums.opacity +
                      ddepth * (sums.depth - centre * sums.opacity); // sum of v weight, v = dL / d weight
        for (int c = 0; c < 3; c++) {
            dcolour[c] = a.dcolour ? a.dcolour[3 * ray + c] : 0;
            behind += dcolour[c] * (sums.colour[c] + background[c] * sums.T_end);
            real slope = a.background_logits ? background[c] * (1 - background[c]) : 1;
            if (dback && cuda_lane() == 0)
                dback[3 * ray + c] = (a.background_per_ray ? dback[3 * ray + c] : 0) + sums.T_end * dcolour[c] * slope;
        }
        real T = 1;
        for (int32_t s = a.start[ray]; s < a.start[ray + 1] && a.dshaded; s += CUDA_WARP) {
            RaySample sample = read_sample(a, s, a.start[ray + 1], &T);
            real v = dopacity + ddepth * (sample.z - centre);
            for (int c = 0; c < 3; c++) v += dcolour[c] * sample.colour[c];
            real hidden = behind - scan_sum(v * sample.weight);
            behind = __shfl_sync(WHOLE_WARP, hidden, 31);
            if (!sample.there) continue;
            real *d = a.dshaded + 4 * sample.s;
            d[0] += a.delta * element_tau_slope(v, sample.T_next, hidden);
            for (int c = 0; c < 3; c++) d[1 + c] += sample.weight * dcolour[c];
        }
    }
}

void composite_backward_cuda(Device *device, const CompositeArgs *a) {
    if (!cuda_op(device, "compositing, backward", a->rays)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    bool shared = a->dbackground && !a->background_per_ray;
    real *dback = shared ? device_scratch(device, 3 * a->rays) : a->dbackground;
    LAUNCH(device, cuda_blocks(a->rays, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, composite_rays_backward, *a, dback);
    if (shared) cuda_add_column_sums(device, a->rays, 3, CudaMatrix{dback, 3}, a->dbackground);
    arena_release(&device->scratch, mark);
}
