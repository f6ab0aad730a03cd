// SPDX-License-Identifier: Apache-2.0
// Pixels are taken in chunks of fixed size, and the results of chunks are added in order: they do not depend on the
// number of threads. With enough images, each thread takes whole images, which stay in its cache between the passes.
// With few, the threads share the chunks of an image.
#include "nn/group_norm.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/cpu/vector_math.h"

enum { CHUNK_PIXELS = 256 };

// One image's work. Its channels lie in planes of `run` (image_shape.h); a chunk is some pixels of one plane.
typedef struct Work {
    const GroupNormArgs *a;
    size_t image, pixels, run, parts; // parts: chunks of a plane
    real *sums;                       // (parts, 2, channels)
    real *mean, *rate, *factor;       // (channels)
    real *lean, *tilt;                // (channels) backward: mean of g and of g n over the group
} Work;

typedef struct Chunk {
    size_t count, start; // pixels, and first element in tensors
    size_t channel;      // first channel
    real *sum, *other;   // (run) of the chunk's two rows of sums
} Chunk;

static size_t work_size(const GroupNormArgs *a) {
    return (chunk_count(a->shape.h * a->shape.w, CHUNK_PIXELS) * 2 + 5) * a->channels;
}

static Work work_on(const GroupNormArgs *a, size_t image, real *memory) {
    Work w = {.a = a,
              .image = image,
              .pixels = a->shape.h * a->shape.w,
              .run = image_run(a->block, a->channels),
              .sums = memory};
    w.parts = chunk_count(w.pixels, CHUNK_PIXELS);
    w.mean = memory + w.parts * 2 * a->channels;
    w.rate = w.mean + a->channels;
    w.factor = w.rate + a->channels;
    w.lean = w.factor + a->channels;
    w.tilt = w.lean + a->channels;
    return w;
}

static inline Chunk chunk_at(const Work *w, size_t index) {
    size_t plane = index / w->parts, part = index % w->parts, channels = w->a->channels;
    Chunk c = {.count = chunk_size(w->pixels, CHUNK_PIXELS, part), .channel = plane * w->run};
    c.start = ((w->image * channels / w->run + plane) * w->pixels + part * CHUNK_PIXELS) * w->run;
    c.sum = w->sums + part * 2 * channels + c.channel;
    c.other = c.sum + channels;
    return c;
}

// Per channel: sum, and sum of squared differences from the chunk's own mean (no cancellation).
CPU_INLINE void sum_moments(size_t run, const Work *w, Chunk k) {
    const real *restrict x = w->a->x + k.start;
    real *restrict sum = k.sum, *restrict square = k.other, part = 1 / (real)k.count;
    for (size_t c = 0; c < run; c++) sum[c] = square[c] = 0;
    for (size_t i = 0; i < k.count; i++)
#pragma omp simd
        for (size_t c = 0; c < run; c++) sum[c] += x[i * run + c];
    for (size_t i = 0; i < k.count; i++)
#pragma omp simd
        for (size_t c = 0; c < run; c++) {
            real e = x[i * run + c] - sum[c] * part;
            square[c] += e * e;
        }
}

// Joins the chunks' moments (Chan et al. 1979), in double.
static void group_moments(const Work *w, size_t group) {
    const GroupNormArgs *a = w->a;
    size_t width = a->channels / a->groups, first = group * width;
    double count = 0, mean = 0, square = 0;
    for (size_t part = 0; part < w->parts; part++)
        for (size_t c = first; c < first + width; c++) {
            double n = (double)chunk_size(w->pixels, CHUNK_PIXELS, part),
                   sum = (double)w->sums[part * 2 * a->channels + c];
            double difference = sum / n - mean, all = count + n;
            square += (double)w->sums[(part * 2 + 1) * a->channels + c] + difference * difference * count * n / all;
            mean += difference * n / all;
            count = all;
        }
    a->mean[w->image * a->groups + group] = (real)mean;
    a->rstd[w->image * a->groups + group] = (real)(1 / sqrt(square / count + (double)GROUP_NORM_EPSILON));
}

