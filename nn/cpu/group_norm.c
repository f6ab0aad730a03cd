// SPDX-License-Identifier: Apache-2.0
// Pixels are taken in chunks of fixed size, and what chunks give is added in their order: the result does not depend on the
// number of threads. Enough images: a thread takes one after the other, which then stays in its cache between the passes. Few
// images: the threads share the chunks of one.
#include "nn/group_norm.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/cpu/vector_math.h"
#include "nn/layer_norm.h"

enum { CHUNK = 256 }; // pixels

// One image's work: per chunk two rows of channels for sums, then rows of constants per channel.
typedef struct Work {
    const GroupNormArgs *a;
    size_t image, pixels, chunks;
    real *sums;                 // (chunks, 2, channels)
    real *mean, *rate, *factor; // (channels)
    real *lean, *tilt;          // (channels) backward: mean of g and of g n over the group
} Work;

static size_t work_size(const GroupNormArgs *a) {
    return (chunk_count(a->shape.h * a->shape.w, CHUNK) * 2 + 5) * a->channels;
}

static Work work_on(const GroupNormArgs *a, size_t image, real *memory) {
    Work w = {.a = a, .image = image, .pixels = a->shape.h * a->shape.w, .sums = memory};
    w.chunks = chunk_count(w.pixels, CHUNK);
    w.mean = memory + w.chunks * 2 * a->channels;
    w.rate = w.mean + a->channels;
    w.factor = w.rate + a->channels;
    w.lean = w.factor + a->channels;
    w.tilt = w.lean + a->channels;
    return w;
}

// First element of a chunk, in a tensor of pixels.
static inline size_t chunk_start(const Work *w, size_t chunk) { return (w->image * w->pixels + chunk * CHUNK) * w->a->channels; }

// Per channel: sum, and sum of squared differences from the chunk's own mean (no cancellation).
static void chunk_moments(const Work *w, size_t chunk) {
    size_t channels = w->a->channels, n = chunk_size(w->pixels, CHUNK, chunk);
    const real *x = w->a->x + chunk_start(w, chunk);
    real *restrict sum = w->sums + chunk * 2 * channels, *restrict square = sum + channels;
    memset(sum, 0, 2 * channels * sizeof *sum);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < channels; c++) sum[c] += x[i * channels + c];
    real part = 1 / (real)n;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < channels; c++) {
            real e = x[i * channels + c] - sum[c] * part;
            square[c] += e * e;
        }
}

