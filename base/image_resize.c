// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/image.h"

#include <math.h>
#include <stdbool.h>

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
