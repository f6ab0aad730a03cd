// SPDX-License-Identifier: Apache-2.0
#include "nn/ssim_loss.h"

#include "nn/cuda/functions.h"
#include "nn/cuda/sums.h"

constexpr size_t PER_SIDE = (SSIM_SIDE - SSIM_BLOCK) / SSIM_STRIDE + 1, WINDOWS = PER_SIDE * PER_SIDE,
                 PATCH = SSIM_SIDE * SSIM_SIDE, PIXELS = SSIM_BLOCK * SSIM_BLOCK;
constexpr double C1 = 0.01 * 0.01, C2 = 0.03 * 0.03;

// Means, variances and covariance of one channel of one window.
struct Moments {
    double x, y, xx, yy, xy;
};

// Pixel p of window w, as a pixel of its patch.
static __device__ inline size_t window_pixel(size_t w, size_t p) {
    size_t row = w / PER_SIDE * SSIM_STRIDE + p / SSIM_BLOCK, column = w % PER_SIDE * SSIM_STRIDE + p % SSIM_BLOCK;
    return row * SSIM_SIDE + column;
}

static __device__ Moments window_moments(const SsimLossArgs &a, size_t patch, size_t w, size_t channel) {
    size_t first = static_cast<size_t>(a.first[patch]) * a.cols + channel;
    Moments m = {0, 0, 0, 0, 0};
    for (size_t p = 0; p < PIXELS; p++) {
        size_t i = first + window_pixel(w, p) * a.cols;
        m.x += static_cast<double>(a.x[i]) / PIXELS;
        m.y += static_cast<double>(a.target[i]) / PIXELS;
    }
    for (size_t p = 0; p < PIXELS; p++) {
        size_t i = first + window_pixel(w, p) * a.cols;
        double x = static_cast<double>(a.x[i]) - m.x, y = static_cast<double>(a.target[i]) - m.y;
        m.xx += x * x / PIXELS;
        m.yy += y * y / PIXELS;
        m.xy += x * y / PIXELS;
    }
    return m;
}

static __device__ double window_ssim(const Moments &m) {
    return (2 * m.x * m.y + C1) * (2 * m.xy + C2) / ((m.x * m.x + m.y * m.y + C1) * (m.xx + m.yy + C2));
}

// Window t of all: patch, window, channel.
struct Window {
    size_t patch, w, channel;
};

static __device__ inline Window window_at(const SsimLossArgs &a, size_t t) {
    size_t w = cuda_quotient(t, a.cols);
    return {w / WINDOWS, w % WINDOWS, t - w * a.cols};
}

static __global__ void forward(SsimLossArgs a, double *loss) {
    GRID_LOOP(t, a.patches * WINDOWS * a.cols) {
        Window at = window_at(a, t);
        loss[t] = 1 - window_ssim(window_moments(a, at.patch, at.w, at.channel));
    }
}

void ssim_loss_forward_cuda(Device *device, const SsimLossArgs *a) {
    if (!cuda_op(device, "ssim loss forward", a->patches, a->cols)) return;
    size_t count = a->patches * WINDOWS * a->cols;
    ArenaMark mark = arena_mark(&device->scratch);
    double *loss = static_cast<double *>(device_scratch_bytes(device, count * sizeof *loss));
    LAUNCH(device, cuda_blocks(count), CUDA_THREADS, 0, forward, *a, loss);
    cuda_sum(device, count, loss, count ? 1 / static_cast<double>(count) : 0, a->y);
    arena_release(&device->scratch, mark);
}

// d SSIM / dx_i = S (2 my / A1 - 2 mx / B1 + 2 (y_i - my) / A2 - 2 (x_i - mx) / B2) / n, with S = A1 A2 / (B1 B2).
struct Slope {
    double s, of_mean, of_covariance, of_variance, mean_x, mean_y;
};

static __global__ void find_slopes(SsimLossArgs a, Slope *slope) {
    size_t count = a.patches * WINDOWS * a.cols;
    double scale = -static_cast<double>(a.dy[0]) / static_cast<double>(count) / PIXELS;
    GRID_LOOP(t, count) {
        Window at = window_at(a, t);
        Moments m = window_moments(a, at.patch, at.w, at.channel);
        slope[t] = {window_ssim(m) * scale,
                    2 * m.y / (2 * m.x * m.y + C1) - 2 * m.x / (m.x * m.x + m.y * m.y + C1),
                    2 / (2 * m.xy + C2),
                    2 / (m.xx + m.yy + C2),
                    m.x,
                    m.y};
    }
}

// Whether window w holds pixel p of its patch.
static __device__ inline bool window_holds(size_t w, size_t p) {
    size_t row = p / SSIM_SIDE - w / PER_SIDE * SSIM_STRIDE, column = p % SSIM_SIDE - w % PER_SIDE * SSIM_STRIDE;
    return row < SSIM_BLOCK && column < SSIM_BLOCK; // wraps above and left of it
}

// Gradient of element i, pixel p of the patch, over the windows of the patch.
static __device__ double pixel_slope(const SsimLossArgs &a, const Slope *slope, size_t patch, size_t p, size_t channel,
                                     size_t i) {
    double sum = 0, x = static_cast<double>(a.x[i]), y = static_cast<double>(a.target[i]);
    for (size_t w = 0; w < WINDOWS; w++) {
        const Slope &m = slope[(patch * WINDOWS + w) * a.cols + channel];
        if (window_holds(w, p))
            sum += m.s * (m.of_mean + m.of_covariance * (y - m.mean_y) - m.of_variance * (x - m.mean_x));
    }
    return sum;
}

// Patches may share rows: the first that has a row adds for all.
static __global__ void add_slopes(SsimLossArgs a, const Slope *slope) {
    GRID_LOOP(t, a.patches * PATCH * a.cols) {
        size_t pixel = cuda_quotient(t, a.cols), channel = t - pixel * a.cols, own = pixel / PATCH;
        size_t row = static_cast<size_t>(a.first[own]) + pixel % PATCH, i = row * a.cols + channel;
        double sum = 0;
        bool is_first = true;
        for (size_t patch = 0; patch < a.patches && is_first; patch++) {
            size_t p = row - static_cast<size_t>(a.first[patch]); // wraps before the patch
            if (p < PATCH && patch < own) is_first = false;
            else if (p < PATCH) sum += pixel_slope(a, slope, patch, p, channel, i);
        }
        if (is_first) a.dx[i] += static_cast<real>(sum);
    }
}

void ssim_loss_backward_cuda(Device *device, const SsimLossArgs *a) {
    if (!cuda_op(device, "ssim loss backward", a->patches, a->cols)) return;
    size_t count = a->patches * WINDOWS * a->cols;
    ArenaMark mark = arena_mark(&device->scratch);
    Slope *slope = static_cast<Slope *>(device_scratch_bytes(device, count * sizeof *slope));
    LAUNCH(device, cuda_blocks(count), CUDA_THREADS, 0, find_slopes, *a, slope);
    LAUNCH(device, cuda_blocks(a->patches * PATCH * a->cols), CUDA_THREADS, 0, add_slopes, *a, slope);
    arena_release(&device->scratch, mark);
}