// Joins the chunks' moments (Chan et al. 1979), in double.
static void group_moments(const Work *w, size_t group) {
    const GroupNormArgs *a = w->a;
    size_t width = a->channels / a->groups, first = group * width;
    double count = 0, mean = 0, square = 0;
    for (size_t chunk = 0; chunk < w->chunks; chunk++)
        for (size_t c = first; c < first + width; c++) {
            double n = (double)chunk_size(w->pixels, CHUNK, chunk), sum = (double)w->sums[chunk * 2 * a->channels + c];
            double difference = sum / n - mean, all = count + n;
            square += (double)w->sums[(chunk * 2 + 1) * a->channels + c] + difference * difference * count * n / all;
            mean += difference * n / all;
            count = all;
        }
    a->mean[w->image * a->groups + group] = (real)mean;
    a->rstd[w->image * a->groups + group] = (real)(1 / sqrt(square / count + (double)NORM_EPSILON));
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

static inline void apply(Activation act, const Work *w, size_t chunk) {
    size_t channels = w->a->channels, n = chunk_size(w->pixels, CHUNK, chunk), start = chunk_start(w, chunk);
    const real *restrict x = w->a->x + start, *restrict mean = w->mean, *restrict factor = w->factor, *restrict offset = w->a->offset;
    real *restrict y = w->a->y + start;
    for (size_t i = 0; i < n; i++, x += channels, y += channels)
#pragma omp simd
        for (size_t c = 0; c < channels; c++) y[c] = act_value(act, (x[c] - mean[c]) * factor[c] + offset[c]);
}

static void chunk_apply(const Work *w, size_t chunk) {
    if (w->a->act == ACTIVATION_SILU) apply(ACTIVATION_SILU, w, chunk);
    else if (w->a->act == ACTIVATION_RELU) apply(ACTIVATION_RELU, w, chunk);
    else apply(ACTIVATION_NONE, w, chunk);
}

// d loss / d (gain n + offset), with n the normalised x.
static inline real slope_at(Activation act, real n, real gain, real offset, real dy) { return act == ACTIVATION_NONE ? dy : dy * act_slope(act, n * gain + offset); }

// Per channel: sums of that slope and of slope times n. A new dx keeps the slopes for the second pass.
static inline void sum_slopes(Activation act, bool keep, const Work *w, size_t chunk) {
    const GroupNormArgs *a = w->a;
    size_t channels = a->channels, n = chunk_size(w->pixels, CHUNK, chunk), start = chunk_start(w, chunk);
    const real *restrict x = a->x + start, *restrict dy = a->dy + start, *restrict mean = w->mean, *restrict rate = w->rate;
    const real *restrict gain = a->gain, *restrict offset = a->offset;
    real *restrict sum = w->sums + chunk * 2 * channels, *restrict product = sum + channels, *restrict kept = keep ? a->dx + start : NULL;
    memset(sum, 0, 2 * channels * sizeof *sum);
    for (size_t i = 0; i < n; i++, x += channels, dy += channels)
#pragma omp simd
        for (size_t c = 0; c < channels; c++) {
            real normal = (x[c] - mean[c]) * rate[c], g = slope_at(act, normal, gain[c], offset[c], dy[c]);
            sum[c] += g;
            product[c] += g * normal;
            if (keep) kept[i * channels + c] = g;
        }
}

static void chunk_slopes(const Work *w, size_t chunk) {
    bool keep = w->a->dx && w->a->dx_is_new;
    if (w->a->act == ACTIVATION_SILU && keep) sum_slopes(ACTIVATION_SILU, true, w, chunk);
    else if (w->a->act == ACTIVATION_SILU) sum_slopes(ACTIVATION_SILU, false, w, chunk);
    else if (w->a->act == ACTIVATION_RELU) sum_slopes(ACTIVATION_RELU, keep, w, chunk);
    else sum_slopes(ACTIVATION_NONE, keep, w, chunk);
}

// Adds the chunks up into the image's row of parameter gradients (2, channels), and finds lean and tilt.
static void join_slopes(const Work *w, real *total) {
    const GroupNormArgs *a = w->a;
    size_t channels = a->channels, width = channels / a->groups;
    memset(total, 0, 2 * channels * sizeof *total);
    for (size_t chunk = 0; chunk < w->chunks; chunk++)
        for (size_t c = 0; c < 2 * channels; c++) total[c] += w->sums[chunk * 2 * channels + c];
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

// dx = rate (g - mean(g) - n mean(g n)), g = slope * gain.
static inline void add_dx(Activation act, const Work *w, size_t chunk) {
    const GroupNormArgs *a = w->a;
    size_t channels = a->channels, n = chunk_size(w->pixels, CHUNK, chunk), start = chunk_start(w, chunk);
    const real *restrict x = a->x + start, *restrict dy = a->dy + start, *restrict mean = w->mean, *restrict rate = w->rate;
    const real *restrict gain = a->gain, *restrict offset = a->offset, *restrict lean = w->lean, *restrict tilt = w->tilt;
    real *restrict dx = a->dx + start;
    bool is_new = a->dx_is_new;
    for (size_t i = 0; i < n; i++, x += channels, dy += channels, dx += channels)
#pragma omp simd
        for (size_t c = 0; c < channels; c++) {
            real normal = (x[c] - mean[c]) * rate[c], g = is_new ? dx[c] : slope_at(act, normal, gain[c], offset[c], dy[c]);
            dx[c] = (is_new ? 0 : dx[c]) + rate[c] * (g * gain[c] - lean[c] - normal * tilt[c]);
        }
}

static void chunk_dx(const Work *w, size_t chunk) {
    if (w->a->act == ACTIVATION_SILU) add_dx(ACTIVATION_SILU, w, chunk);
    else if (w->a->act == ACTIVATION_RELU) add_dx(ACTIVATION_RELU, w, chunk);
    else add_dx(ACTIVATION_NONE, w, chunk);
}

typedef void (*ChunkFunction)(const Work *, size_t chunk);

static void each_chunk(const Work *w, int threads, ChunkFunction function) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (size_t chunk = 0; chunk < w->chunks; chunk++) function(w, chunk);
}

static void image_forward(const Work *w, int threads) {
    each_chunk(w, threads, chunk_moments);
    for (size_t group = 0; group < w->a->groups; group++) group_moments(w, group);
    spread_moments(w);
    each_chunk(w, threads, chunk_apply);
}

static void image_backward(const Work *w, int threads, real *total) {
    spread_moments(w);
    each_chunk(w, threads, chunk_slopes);
    join_slopes(w, total);
    if (w->a->dx) each_chunk(w, threads, chunk_dx);
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
    if (totals) each_image(device, a, totals);
    for (size_t image = 0; image < a->shape.n && !device->failed; image++)
        for (size_t c = 0; c < a->channels; c++) {
            if (a->doffset) a->doffset[c] += totals[image * 2 * a->channels + c];
            if (a->dgain) a->dgain[c] += totals[(image * 2 + 1) * a->channels + c];
        }
    arena_release(&device->scratch, mark);
}
