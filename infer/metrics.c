// SPDX-License-Identifier: Apache-2.0
#include "infer/metrics.h"

#include <math.h>
#include <stdlib.h>

// ---- means

void mean_add(Mean *mean, double value) {
    if (!isfinite(value)) {
        mean->rejected++;
        return;
    }
    mean->sum += value;
    mean->square += value * value;
    mean->count++;
}

void mean_merge(Mean *into, const Mean *from) {
    into->sum += from->sum;
    into->square += from->square;
    into->count += from->count;
    into->rejected += from->rejected;
}

double mean_value(const Mean *mean) { return mean->count ? mean->sum / (double)mean->count : NAN; }

double mean_deviation(const Mean *mean) {
    if (mean->count < 2) return NAN;
    double n = (double)mean->count;
    return sqrt(fmax(mean->square - mean->sum * mean->sum / n, 0) / (n - 1));
}

// ---- colour and depth

bool metrics_psnr(const uint8_t *a, const uint8_t *b, const uint8_t *mask, size_t pixels, double *out) {
    uint64_t sum = 0, count = 0;
    for (size_t i = 0; i < pixels; i++) {
        if (mask && !mask[i]) continue;
        for (size_t c = 3 * i; c < 3 * i + 3; c++) {
            int d = (int)a[c] - (int)b[c];
            sum += (uint64_t)(d * d);
        }
        count += 3;
    }
    if (count == 0) return false;
    double error = (double)sum / ((double)count * 255 * 255);
    *out = error > 0 ? fmin(-10 * log10(error), METRICS_PSNR_MAX) : METRICS_PSNR_MAX;
    return true;
}

static bool depth_is_valid(float depth) { return isfinite(depth) && depth > 0; }

bool metrics_depth_error(const float *a, const float *b, const uint8_t *mask, size_t pixels, double *out) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < pixels; i++) {
        if ((mask && !mask[i]) || !depth_is_valid(a[i]) || !depth_is_valid(b[i])) continue;
        sum += fabs((double)a[i] - (double)b[i]);
        count++;
    }
    if (count == 0) return false;
    *out = sum / (double)count;
    return true;
}

// ---- SSIM

enum { SSIM_RADIUS = SSIM_WINDOW / 2, SSIM_MOMENTS = 5 }; // a, b, a^2, b^2, ab

size_t metrics_ssim_scratch(int H, int W) { return (size_t)SSIM_MOMENTS * (size_t)(H + 2) * (size_t)W; }

static void gaussian_window(float window[SSIM_WINDOW]) {
    double sum = 0, g[SSIM_WINDOW];
    for (int i = 0; i < SSIM_WINDOW; i++) sum += g[i] = exp(-0.5 * pow((i - SSIM_RADIUS) / SSIM_SIGMA, 2));
    for (int i = 0; i < SSIM_WINDOW; i++) window[i] = (float)(g[i] / sum);
}

// Products of one channel of one row: out (SSIM_MOMENTS, W).
static void ssim_moments(const uint8_t *a, const uint8_t *b, int W, float *out) {
    for (int x = 0; x < W; x++) {
        float p = (float)a[3 * x] / 255, q = (float)b[3 * x] / 255;
        float m[SSIM_MOMENTS] = {p, q, p * p, q * q, p * q};
        for (int k = 0; k < SSIM_MOMENTS; k++) out[k * W + x] = m[k];
    }
}

// 1-D convolution: out[i] = sum_k window[k] in[i + k * stride]
static void ssim_blur(const float *in, size_t stride, const float *window, int count, float *out) {
    for (int i = 0; i < count; i++) out[i] = 0;
    for (int k = 0; k < SSIM_WINDOW; k++) {
        const float *from = in + (size_t)k * stride;
        for (int i = 0; i < count; i++) out[i] += window[k] * from[i];
    }
}

