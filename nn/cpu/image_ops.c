// SPDX-License-Identifier: Apache-2.0
#include "nn/image_ops.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

static size_t row_of(ImageShape s, size_t n, size_t i, size_t j) { return (n * s.h + i) * s.w + j; }
static size_t at_most(size_t a, size_t b) { return a < b ? a : b; }

// The pixel of x that pixel (n,i,j) of y repeats.
static size_t source_row(const ImageOpArgs *a, size_t n, size_t i, size_t j) {
    if (a->kind == IMAGE_UPSAMPLE) return row_of(a->from, n, i / 2, j / 2);
    return row_of(a->from, n, at_most(i, a->from.h - 1), at_most(j, a->from.w - 1));
}

static void pool_pixel(const ImageOpArgs *a, size_t n, size_t i, size_t j) {
    const real *x = a->x + row_of(a->from, n, 2 * i, 2 * j) * a->channels, *below = x + a->from.w * a->channels;
    real *y = a->y + row_of(a->to, n, i, j) * a->y_stride + a->y_first;
    for (size_t c = 0; c < a->channels; c++) y[c] = (x[c] + x[a->channels + c] + below[c] + below[a->channels + c]) / 4;
}

void CPU_FN(image_op_forward)(Device *device, const ImageOpArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t row = 0; row < a->to.n * a->to.h; row++) {
        size_t n = row / a->to.h, i = row % a->to.h;
        for (size_t j = 0; j < a->to.w; j++) {
            if (a->kind == IMAGE_AVERAGE_POOL) pool_pixel(a, n, i, j);
            else memcpy(a->y + row_of(a->to, n, i, j) * a->y_stride + a->y_first, a->x + source_row(a, n, i, j) * a->channels, a->channels * sizeof(real));
        }
    }
}

static void unpool_row(const ImageOpArgs *a, size_t n, size_t i) {
    for (size_t j = 0; j < a->from.w; j++) {
        real *dx = a->dx + row_of(a->from, n, i, j) * a->channels;
        const real *dy = a->dy + row_of(a->to, n, i / 2, j / 2) * a->y_stride + a->y_first;
        for (size_t c = 0; c < a->channels; c++) dx[c] += dy[c] / 4;
    }
}

// Every pixel of y's row i adds into the one it repeats.
static void gather_row(const ImageOpArgs *a, size_t n, size_t i) {
    for (size_t j = 0; j < a->to.w; j++) {
        real *dx = a->dx + source_row(a, n, i, j) * a->channels;
        const real *dy = a->dy + row_of(a->to, n, i, j) * a->y_stride + a->y_first;
        for (size_t c = 0; c < a->channels; c++) dx[c] += dy[c];
    }
}

// Rows of y whose pixels repeat row i of x: [first, last).
static void rows_from(const ImageOpArgs *a, size_t i, size_t *first, size_t *last) {
    *first = a->kind == IMAGE_UPSAMPLE ? 2 * i : at_most(i, a->to.h);
    *last = a->kind == IMAGE_UPSAMPLE ? 2 * i + 2 : at_most(i + 1, a->to.h);
    if (a->kind == IMAGE_PAD && i + 1 == a->from.h) *last = a->to.h;
}

void CPU_FN(image_op_backward)(Device *device, const ImageOpArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t row = 0; row < a->from.n * a->from.h; row++) {
        size_t n = row / a->from.h, i = row % a->from.h, first, last;
        if (a->kind == IMAGE_AVERAGE_POOL) {
            unpool_row(a, n, i);
            continue;
        }
        rows_from(a, i, &first, &last);
        for (size_t k = first; k < last; k++) gather_row(a, n, k);
    }
}
