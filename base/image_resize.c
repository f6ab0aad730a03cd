// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/image.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define ONE_SURFACE 1.05 // neighbours within 5 % of depth

// The weights with which input samples first .. first + count - 1 make one output sample along one axis.
typedef struct Taps {
    int first, count;
    double weight[2]; // of the first and the last when bilinear; edge shares when averaging
} Taps;

// Area average: the output sample covers [begin, end) of the input.
static Taps area_taps(int i, int from, int to) {
    double begin = (double)i * from / to, end = (double)(i + 1) * from / to;
    int first = (int)floor(begin), last = (int)ceil(end) - 1;
    if (last >= from) last = from - 1;
    if (last < first) last = first;
    Taps taps = {first, last - first + 1, {first + 1 - begin, end - last}};
    if (taps.count == 1) taps.weight[0] = 1;
    return taps;
}

// Bilinear between the two nearest centres, clamped at the edge.
static Taps linear_taps(int i, int from, int to) {
    double x = (i + 0.5) * from / to - 0.5;
    int first = (int)floor(x);
    double t = x - first;
    if (first < 0) return (Taps){0, 1, {1, 0}};
    if (first >= from - 1) return (Taps){from - 1, 1, {1, 0}};
    return (Taps){first, 2, {1 - t, t}};
}

static Taps make_taps(int i, int from, int to) { return to < from ? area_taps(i, from, to) : linear_taps(i, from, to); }

static double tap_weight(const Taps *taps, int k, bool averaging) {
    if (k == 0) return taps->weight[0];
    return k == taps->count - 1 ? taps->weight[1] : averaging ? 1 : 0;
}

static uint8_t mix(const Image *in, const Taps *rows, const Taps *columns, bool average_rows, bool average_columns,
                   int c) {
    const uint8_t *pixels = in->pixels;
    double sum = 0, total = 0;
    for (int j = 0; j < rows->count; j++) {
        for (int i = 0; i < columns->count; i++) {
            double w = tap_weight(rows, j, average_rows) * tap_weight(columns, i, average_columns);
            size_t at = (size_t)(rows->first + j) * (size_t)in->W + (size_t)(columns->first + i);
            sum += w * pixels[at * (size_t)in->channels + (size_t)c];
            total += w;
        }
    }
    return (uint8_t)(sum / total + 0.5);
}

Status image_resize(const Image *image, int H, int W, Image *out, Error *err) {
    CHECK(image->type == PIXEL_U8);
    Status status = image_create(H, W, image->channels, PIXEL_U8, out, err);
    if (status) return status;
    uint8_t *pixels = out->pixels;
    for (int y = 0; y < H; y++) {
        Taps rows = make_taps(y, image->H, H);
        for (int x = 0; x < W; x++) {
            Taps columns = make_taps(x, image->W, W);
            for (int c = 0; c < image->channels; c++)
                *pixels++ = mix(image, &rows, &columns, H < image->H, W < image->W, c);
        }
    }
    return STATUS_OK;
}

// First and one past the last input sample whose centre output sample i covers; the nearest one when there is none.
static void covered(int i, int from, int to, int *begin, int *end) {
    *begin = (int)ceil((double)i * from / to - 0.5);
    *end = (int)ceil((double)(i + 1) * from / to - 0.5);
    if (*begin < *end) return;
    *begin = (int)floor((i + 0.5) * from / to);
    if (*begin > from - 1) *begin = from - 1;
    *end = *begin + 1;
}

static double depth_at(const Image *image, int y, int x) {
    size_t at = (size_t)y * (size_t)image->W + (size_t)x;
    return image->type == PIXEL_U16 ? ((const uint16_t *)image->pixels)[at] : ((const float *)image->pixels)[at];
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median of the valid values in the block, 0 when fewer than half of them are valid. The two in the middle of an even
// number are averaged when they lie on one surface, else the nearer one stands.
static double block_depth(const Image *image, const int rows[2], const int columns[2], double *scratch) {
    size_t count = 0, all = (size_t)(rows[1] - rows[0]) * (size_t)(columns[1] - columns[0]);
    for (int y = rows[0]; y < rows[1]; y++) {
        for (int x = columns[0]; x < columns[1]; x++) {
            double depth = depth_at(image, y, x);
            if (isfinite(depth) && depth > 0) scratch[count++] = depth;
        }
    }
    if (2 * count < all || count == 0) return 0;
    qsort(scratch, count, sizeof *scratch, compare_doubles);
    double low = scratch[(count - 1) / 2], high = scratch[count / 2];
    return high <= ONE_SURFACE * low ? 0.5 * (low + high) : low;
}

Status image_resize_depth(const Image *image, int H, int W, Image *out, Error *err) {
    CHECK(image->channels == 1 && image->type != PIXEL_U8);
    Status status = image_create(H, W, 1, image->type, out, err);
    if (status) return status;
    size_t block = ((size_t)(image->H / H) + 2) * ((size_t)(image->W / W) + 2);
    double *scratch = malloc(block * sizeof *scratch);
    if (!scratch) {
        image_free(out);
        return error_set(err, STATUS_FAILED, "no memory to resize a picture");
    }
    for (int y = 0; y < H; y++) {
        int rows[2], columns[2];
        covered(y, image->H, H, &rows[0], &rows[1]);
        for (int x = 0; x < W; x++) {
            covered(x, image->W, W, &columns[0], &columns[1]);
            double depth = block_depth(image, rows, columns, scratch);
            size_t at = (size_t)y * (size_t)W + (size_t)x;
            if (image->type == PIXEL_U16) ((uint16_t *)out->pixels)[at] = (uint16_t)(depth + 0.5);
            else ((float *)out->pixels)[at] = (float)depth;
        }
    }
    free(scratch);
    return STATUS_OK;
}