// SSIM of one row from its weighted moments m (SSIM_MOMENTS, W); adds a third of it to `map`, as one of three channels.
static void ssim_add_row(const float *m, int W, int count, float *map) {
    const float c1 = 0.01f * 0.01f, c2 = 0.03f * 0.03f;
    for (int x = 0; x < count; x++) {
        float p = m[x], q = m[W + x], pq = p * q, squares = p * p + q * q;
        float variances = m[2 * W + x] + m[3 * W + x] - squares, covariance = m[4 * W + x] - pq;
        map[x] += (2 * pq + c1) * (2 * covariance + c2) / ((squares + c1) * (variances + c2)) / 3;
    }
}

// `scratch`: the moments weighted along x (H, SSIM_MOMENTS, W), then one row before and one after weighting.
static void ssim_channel(const uint8_t *a, const uint8_t *b, int H, int W, const float *window, float *scratch,
                         float *map) {
    size_t w = (size_t)W, row = SSIM_MOMENTS * w;
    float *raw = scratch + (size_t)H * row, *blurred = raw + row;
    int count = W - 2 * SSIM_RADIUS;
    for (size_t y = 0; y < (size_t)H; y++) {
        ssim_moments(a + 3 * y * w, b + 3 * y * w, W, raw);
        for (size_t k = 0; k < SSIM_MOMENTS; k++) ssim_blur(raw + k * w, 1, window, count, scratch + y * row + k * w);
    }
    for (size_t y = 0; y + SSIM_WINDOW <= (size_t)H; y++) {
        for (size_t k = 0; k < SSIM_MOMENTS; k++)
            ssim_blur(scratch + y * row + k * w, row, window, count, blurred + k * w);
        ssim_add_row(blurred, W, count, map + (y + SSIM_RADIUS) * w + SSIM_RADIUS);
    }
}

void metrics_ssim_map(const uint8_t *a, const uint8_t *b, int H, int W, float *scratch, float *map) {
    float window[SSIM_WINDOW];
    gaussian_window(window);
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            bool inside = y >= SSIM_RADIUS && x >= SSIM_RADIUS && y + SSIM_RADIUS < H && x + SSIM_RADIUS < W;
            map[(size_t)y * (size_t)W + (size_t)x] = inside ? 0 : NAN;
        }
    }
    if (H < SSIM_WINDOW || W < SSIM_WINDOW) return;
    for (int c = 0; c < 3; c++) ssim_channel(a + c, b + c, H, W, window, scratch, map);
}

bool metrics_ssim(const float *map, const uint8_t *mask, size_t pixels, double *out) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < pixels; i++) {
        if ((mask && !mask[i]) || !isfinite(map[i])) continue;
        sum += (double)map[i];
        count++;
    }
    if (count == 0) return false;
    *out = sum / (double)count;
    return true;
}

// ---- masks

void mask_from_objects(const uint16_t *ids, size_t pixels, uint8_t *out) {
    for (size_t i = 0; i < pixels; i++) out[i] = ids[i] > 0;
}

void mask_from_change(const uint8_t *now, const uint8_t *before, size_t pixels, uint8_t *out) {
    for (size_t i = 0; i < pixels; i++) {
        int most = 0;
        for (size_t c = 3 * i; c < 3 * i + 3; c++) {
            int d = abs((int)now[c] - (int)before[c]);
            most = d > most ? d : most;
        }
        out[i] = most > 255 * METRICS_CHANGE_THRESHOLD;
    }
}

static bool square_has_set(const uint8_t *mask, int H, int W, int y, int x, int radius) {
    for (int v = y - radius < 0 ? 0 : y - radius; v <= y + radius && v < H; v++) {
        for (int u = x - radius < 0 ? 0 : x - radius; u <= x + radius && u < W; u++) {
            if (mask[(size_t)v * (size_t)W + (size_t)u]) return true;
        }
    }
    return false;
}

void mask_dilate(const uint8_t *mask, int H, int W, int radius, uint8_t *out) {
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) *out++ = square_has_set(mask, H, W, y, x, radius);
    }
}

void mask_and(uint8_t *mask, const uint8_t *other, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) mask[i] = mask[i] && (!other || other[i]);
}