static void spread_moments(const Work *w) {
    const GroupNormArgs *a = w->a;
    size_t width = a->channels / a->groups;
    for (size_t c = 0; c < a->channels; c++) {
        size_t group = w->image * a->groups + c / width;
        w->mean[c] = a->mean[group];
        w->rate[c] = a->rstd[group];
        w->factor[c] = a->rstd[group] * a->gain[c];
    }
}

CPU_INLINE void apply(size_t run, const Work *w, Chunk k) {
    const real *restrict x = w->a->x + k.start, *restrict mean = w->mean + k.channel,
                         *restrict factor = w->factor + k.channel;
    const real *restrict offset = w->a->offset + k.channel;
    real *restrict y = w->a->y + k.start;
    for (size_t i = 0; i < k.count; i++)
#pragma omp simd
        for (size_t c = 0; c < run; c++)
            y[i * run + c] = silu_value((x[i * run + c] - mean[c]) * factor[c] + offset[c]);
}

// d loss / d (gain n + offset), with n the normalised x.
static inline real slope_at(real n, real gain, real offset, real dy) { return dy * silu_slope(n * gain + offset); }

// Per channel: sums of that slope and of slope times n. A new dx keeps the slopes for the second pass.
CPU_INLINE void sum_slopes(size_t run, bool keep, const Work *w, Chunk k) {
    const GroupNormArgs *a = w->a;
    const real *restrict x = a->x + k.start, *restrict dy = a->dy + k.start, *restrict mean = w->mean + k.channel,
                         *restrict rate = w->rate + k.channel;
    const real *restrict gain = a->gain + k.channel, *restrict offset = a->offset + k.channel;
    real *restrict sum = k.sum, *restrict product = k.other, *restrict kept = keep ? a->dx + k.start : NULL;
    for (size_t c = 0; c < run; c++) sum[c] = product[c] = 0;
    for (size_t i = 0; i < k.count; i++)
#pragma omp simd
        for (size_t c = 0; c < run; c++) {
            real normal = (x[i * run + c] - mean[c]) * rate[c],
                 g = slope_at(normal, gain[c], offset[c], dy[i * run + c]);
            sum[c] += g;
            product[c] += g * normal;
            if (keep) kept[i * run + c] = g;
        }
}

// dx = rate (g - mean(g) - n mean(g n)), g = slope * gain.
CPU_INLINE void add_dx(size_t run, bool is_new, const Work *w, Chunk k) {
    const GroupNormArgs *a = w->a;
    const real *restrict x = a->x + k.start, *restrict dy = a->dy + k.start, *restrict mean = w->mean + k.channel,
                         *restrict rate = w->rate + k.channel;
    const real *restrict gain = a->gain + k.channel, *restrict offset = a->offset + k.channel,
                         *restrict lean = w->lean + k.channel, *restrict tilt = w->tilt + k.channel;
    real *restrict dx = a->dx + k.start;
    for (size_t i = 0; i < k.count; i++)
#pragma omp simd
        for (size_t c = 0; c < run; c++) {
            size_t at = i * run + c;
            real normal = (x[at] - mean[c]) * rate[c],
                 g = is_new ? dx[at] : slope_at(normal, gain[c], offset[c], dy[at]);
            dx[at] = (is_new ? 0 : dx[at]) + rate[c] * (g * gain[c] - lean[c] - normal * tilt[c]);
        }
}

// Processes every chunk. The loops above are specialised for each common run length.
typedef enum Pass { PASS_MOMENTS, PASS_APPLY, PASS_SLOPES, PASS_DX } Pass;

