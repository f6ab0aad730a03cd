// SPDX-License-Identifier: Apache-2.0
#include "nn/group_norm.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/cpu/vector_math.h"

// Images are cut into chunks of pixels; each chunk's sums are kept apart (in real, over few enough values to be exact to
// rounding) and added in order, in double. So the result does not depend on the number of threads.
enum { CHUNK = 512 };

typedef struct Chunks {
    size_t per_image, count, pixels; // pixels of an image
} Chunks;

static Chunks cut(ImageShape shape) {
    size_t pixels = shape.h * shape.w, per_image = chunk_count(pixels, CHUNK);
    return (Chunks){per_image, per_image * shape.n, pixels};
}

// First row of chunk c in the tensor, and how many.
static size_t chunk_rows(Chunks chunks, size_t c, size_t *first) {
    size_t image = c / chunks.per_image, inside = c % chunks.per_image;
    *first = image * chunks.pixels + inside * CHUNK;
    return chunk_size(chunks.pixels, CHUNK, inside);
}

// sums (2, channels): of x and of x^2.
static void sum_chunk(const real *x, size_t rows, size_t channels, real *sums) {
    memset(sums, 0, 2 * channels * sizeof *sums);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < channels; c++) {
            real v = x[i * channels + c];
            sums[c] += v;
            sums[channels + c] += v * v;
        }
}

static void finish_statistics(const GroupNormArgs *a, Chunks chunks, const real *partial) {
    size_t width = a->channels / a->groups;
    double size = (double)(width * chunks.pixels);
    for (size_t g = 0; g < a->shape.n * a->groups; g++) {
        size_t image = g / a->groups, first = g % a->groups * width;
        double sum = 0, square = 0;
        for (size_t c = image * chunks.per_image; c < (image + 1) * chunks.per_image; c++)
            for (size_t j = first; j < first + width; j++) {
                sum += (double)partial[2 * c * a->channels + j];
                square += (double)partial[(2 * c + 1) * a->channels + j];
            }
        double mean = sum / size, variance = square / size - mean * mean;
        a->mean[g] = (real)mean;
        a->rstd[g] = (real)(1 / sqrt((variance > 0 ? variance : 0) + 1e-5));
    }
}

// y = act(scale x + shift), scale and shift per channel.
static void normalise_chunk(const GroupNormArgs *a, size_t image, size_t first, size_t rows, real *scale, real *shift) {
    size_t channels = a->channels, width = channels / a->groups;
    for (size_t c = 0; c < channels; c++) {
        size_t g = image * a->groups + c / width;
        scale[c] = a->gain[c] * a->rstd[g];
        shift[c] = a->offset[c] - scale[c] * a->mean[g];
    }
    for (size_t i = first; i < first + rows; i++) {
        real *y = a->y + i * channels;
        for (size_t c = 0; c < channels; c++) y[c] = scale[c] * a->x[i * channels + c] + shift[c];
    }
    act_rows(a->act, rows * channels, a->y + first * channels, a->y + first * channels);
}

void CPU_FN(group_norm_forward)(Device *device, const GroupNormArgs *a) {
    Chunks chunks = cut(a->shape);
    ArenaMark mark = arena_mark(&device->scratch);
    real *partial = device_scratch(device, 2 * chunks.count * a->channels);
    if (!partial) return;
#pragma omp parallel num_threads(device->threads)
    {
#pragma omp for schedule(static)
        for (size_t c = 0; c < chunks.count; c++) {
            size_t first, rows = chunk_rows(chunks, c, &first);
            sum_chunk(a->x + first * a->channels, rows, a->channels, partial + 2 * c * a->channels);
        }
#pragma omp single
        finish_statistics(a, chunks, partial);
#pragma omp for schedule(static)
        for (size_t c = 0; c < chunks.count; c++) {
            size_t first, rows = chunk_rows(chunks, c, &first);
            real *scale = partial + 2 * c * a->channels; // its sums are used up
            normalise_chunk(a, c / chunks.per_image, first, rows, scale, scale + a->channels);
        }
    }
    arena_release(&device->scratch, mark);
}

