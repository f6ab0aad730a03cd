// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/image.h"
#include "base/sort.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define ONE_SURFACE 1.05 // neighbours within 5 % of depth
#define SAME_SLOPE 0.5   // steps of 1/z that differ by less than half go on along one surface
enum { SAMPLES_MAX = 16 };

// Units of a pixel; 0 outside of the picture and where depth is missing.
static double depth_at(const Image *image, int y, int x) {
    if (y < 0 || x < 0 || y >= image->H || x >= image->W) return 0;
    size_t at = (size_t)y * (size_t)image->W + (size_t)x;
    double depth =
        image->type == PIXEL_U16 ? ((const uint16_t *)image->pixels)[at] : ((const float *)image->pixels)[at];
    return isfinite(depth) && depth > 0 ? depth : 0;
}

// Does the step of 1/z from `a` to `b` go on behind `b`?
static bool goes_on(double a, double b, double next) {
    double step = 1 / b - 1 / a;
    return next > 0 && fabs(1 / next - 1 / b - step) < SAME_SLOPE * fabs(step);
}

// Do the neighbours (x, y) and (x + dx, y + dy) show one surface? A steep one is told from an edge by its slope, which
// in 1/z is the same before or behind them.
static bool one_surface(const Image *in, int x, int y, int dx, int dy) {
    double a = depth_at(in, y, x), b = depth_at(in, y + dy, x + dx);
    if (fmax(a, b) <= ONE_SURFACE * fmin(a, b)) return true;
    return goes_on(a, b, depth_at(in, y + 2 * dy, x + 2 * dx)) || goes_on(b, a, depth_at(in, y - dy, x - dx));
}

// The pixel below `u` that has a neighbour above it, and how far `u` lies from it to that one.
static int base_pixel(double u, int side, double *share) {
    int first = (int)fmin(fmax(floor(u - 0.5), 0), side > 1 ? side - 2 : 0);
    *share = side > 1 ? u - 0.5 - first : 0;
    return first;
}

static double nearest_depth(const Image *in, double x, double y) { return depth_at(in, (int)floor(y), (int)floor(x)); }

// Linear in 1/z, which is exact on a plane, where the four pixels around show one surface; else the nearest.
static double sample(const Image *in, double x, double y) {
    double s, t, sum = 0;
    int left = base_pixel(x, in->W, &s), top = base_pixel(y, in->H, &t), dx = in->W > 1, dy = in->H > 1;
    const double weight[4] = {(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t};
    for (int i = 0; i < 4; i++) {
        double depth = depth_at(in, top + (i / 2) * dy, left + (i % 2) * dx);
        if (!(depth > 0)) return nearest_depth(in, x, y);
        sum += weight[i] / depth;
    }
    bool one = one_surface(in, left, top, dx, 0) && one_surface(in, left, top + dy, dx, 0) &&
               one_surface(in, left, top, 0, dy) && one_surface(in, left + dx, top, 0, dy);
    return one && sum > 0 ? 1 / sum : nearest_depth(in, x, y);
}

static double mapped_sample(const Image *in, PixelMap map, double x, double y) {
    double at[2];
    map.at(map.owner, x, y, at);
    bool inside = at[0] >= 0 && at[1] >= 0 && at[0] < in->W && at[1] < in->H;
    return inside ? sample(in, at[0], at[1]) : 0;
}

// Median in 1/z of samples that lie evenly in the new pixel, so that it is right on a plane; 0 when fewer than half are
// known. Where the two in the middle of an even number lie on two surfaces, the sample at the centre decides.
static double pixel_depth(const Image *in, int y, int x, PixelMap map, const int samples[2]) {
    double inverse[SAMPLES_MAX * SAMPLES_MAX];
    int known = 0, all = samples[0] * samples[1];
    for (int i = 0; i < all; i++) {
        int column = i % samples[0], row = i / samples[0];
        double depth = mapped_sample(in, map, x + (column + 0.5) / samples[0], y + (row + 0.5) / samples[1]);
        if (depth > 0) inverse[known++] = 1 / depth;
    }
    if (2 * known < all || known == 0) return 0;
    sort_doubles(inverse, (size_t)known);
    double low = inverse[(known - 1) / 2], high = inverse[known / 2];
    if (high <= ONE_SURFACE * low) return 2 / (low + high);
    double centre = mapped_sample(in, map, x + 0.5, y + 0.5);
    return centre > 0 ? centre : 1 / high;
}

// One sample along each axis for every old pixel that a new one covers, by the map in the middle of the picture.
static void count_samples(int H, int W, PixelMap map, int samples[2]) {
    for (int axis = 0; axis < 2; axis++) {
        double a[2], b[2], dx = axis == 0 ? 0.5 : 0, dy = 0.5 - dx;
        map.at(map.owner, 0.5 * W - dx, 0.5 * H - dy, a);
        map.at(map.owner, 0.5 * W + dx, 0.5 * H + dy, b);
        double covered = ceil(hypot(b[0] - a[0], b[1] - a[1]) - 1e-6);
        samples[axis] = covered >= 1 ? (int)fmin(covered, SAMPLES_MAX) : 1;
    }
}

Status image_map_depth(const Image *image, int H, int W, PixelMap map, Image *out, Error *err) {
    CHECK(image->channels == 1 && image->type != PIXEL_U8);
    int samples[2];
    Status status = image_create(H, W, 1, image->type, out, err);
    if (status) return status;
    count_samples(H, W, map, samples);
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            size_t at = (size_t)y * (size_t)W + (size_t)x;
            double depth = pixel_depth(image, y, x, map, samples);
            if (image->type == PIXEL_U16) ((uint16_t *)out->pixels)[at] = (uint16_t)fmin(depth + 0.5, UINT16_MAX);
            else ((float *)out->pixels)[at] = (float)depth;
        }
    }
    return STATUS_OK;
}

static void stretch(const void *owner, double x, double y, double out[2]) {
    const double *scale = owner;
    out[0] = x * scale[0];
    out[1] = y * scale[1];
}

Status image_resize_depth(const Image *image, int H, int W, Image *out, Error *err) {
    const double scale[2] = {(double)image->W / W, (double)image->H / H};
    return image_map_depth(image, H, W, (PixelMap){stretch, scale}, out, err);
}
