// SPDX-License-Identifier: Apache-2.0
// Pixels of an image are taken in parts of fixed size; sums of the parts are joined in their order, in double. Images
// are NHWC here: image_block is 0.
#include "nn/group_norm.h"

#include "nn/cuda/functions.h"
#include "nn/cuda/silu.h"

constexpr size_t PART = 256; // pixels
constexpr unsigned ROWS = CUDA_THREADS / CUDA_WARP;

// Sizes and scratch memory of one call.
struct Work {
    GroupNormArgs a;
    size_t pixels, parts, tiles; // of an image: pixels, parts of them, tiles of 32 channels
    real *sums;                  // (n, parts, 2, channels)
    real *totals;                // (n, 2, channels) backward: of the slopes, and of slopes times n
    real *lean, *tilt;           // (n, groups) backward: mean of g and of g n over the group
};

// The sum over a block's warps of each lane's value, in the warps' order, in every thread.
static __device__ real sum_warps(real value) {
    __shared__ real all[ROWS][CUDA_WARP];
    __syncthreads(); // the last call's values have been read
    all[cuda_warp()][cuda_lane()] = value;
    __syncthreads();
    real sum = 0;
    for (unsigned warp = 0; warp < ROWS; warp++) sum += all[warp][cuda_lane()];
    return sum;
}

// A block's task: some pixels of an image and 32 channels, one to a lane; warps share the pixels.
struct Task {
    size_t image, part, first, last, channel; // pixels first .. last, the warp's first; this lane's channel
    bool there;                               // whether the channel exists
};

static __device__ Task task_at(const Work &w, size_t index) {
    size_t tile = index % w.tiles, part = index / w.tiles % w.parts, image = index / w.tiles / w.parts;
    size_t last = (part + 1) * PART < w.pixels ? (part + 1) * PART : w.pixels, channel = tile * CUDA_WARP + cuda_lane();
    return {image, part, part * PART + cuda_warp(), last, channel, channel < w.a.channels};
}

static __device__ void write_sums(const Work &w, const Task &t, real sum, real other) {
    if (cuda_warp() != 0 || !t.there) return;
    real *to = w.sums + (t.image * w.parts + t.part) * 2 * w.a.channels + t.channel;
    to[0] = sum;
    to[w.a.channels] = other;
}

// Per channel: sum, and sum of squared differences from the part's own mean (no cancellation).
static __global__ void sum_moments(Work w) {
    BLOCK_LOOP(index, w.a.shape.n * w.parts * w.tiles) {
        Task t = task_at(w, index);
        const real *x = w.a.x + t.image * w.pixels * w.a.channels + t.channel;
        real sum = 0, square = 0, count = static_cast<real>(t.last - t.part * PART);
        for (size_t i = t.first; t.there && i < t.last; i += ROWS) sum += x[i * w.a.channels];
        sum = sum_warps(sum);
        for (size_t i = t.first; t.there && i < t.last; i += ROWS) {
            real e = x[i * w.a.channels] - sum / count;
            square += e * e;
        }
        write_sums(w, t, sum, sum_warps(square));
    }
}

// Joins the parts' moments (Chan et al. 1979), in double; a thread takes a group of an image.
static __global__ void join_moments(Work w) {
    size_t width = w.a.channels / w.a.groups;
    GRID_LOOP(group, w.a.shape.n * w.a.groups) {
        size_t image = group / w.a.groups, first = group % w.a.groups * width;
        double count = 0, mean = 0, square = 0;
        for (size_t part = 0; part < w.parts; part++)
            for (size_t c = first; c < first + width; c++) {
                const real *sums = w.sums + (image * w.parts + part) * 2 * w.a.channels + c;
                double n = static_cast<double>((part + 1) * PART < w.pixels ? PART : w.pixels - part * PART);
                double difference = static_cast<double>(sums[0]) / n - mean, all = count + n;
                square += static_cast<double>(sums[w.a.channels]) + difference * difference * count * n / all;
                mean += difference * n / all;
                count = all;
            }
        w.a.mean[group] = static_cast<real>(mean);
        w.a.rstd[group] = static_cast<real>(1 / sqrt(square / count + static_cast<double>(GROUP_NORM_EPSILON)));
    }
}

// The normalised element `at`, its channel, and its group among those of all images.
struct Normal {
    size_t channel, group;
    real value;
};

static __device__ Normal normal_at(const Work &w, size_t at) {
    size_t pixel = cuda_quotient(at, w.a.channels), channel = at - pixel * w.a.channels;
    size_t group = cuda_quotient(pixel, w.pixels) * w.a.groups + cuda_quotient(channel, w.a.channels / w.a.groups);
    return {channel, group, (w.a.x[at] - w.a.mean[group]) * w.a.rstd[group]};
}

static __global__ void apply(Work w) {
    GRID_LOOP(at, w.a.shape.n * w.pixels * w.a.channels) {
        Normal n = normal_at(w, at);
        w.a.y[at] = silu_value(n.value * w.a.gain[n.channel] + w.a.offset[n.channel]);
    }
}

// d loss / d (gain n + offset).
static __device__ inline real slope_at(const GroupNormArgs &a, size_t channel, real n, real dy) {
    return dy * silu_slope(n * a.gain[channel] + a.offset[channel]);
}

