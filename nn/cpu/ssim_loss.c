// SPDX-License-Identifier: Apache-2.0
#include "nn/ssim_loss.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

enum {
    PER_SIDE = (SSIM_SIDE - SSIM_BLOCK) / SSIM_STRIDE + 1,
    WINDOWS = PER_SIDE * PER_SIDE,
    PIXELS = SSIM_BLOCK * SSIM_BLOCK
};
static const double C1 = 0.01 * 0.01, C2 = 0.03 * 0.03;

// Means, variances and covariance of one channel of one window.
typedef struct Moments {
    double x, y, xx, yy, xy;
} Moments;

// Element (row, channel) of pixel p of window w of a patch.
static size_t element(const SsimLossArgs *a, size_t patch, size_t w, size_t p, size_t channel) {
    size_t row = w / PER_SIDE * SSIM_STRIDE + p / SSIM_BLOCK, column = w % PER_SIDE * SSIM_STRIDE + p % SSIM_BLOCK;
    return ((size_t)a->first[patch] + row * SSIM_SIDE + column) * a->cols + channel;
}

static Moments window_moments(const SsimLossArgs *a, size_t patch, size_t w, size_t channel) {
    Moments m = {0};
    for (size_t p = 0; p < PIXELS; p++) {
        size_t i = element(a, patch, w, p, channel);
        m.x += (double)a->x[i] / PIXELS;
        m.y += (double)a->target[i] / PIXELS;
    }
    for (size_t p = 0; p < PIXELS; p++) {
        size_t i = element(a, patch, w, p, channel);
        double x = (double)a->x[i] - m.x, y = (double)a->target[i] - m.y;
        m.xx += x * x / PIXELS;
        m.yy += y * y / PIXELS;
        m.xy += x * y / PIXELS;
    }
    return m;
}

static double window_ssim(const Moments *m) {
    return (2 * m->x * m->y + C1) * (2 * m->xy + C2) / ((m->x * m->x + m->y * m->y + C1) * (m->xx + m->yy + C2));
}

static double window_count(const SsimLossArgs *a) { return (double)(a->patches * WINDOWS * a->cols); }

void CPU_FN(ssim_loss_forward)(Device *device, const SsimLossArgs *a) {
    (void)device;
    double sum = 0;
    for (size_t patch = 0; patch < a->patches; patch++)
        for (size_t w = 0; w < WINDOWS * a->cols; w++) {
            Moments m = window_moments(a, patch, w / a->cols, w % a->cols);
            sum += 1 - window_ssim(&m);
        }
    a->y[0] = a->patches ? (real)(sum / window_count(a)) : 0;
}

// d SSIM / dx_i = S (2 my / A1 - 2 mx / B1 + 2 (y_i - my) / A2 - 2 (x_i - mx) / B2) / n, with S = A1 A2 / (B1 B2).
static void window_backward(const SsimLossArgs *a, size_t patch, size_t w, size_t channel, double scale) {
    Moments m = window_moments(a, patch, w, channel);
    double s = window_ssim(&m) * scale / PIXELS, of_covariance = 2 / (2 * m.xy + C2),
           of_variance = 2 / (m.xx + m.yy + C2);
    double of_mean = 2 * m.y / (2 * m.x * m.y + C1) - 2 * m.x / (m.x * m.x + m.y * m.y + C1);
    for (size_t p = 0; p < PIXELS; p++) {
        size_t i = element(a, patch, w, p, channel);
        a->dx[i] += (real)(s * (of_mean + of_covariance * ((double)a->target[i] - m.y) -
                                of_variance * ((double)a->x[i] - m.x)));
    }
}

void CPU_FN(ssim_loss_backward)(Device *device, const SsimLossArgs *a) {
    // Patches may share rows, so they are taken one after the other.
    (void)device;
    double scale = -(double)a->dy[0] / window_count(a);
    for (size_t patch = 0; patch < a->patches; patch++)
        for (size_t w = 0; w < WINDOWS * a->cols; w++) window_backward(a, patch, w / a->cols, w % a->cols, scale);
}
