// SPDX-License-Identifier: Apache-2.0
// Pixels of an image are taken in parts, whose sizes and number follow from its own; the parts' sums are joined in a
// fixed order, in double. Images are NHWC here: image_block is 0.
#include "nn/group_norm.h"

#include "nn/cuda/functions.h"
#include "nn/cuda/silu.h"

// Pixels of a part, at least, and parts of an image, at most: each block reads the sums of all.
constexpr size_t PART = 256, PARTS = 128;
constexpr unsigned ROWS = CUDA_THREADS / CUDA_WARP;

// Sizes and scratch memory of one call.
struct Work {
    GroupNormArgs a;
    size_t pixels, part, parts, tiles; // of an image: pixels, those of a part, parts, tiles of 32 channels
    real *sums;                        // (n, parts, 2, channels)
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
    size_t image, part, tile, first, last, channel; // pixels first .. last, the warp's first; this lane's channel
    bool there;                                     // whether the channel exists
};

static __device__ Task task_at(const Work &w, size_t index) {
    size_t tile = index % w.tiles, part = index / w.tiles % w.parts, image = index / w.tiles / w.parts;
    size_t last = (part + 1) * w.part < w.pixels ? (part + 1) * w.part : w.pixels,
           channel = tile * CUDA_WARP + cuda_lane();
    return {image, part, tile, part * w.part + cuda_warp(), last, channel, channel < w.a.channels};
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
        real sum = 0, square = 0, count = static_cast<real>(t.last - t.part * w.part);
        for (size_t i = t.first; t.there && i < t.last; i += ROWS) sum += x[i * w.a.channels];
        sum = sum_warps(sum);
        for (size_t i = t.first; t.there && i < t.last; i += ROWS) {
            real e = x[i * w.a.channels] - sum / count;
            square += e * e;
        }
        write_sums(w, t, sum, sum_warps(square));
    }
}

// Pixels of a part.
static __device__ inline size_t part_pixels(const Work &w, size_t part) {
    return (part + 1) * w.part < w.pixels ? w.part : w.pixels - part * w.part;
}

// The groups that have channels in a tile: from `first` on.
struct Groups {
    size_t first, count, width; // channels of each
};

static __device__ inline Groups groups_of(const Work &w, const Task &t) {
    size_t width = w.a.channels / w.a.groups, left = t.tile * CUDA_WARP, right = left + CUDA_WARP;
    if (right > w.a.channels) right = w.a.channels;
    return {left / width, (right - 1) / width - left / width + 1, width};
}

// The warp's sum of term(part, channel) over the parts of an image and a group's channels; lanes share the pairs.
template <class Term>
static __device__ double sum_group(const Work &w, const Groups &g, size_t group, const Term &term) {
    double sum = 0;
    for (size_t i = cuda_lane(); i < w.parts * g.width; i += CUDA_WARP) {
        size_t part = cuda_quotient(i, g.width);
        sum += term(part, group * g.width + i - part * g.width);
    }
    return warp_sum(sum);
}

// Means and rates of a tile's groups, a warp for each, in shared memory. The block of the first part and of the group's
// first channel also keeps them for the backward pass.
static __device__ void join_moments(const Work &w, const Task &t, const Groups &g, real (*moments)[2]) {
    const real *sums = w.sums + t.image * w.parts * 2 * w.a.channels;
    double pixels = static_cast<double>(w.pixels), count = pixels * static_cast<double>(g.width);
    for (size_t i = cuda_warp(); i < g.count; i += ROWS) {
        size_t group = g.first + i, at = t.image * w.a.groups + group;
        double mean = sum_group(
            w, g, group, [&](size_t part, size_t c) { return static_cast<double>(sums[part * 2 * w.a.channels + c]); });
        mean /= count;
        // squares around a part's own mean, and the part's mean around that of all
        double square = sum_group(w, g, group, [&](size_t part, size_t c) {
            const real *of = sums + part * 2 * w.a.channels + c;
            double n = static_cast<double>(part_pixels(w, part)), off = static_cast<double>(of[0]) / n - mean;
            return static_cast<double>(of[w.a.channels]) + n * off * off;
        });
        moments[i][0] = static_cast<real>(mean);
        moments[i][1] = static_cast<real>(1 / sqrt(square / count + static_cast<double>(GROUP_NORM_EPSILON)));
        if (cuda_lane() > 0 || t.part > 0 || group * g.width < t.tile * CUDA_WARP) continue;
        w.a.mean[at] = moments[i][0];
        w.a.rstd[at] = moments[i][1];
    }
    __syncthreads();
}

// Calls f(element, channel, group of the tile) for the elements of a task, spread over the block's threads.
template <class F> static __device__ void each_element(const Work &w, const Task &t, const Groups &g, const F &f) {
    size_t left = t.tile * CUDA_WARP, width = w.a.channels - left < CUDA_WARP ? w.a.channels - left : CUDA_WARP;
    THREAD_LOOP(i, part_pixels(w, t.part) * width) {
        size_t pixel = cuda_quotient(i, width), c = left + i - pixel * width;
        f((t.image * w.pixels + t.part * w.part + pixel) * w.a.channels + c, c, cuda_quotient(c, g.width) - g.first);
    }
}