// Per channel: sums of that slope and of slope times n.
static __global__ void sum_slopes(Work w) {
    BLOCK_LOOP(index, w.a.shape.n * w.parts * w.tiles) {
        Task t = task_at(w, index);
        real sum = 0, product = 0;
        for (size_t i = t.first; t.there && i < t.last; i += ROWS) {
            size_t at = (t.image * w.pixels + i) * w.a.channels + t.channel;
            real n = normal_at(w, at).value, slope = slope_at(w.a, t.channel, n, w.a.dy[at]);
            sum += slope;
            product += slope * n;
        }
        sum = sum_warps(sum);
        write_sums(w, t, sum, sum_warps(product));
    }
}

// A thread takes a channel of an image: sums over the parts.
static __global__ void join_parts(Work w) {
    size_t width = 2 * w.a.channels;
    GRID_LOOP(at, w.a.shape.n * width) {
        size_t image = at / width;
        real sum = 0;
        for (size_t part = 0; part < w.parts; part++) sum += w.sums[(image * w.parts + part) * width + at % width];
        w.totals[at] = sum;
    }
}

// A thread takes a group of an image.
static __global__ void join_channels(Work w) {
    size_t width = w.a.channels / w.a.groups;
    GRID_LOOP(group, w.a.shape.n * w.a.groups) {
        const real *total = w.totals + group / w.a.groups * 2 * w.a.channels;
        double sum = 0, product = 0, count = static_cast<double>(w.pixels) * static_cast<double>(width);
        for (size_t c = group % w.a.groups * width, last = c + width; c < last; c++) {
            sum += static_cast<double>(w.a.gain[c]) * static_cast<double>(total[c]);
            product += static_cast<double>(w.a.gain[c]) * static_cast<double>(total[w.a.channels + c]);
        }
        w.lean[group] = static_cast<real>(sum / count);
        w.tilt[group] = static_cast<real>(product / count);
    }
}

// dx = rate (g - mean(g) - n mean(g n)), g = slope * gain.
static __global__ void add_dx(Work w) {
    GRID_LOOP(at, w.a.shape.n * w.pixels * w.a.channels) {
        Normal n = normal_at(w, at);
        real g = slope_at(w.a, n.channel, n.value, w.a.dy[at]) * w.a.gain[n.channel];
        real dx = w.a.rstd[n.group] * (g - w.lean[n.group] - n.value * w.tilt[n.group]);
        w.a.dx[at] = (w.a.dx_is_new ? 0 : w.a.dx[at]) + dx;
    }
}

// A thread takes a channel: sums over the images.
static __global__ void add_images(Work w) {
    GRID_LOOP(c, w.a.channels) {
        real offset = 0, gain = 0;
        for (size_t image = 0; image < w.a.shape.n; image++) {
            offset += w.totals[image * 2 * w.a.channels + c];
            gain += w.totals[(image * 2 + 1) * w.a.channels + c];
        }
        if (w.a.doffset) w.a.doffset[c] += offset;
        if (w.a.dgain) w.a.dgain[c] += gain;
    }
}

static Work work_on(Device *device, const GroupNormArgs *a) {
    Work w = {};
    w.a = *a;
    w.pixels = a->shape.h * a->shape.w;
    w.parts = (w.pixels + PART - 1) / PART;
    w.tiles = (a->channels + CUDA_WARP - 1) / CUDA_WARP;
    w.sums = device_scratch(device, a->shape.n * w.parts * 2 * a->channels);
    return w;
}

static bool begin(Device *device, const GroupNormArgs *a, const char *name) {
    CHECK(image_run(a->block, a->channels) == a->channels);
    return cuda_op(device, name, a->shape.n, a->shape.h, a->shape.w, a->channels);
}

void group_norm_forward_cuda(Device *device, const GroupNormArgs *a) {
    if (!begin(device, a, "group norm forward")) return;
    ArenaMark mark = arena_mark(&device->scratch);
    Work w = work_on(device, a);
    LAUNCH(device, cuda_blocks(a->shape.n * w.parts * w.tiles, 1), CUDA_THREADS, 0, sum_moments, w);
    LAUNCH(device, cuda_blocks(a->shape.n * a->groups, CUDA_WARP), CUDA_WARP, 0, join_moments, w);
    LAUNCH(device, cuda_blocks(image_pixels(a->shape) * a->channels), CUDA_THREADS, 0, apply, w);
    arena_release(&device->scratch, mark);
}

void group_norm_backward_cuda(Device *device, const GroupNormArgs *a) {
    if (!begin(device, a, "group norm backward")) return;
    ArenaMark mark = arena_mark(&device->scratch);
    Work w = work_on(device, a);
    w.totals = device_scratch(device, a->shape.n * 2 * a->channels);
    w.lean = device_scratch(device, a->shape.n * a->groups);
    w.tilt = device_scratch(device, a->shape.n * a->groups);
    LAUNCH(device, cuda_blocks(a->shape.n * w.parts * w.tiles, 1), CUDA_THREADS, 0, sum_slopes, w);
    LAUNCH(device, cuda_blocks(a->shape.n * 2 * a->channels), CUDA_THREADS, 0, join_parts, w);
    LAUNCH(device, cuda_blocks(a->shape.n * a->groups, CUDA_WARP), CUDA_WARP, 0, join_channels, w);
    if (a->dx) LAUNCH(device, cuda_blocks(image_pixels(a->shape) * a->channels), CUDA_THREADS, 0, add_dx, w);
    LAUNCH(device, cuda_blocks(a->channels, CUDA_WARP), CUDA_WARP, 0, add_images, w);
    arena_release(&device->scratch, mark);
}