// Per channel of one image: xhat = rstd x - mean rstd.
static inline real normalised(const GroupNormArgs *a, size_t group, real x) { return (x - a->mean[group]) * a->rstd[group]; }

// sums (2, channels): of dz and of dz xhat, with z = gain xhat + offset, dz = dy act'(z).
static void sum_chunk_backward(const GroupNormArgs *a, size_t image, size_t first, size_t rows, real *sums) {
    size_t channels = a->channels, width = channels / a->groups;
    memset(sums, 0, 2 * channels * sizeof *sums);
    for (size_t i = first; i < first + rows; i++)
        for (size_t c = 0; c < channels; c++) {
            real hat = normalised(a, image * a->groups + c / width, a->x[i * channels + c]);
            real dz = a->dy[i * channels + c] * act_slope(a->act, a->gain[c] * hat + a->offset[c]);
            sums[c] += dz;
            sums[channels + c] += dz * hat;
        }
}

// Gradients of gain and offset, and for each group the means of dxhat and dxhat xhat: means (2, n, groups).
static void finish_backward(const GroupNormArgs *a, Chunks chunks, const real *partial, real *means) {
    size_t width = a->channels / a->groups, group_count = a->shape.n * a->groups;
    double size = (double)(width * chunks.pixels);
    memset(means, 0, 2 * group_count * sizeof *means);
    for (size_t image = 0; image < a->shape.n; image++)
        for (size_t j = 0; j < a->channels; j++) {
            double sum = 0, hat_sum = 0;
            for (size_t c = image * chunks.per_image; c < (image + 1) * chunks.per_image; c++) {
                sum += (double)partial[2 * c * a->channels + j];
                hat_sum += (double)partial[(2 * c + 1) * a->channels + j];
            }
            if (a->doffset) a->doffset[j] += (real)sum;
            if (a->dgain) a->dgain[j] += (real)hat_sum;
            size_t g = image * a->groups + j / width;
            means[g] += (real)((double)a->gain[j] * sum / size);
            means[group_count + g] += (real)((double)a->gain[j] * hat_sum / size);
        }
}

static void backward_chunk(const GroupNormArgs *a, size_t image, size_t first, size_t rows, const real *means) {
    size_t channels = a->channels, width = channels / a->groups, group_count = a->shape.n * a->groups;
    for (size_t i = first; i < first + rows; i++)
        for (size_t c = 0; c < channels; c++) {
            size_t g = image * a->groups + c / width, at = i * channels + c;
            real hat = normalised(a, g, a->x[at]);
            real dz = a->dy[at] * act_slope(a->act, a->gain[c] * hat + a->offset[c]);
            real dx = a->rstd[g] * (a->gain[c] * dz - means[g] - hat * means[group_count + g]);
            a->dx[at] = a->dx_is_new ? dx : a->dx[at] + dx;
        }
}

void CPU_FN(group_norm_backward)(Device *device, const GroupNormArgs *a) {
    Chunks chunks = cut(a->shape);
    ArenaMark mark = arena_mark(&device->scratch);
    real *partial = device_scratch(device, 2 * chunks.count * a->channels);
    real *means = device_scratch(device, 2 * a->shape.n * a->groups);
    if (!partial || !means) return;
#pragma omp parallel num_threads(device->threads)
    {
#pragma omp for schedule(static)
        for (size_t c = 0; c < chunks.count; c++) {
            size_t first, rows = chunk_rows(chunks, c, &first);
            sum_chunk_backward(a, c / chunks.per_image, first, rows, partial + 2 * c * a->channels);
        }
#pragma omp single
        finish_backward(a, chunks, partial, means);
#pragma omp for schedule(static)
        for (size_t c = 0; c < chunks.count; c++) {
            size_t first, rows = chunk_rows(chunks, c, &first);
            if (a->dx) backward_chunk(a, c / chunks.per_image, first, rows, means);
        }
    }
    arena_release(&device->scratch, mark);
}