CPU_INLINE void run_pass(size_t run, Pass pass, const Work *w, Chunk k) {
    bool is_new = w->a->dx && w->a->dx_is_new;
    if (pass == PASS_MOMENTS) sum_moments(run, w, k);
    else if (pass == PASS_APPLY) apply(run, w, k);
    else if (pass == PASS_SLOPES && is_new) sum_slopes(run, true, w, k);
    else if (pass == PASS_SLOPES) sum_slopes(run, false, w, k);
    else if (is_new) add_dx(run, true, w, k);
    else if (w->a->dx) add_dx(run, false, w, k);
}

static void chunk_pass(Pass pass, const Work *w, size_t index) {
    Chunk k = chunk_at(w, index);
    if (w->run == 8) run_pass(8, pass, w, k);
    else if (w->run == 16) run_pass(16, pass, w, k);
    else run_pass(w->run, pass, w, k);
}

// Sums the chunks into the image's row of parameter gradients (2, channels), and computes lean and tilt.
static void join_slopes(const Work *w, real *total) {
    const GroupNormArgs *a = w->a;
    size_t channels = a->channels, width = channels / a->groups;
    memset(total, 0, 2 * channels * sizeof *total);
    for (size_t part = 0; part < w->parts; part++)
        for (size_t c = 0; c < 2 * channels; c++) total[c] += w->sums[part * 2 * channels + c];
    for (size_t first = 0; first < channels; first += width) {
        double sum = 0, product = 0, count = (double)w->pixels * (double)width;
        for (size_t c = first; c < first + width; c++) {
            sum += (double)a->gain[c] * (double)total[c];
            product += (double)a->gain[c] * (double)total[channels + c];
        }
        for (size_t c = first; c < first + width; c++) {
            w->lean[c] = (real)(sum / count);
            w->tilt[c] = (real)(product / count);
        }
    }
}

static void each_chunk(Pass pass, const Work *w, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (size_t index = 0; index < w->a->channels / w->run * w->parts; index++) chunk_pass(pass, w, index);
}

static void image_forward(const Work *w, int threads) {
    each_chunk(PASS_MOMENTS, w, threads);
    for (size_t group = 0; group < w->a->groups; group++) group_moments(w, group);
    spread_moments(w);
    each_chunk(PASS_APPLY, w, threads);
}

static void image_backward(const Work *w, int threads, real *total) {
    spread_moments(w);
    each_chunk(PASS_SLOPES, w, threads);
    join_slopes(w, total);
    if (w->a->dx) each_chunk(PASS_DX, w, threads);
}

// `totals` NULL: forward.
static void each_image(Device *device, const GroupNormArgs *a, real *totals) {
    int outer = a->shape.n >= (size_t)device->threads ? device->threads : 1, inner = outer > 1 ? 1 : device->threads;
    size_t size = work_size(a), width = 2 * a->channels;
    real *memory = device_scratch(device, a->shape.n * size);
    if (!memory) return;
#pragma omp parallel for schedule(dynamic) num_threads(outer) if (outer > 1)
    for (size_t image = 0; image < a->shape.n; image++) {
        Work w = work_on(a, image, memory + image * size);
        if (totals) image_backward(&w, inner, totals + image * width);
        else image_forward(&w, inner);
    }
}

void CPU_FN(group_norm_forward)(Device *device, const GroupNormArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    each_image(device, a, NULL);
    arena_release(&device->scratch, mark);
}

void CPU_FN(group_norm_backward)(Device *device, const GroupNormArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    real *totals = device_scratch(device, a->shape.n * 2 * a->channels);
    if (!totals) return;
    each_image(device, a, totals);
    for (size_t image = 0; image < a->shape.n && !device->failed; image++)
        for (size_t c = 0; c < a->channels; c++) {
            if (a->doffset) a->doffset[c] += totals[image * 2 * a->channels + c];
            if (a->dgain) a->dgain[c] += totals[(image * 2 + 1) * a->channels + c];
        }
    arena_release(&device->scratch, mark);
}