static __global__ void apply(Work w) {
    __shared__ real moments[CUDA_WARP][2];
    BLOCK_LOOP(index, w.a.shape.n * w.parts * w.tiles) {
        Task t = task_at(w, index);
        Groups g = groups_of(w, t);
        join_moments(w, t, g, moments);
        each_element(w, t, g, [&](size_t at, size_t c, size_t group) {
            real n = (w.a.x[at] - moments[group][0]) * moments[group][1];
            w.a.y[at] = silu_value(n * w.a.gain[c] + w.a.offset[c]);
        });
        __syncthreads(); // the moments have been read
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
        size_t group = t.image * w.a.groups + t.channel / (w.a.channels / w.a.groups);
        real sum = 0, product = 0, mean = t.there ? w.a.mean[group] : 0, rate = t.there ? w.a.rstd[group] : 0;
        for (size_t i = t.first; t.there && i < t.last; i += ROWS) {
            size_t at = (t.image * w.pixels + i) * w.a.channels + t.channel;
            real n = (w.a.x[at] - mean) * rate, slope = slope_at(w.a, t.channel, n, w.a.dy[at]);
            sum += slope;
            product += slope * n;
        }
        sum = sum_warps(sum);
        write_sums(w, t, sum, sum_warps(product));
    }
}

// The means of g and of g n over a tile's groups, a warp for each, in shared memory.
static __device__ void join_slopes(const Work &w, const Task &t, const Groups &g, real (*means)[2]) {
    const real *sums = w.sums + t.image * w.parts * 2 * w.a.channels;
    double count = static_cast<double>(w.pixels) * static_cast<double>(g.width);
    for (size_t i = cuda_warp(); i < g.count; i += ROWS)
        for (size_t which = 0; which < 2; which++) {
            double sum = sum_group(w, g, g.first + i, [&](size_t part, size_t c) {
                return static_cast<double>(w.a.gain[c]) *
                       static_cast<double>(sums[(2 * part + which) * w.a.channels + c]);
            });
            means[i][which] = static_cast<real>(sum / count);
        }
    __syncthreads();
}

// Gradients of a tile's gains and offsets: sums over the parts of all images, which the block's warps share.
static __device__ void add_parameters(const Work &w, const Task &t) {
    real offset = 0, gain = 0;
    for (size_t i = cuda_warp(); t.there && i < w.a.shape.n * w.parts; i += ROWS) {
        offset += w.sums[2 * i * w.a.channels + t.channel];
        gain += w.sums[(2 * i + 1) * w.a.channels + t.channel];
    }
    offset = sum_warps(offset);
    gain = sum_warps(gain);
    if (cuda_warp() != 0 || !t.there) return;
    if (w.a.doffset) w.a.doffset[t.channel] += offset;
    if (w.a.dgain) w.a.dgain[t.channel] += gain;
}

// dx = rate (g - mean(g) - n mean(g n)), g = slope * gain; the first block of a tile also takes its parameters.
static __global__ void add_dx(Work w) {
    __shared__ real means[CUDA_WARP][2];
    BLOCK_LOOP(index, w.a.shape.n * w.parts * w.tiles) {
        Task t = task_at(w, index);
        if (t.image == 0 && t.part == 0) add_parameters(w, t);
        if (!w.a.dx) continue;
        Groups g = groups_of(w, t);
        join_slopes(w, t, g, means);
        each_element(w, t, g, [&](size_t at, size_t c, size_t group) {
            size_t of = t.image * w.a.groups + g.first + group;
            real rate = w.a.rstd[of], n = (w.a.x[at] - w.a.mean[of]) * rate;
            real dx = rate * (slope_at(w.a, c, n, w.a.dy[at]) * w.a.gain[c] - means[group][0] - n * means[group][1]);
            w.a.dx[at] = (w.a.dx_is_new ? 0 : w.a.dx[at]) + dx;
        });
        __syncthreads(); // the means have been read
    }
}

static Work work_on(Device *device, const GroupNormArgs *a) {
    Work w = {};
    w.a = *a;
    w.pixels = a->shape.h * a->shape.w;
    w.part = w.pixels > PARTS * PART ? (w.pixels + PARTS - 1) / PARTS : PART;
    w.parts = (w.pixels + w.part - 1) / w.part;
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
    size_t blocks = cuda_blocks(a->shape.n * w.parts * w.tiles, 1);
    LAUNCH(device, blocks, CUDA_THREADS, 0, sum_moments, w);
    LAUNCH(device, blocks, CUDA_THREADS, 0, apply, w);
    arena_release(&device->scratch, mark);
}

void group_norm_backward_cuda(Device *device, const GroupNormArgs *a) {
    if (!begin(device, a, "group norm backward")) return;
    ArenaMark mark = arena_mark(&device->scratch);
    Work w = work_on(device, a);
    size_t blocks = cuda_blocks(a->shape.n * w.parts * w.tiles, 1);
    LAUNCH(device, blocks, CUDA_THREADS, 0, sum_slopes, w);
    LAUNCH(device, blocks, CUDA_THREADS, 0, add_dx, w);
    arena_release(&device->scratch, mark);
}
