// SPDX-License-Identifier: Apache-2.0
#include "base/draw.h"

#include "base/image.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

Status canvas_create(int H, int W, Colour background, Canvas *out, Error *err) {
    *out = (Canvas){0};
    if (H < 1 || W < 1 || H > IMAGE_SIDE_MAX || W > IMAGE_SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT, "picture of %d x %d pixels: expected sides of 1 to %d", W, H,
                         IMAGE_SIDE_MAX);
    size_t count = (size_t)H * (size_t)W;
    Canvas canvas = {.H = H, .W = W, .rgb = malloc(3 * count), .z = malloc(count * sizeof(float))};
    if (!canvas.rgb || !canvas.z) {
        canvas_free(&canvas);
        return error_set(err, STATUS_FAILED, "no memory for a picture of %d x %d pixels", W, H);
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(canvas.rgb + 3 * i, &background, 3);
        canvas.z[i] = INFINITY;
    }
    *out = canvas;
    return STATUS_OK;
}

void canvas_free(Canvas *canvas) {
    free(canvas->rgb);
    free(canvas->z);
    *canvas = (Canvas){0};
}

Status canvas_write_png(const Canvas *canvas, const char *path, Error *err) {
    Image image = {canvas->H, canvas->W, 3, PIXEL_U8, canvas->rgb};
    return image_write_png(&image, path, err);
}

static void put_pixel(Canvas *canvas, int x, int y, double z, Colour colour) {
    if (x < 0 || y < 0 || x >= canvas->W || y >= canvas->H) return;
    size_t i = (size_t)y * (size_t)canvas->W + (size_t)x;
    if (!(z < canvas->z[i])) return;
    canvas->z[i] = (float)z;
    memcpy(canvas->rgb + 3 * i, &colour, 3);
}

void draw_point(Canvas *canvas, double x, double y, double z, int size, Colour colour) {
    // The negated comparison also rejects NaN.
    if (!(x > -size && y > -size && x < canvas->W + size && y < canvas->H + size)) return;
    int x0 = (int)floor(x - 0.5 * (size - 1)), y0 = (int)floor(y - 0.5 * (size - 1));
    for (int j = 0; j < size; j++) {
        for (int i = 0; i < size; i++) put_pixel(canvas, x0 + i, y0 + j, z, colour);
    }
}

// Cuts [t0, t1] to where p + t d >= 0 (one side of Liang and Barsky's line clipping).
static bool clip(double p, double d, double *t0, double *t1) {
    if (d == 0) return p >= 0;
    double t = -p / d;
    if (d > 0) *t0 = fmax(*t0, t);
    else *t1 = fmin(*t1, t);
    return *t0 <= *t1;
}

void draw_line(Canvas *canvas, const double a[3], const double b[3], int width, Colour colour) {
    double dx = b[0] - a[0], dy = b[1] - a[1], t0 = 0, t1 = 1, margin = width;
    if (!isfinite(dx) || !isfinite(dy)) return;
    if (!clip(a[0] + margin, dx, &t0, &t1) || !clip(canvas->W + margin - a[0], -dx, &t0, &t1)) return;
    if (!clip(a[1] + margin, dy, &t0, &t1) || !clip(canvas->H + margin - a[1], -dy, &t0, &t1)) return;
    int count = (int)ceil(fmax(fabs(dx), fabs(dy)) * (t1 - t0)) + 1;
    for (int i = 0; i <= count; i++) {
        double t = t0 + (t1 - t0) * i / count;
        double z = a[2] > 0 && b[2] > 0 ? 1 / ((1 - t) / a[2] + t / b[2]) : 0;
        draw_point(canvas, a[0] + t * dx, a[1] + t * dy, z, width, colour);
    }
}

void draw_rectangle(Canvas *canvas, int x, int y, int w, int h, Colour colour) {
    int x0 = x < 0 ? 0 : x, y0 = y < 0 ? 0 : y;
    int x1 = x + w > canvas->W ? canvas->W : x + w, y1 = y + h > canvas->H ? canvas->H : y + h;
    for (int j = y0; j < y1; j++) {
        for (int i = x0; i < x1; i++) {
            size_t at = (size_t)j * (size_t)canvas->W + (size_t)i;
            canvas->z[at] = 0;
            memcpy(canvas->rgb + 3 * at, &colour, 3);
        }
    }
}

void draw_picture(Canvas *canvas, int x, int y, const uint8_t *rgb, int H, int W) {
    for (int j = 0; j < H; j++) {
        for (int i = 0; i < W; i++) {
            int u = x + i, v = y + j;
            if (u < 0 || v < 0 || u >= canvas->W || v >= canvas->H) continue;
            size_t at = (size_t)v * (size_t)canvas->W + (size_t)u;
            memcpy(canvas->rgb + 3 * at, rgb + 3 * ((size_t)j * (size_t)W + (size_t)i), 3);
            canvas->z[at] = 0;
        }
    }
}

Colour draw_palette(int index) {
    // Hues a golden angle apart, so that neighbours differ and no index repeats soon.
    double hue = fmod(0.08 + 0.61803398875 * index, 1.0);
    if (hue < 0) hue += 1;
    double rgb[3];
    for (int c = 0; c < 3; c++) {
        double distance = fabs(fmod(6 * hue + (c == 0 ? 0 : c == 1 ? 4 : 2), 6) - 3) - 1;
        rgb[c] = 60 + 170 * fmin(fmax(distance, 0), 1);
    }
    return (Colour){(uint8_t)rgb[0], (uint8_t)rgb[1], (uint8_t)rgb[2]};
}
