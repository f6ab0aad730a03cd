// SPDX-License-Identifier: Apache-2.0
#include "infer/video.h"

#include "base/draw.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 8, TEXT_SCALE = 2, CAPTION = DRAW_FONT_H * TEXT_SCALE + 6, PANEL_SIDE = 192, LOBES = 3 };

static const Colour PAPER = {250, 250, 251}, INK = {38, 42, 50}, EMPTY = {225, 228, 232};

// ---- pictures

int video_scale_for(int H, int W, int side) {
    int longer = H > W ? H : W;
    return longer < 1 || longer >= side ? 1 : (side + longer - 1) / longer;
}

static double lanczos(double x) {
    const double pi = 3.14159265358979;
    if (fabs(x) < 1e-9) return 1;
    if (fabs(x) >= LOBES) return 0;
    return LOBES * sin(pi * x) * sin(pi * x / LOBES) / (pi * pi * x * x);
}

// Filter weights for the output pixels of each phase. They apply to the pixels from floor(s) - LOBES + 1 on, where s =
// (phase + 0.5) / factor - 0.5.
static void lanczos_weights(int phase, int factor, int *first, float weights[2 * LOBES]) {
    double s = (phase + 0.5) / factor - 0.5, sum = 0, w[2 * LOBES];
    *first = (int)floor(s) - LOBES + 1;
    for (int k = 0; k < 2 * LOBES; k++) sum += w[k] = lanczos(s - (*first + k));
    for (int k = 0; k < 2 * LOBES; k++) weights[k] = (float)(w[k] / sum);
}

static int clamp_index(int i, int count) { return i < 0 ? 0 : i >= count ? count - 1 : i; }

// Enlarges one axis: `lines` lines of `count` pixels, `step` floats between pixels and `line_step` between lines,
// become count * factor pixels. The output is (lines, count * factor, 3) or its transpose, according to its steps.
typedef struct Axis {
    int lines, count, factor;
    size_t in_step, in_line, out_step, out_line;
} Axis;

static void enlarge_axis(const float *in, float *out, const Axis *axis) {
    for (int phase = 0; phase < axis->factor; phase++) {
        int first;
        float weights[2 * LOBES];
        lanczos_weights(phase, axis->factor, &first, weights);
        for (int line = 0; line < axis->lines; line++) {
            for (int i = 0; i < axis->count; i++) {
                float sum[3] = {0};
                for (int k = 0; k < 2 * LOBES; k++) {
                    size_t at =
                        (size_t)line * axis->in_line + (size_t)clamp_index(i + first + k, axis->count) * axis->in_step;
                    for (int c = 0; c < 3; c++) sum[c] += weights[k] * in[at + (size_t)c];
                }
                size_t to = (size_t)line * axis->out_line + (size_t)(i * axis->factor + phase) * axis->out_step;
                memcpy(out + to, sum, sizeof sum);
            }
        }
    }
}

static bool enlarge_lanczos(const uint8_t *rgb, int H, int W, int factor, uint8_t *out) {
    size_t h = (size_t)H, w = (size_t)W, f = (size_t)factor;
    float *small = malloc(3 * h * w * sizeof *small), *wide = malloc(3 * h * w * f * sizeof *wide);
    float *large = calloc(3 * h * w * f * f, sizeof *large);
    bool good = small && wide && large;
    if (good) {
        for (size_t i = 0; i < 3 * h * w; i++) small[i] = rgb[i];
        enlarge_axis(small, wide, &(Axis){H, W, factor, 3, 3 * w, 3, 3 * w * f});
        enlarge_axis(wide, large, &(Axis){(int)(w * f), H, factor, 3 * w * f, 3, 3 * w * f, 3});
        for (size_t i = 0; i < 3 * h * w * f * f; i++) out[i] = (uint8_t)fminf(fmaxf(large[i] + 0.5f, 0), 255);
    }
    free(small);
    free(wide);
    free(large);
    return good;
}

static void enlarge_nearest(const uint8_t *rgb, int H, int W, int factor, uint8_t *out) {
    for (int y = 0; y < H * factor; y++) {
        for (int x = 0; x < W * factor; x++, out += 3)
            memcpy(out, rgb + 3 * ((size_t)(y / factor) * (size_t)W + (size_t)(x / factor)), 3);
    }
}

Status video_enlarge(const uint8_t *rgb, int H, int W, int factor, VideoScaling scaling, uint8_t **out, Error *err) {
    size_t bytes = 3 * (size_t)H * (size_t)W * (size_t)factor * (size_t)factor;
    bool good = (*out = malloc(bytes)) != NULL;
    if (good && (scaling == SCALE_NEAREST || factor == 1)) enlarge_nearest(rgb, H, W, factor, *out);
    else if (good) good = enlarge_lanczos(rgb, H, W, factor, *out);
    if (good) return STATUS_OK;
    free(*out);
    *out = NULL;
    return error_set(err, STATUS_FAILED, "out of memory for a picture of %d x %d enlarged %d times", W, H, factor);
}

// Colour map from dark blue over red to pale yellow, with evenly rising lightness (after matplotlib's inferno).
static void heat(double t, uint8_t rgb[3]) {
    static const double ramp[6][3] = {{0, 0, 4},     {66, 10, 104},  {147, 38, 103},
                                      {221, 81, 58}, {252, 165, 10}, {252, 255, 164}};
    double at = fmin(fmax(t, 0), 1) * 5;
    int i = at >= 5 ? 4 : (int)at;
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(ramp[i][c] + (at - i) * (ramp[i + 1][c] - ramp[i][c]) + 0.5);
}

void video_difference(const uint8_t *a, const uint8_t *b, size_t pixels, uint8_t *out) {
    for (size_t i = 0; i < pixels; i++) {
        int sum = 0;
        for (size_t c = 3 * i; c < 3 * i + 3; c++) sum += abs((int)a[c] - (int)b[c]);
        heat(sum / (3 * 127.5), out + 3 * i);
    }
}

// ---- frames

void video_free(Video *video) {
    for (int i = 0; i < video->count; i++) free(video->frames[i]);
    free(video->frames);
    *video = (Video){0};
}

static bool grow(Video *video) {
    if (video->count < video->capacity) return true;
    int capacity = video->capacity ? 2 * video->capacity : 32;
    uint8_t **frames = realloc(video->frames, (size_t)capacity * sizeof *frames);
    if (!frames) return false;
    video->frames = frames;
    video->capacity = capacity;
    return true;
}

Status video_add(Video *video, const uint8_t *rgb, int H, int W, Error *err) {
    size_t bytes = 3 * (size_t)H * (size_t)W;
    if (video->count > 0 && (H != video->H || W != video->W))
        return error_set(err, STATUS_BAD_INPUT, "frame %d of a video: expected %d x %d pixels as before, found %d x %d",
                         video->count, video->W, video->H, W, H);
    uint8_t *copy = malloc(bytes ? bytes : 1);
    if (!copy || !grow(video)) {
        free(copy);
        return error_set(err, STATUS_FAILED, "out of memory for frame %d of a video of %d x %d pixels", video->count, W,
                         H);
    }
    memcpy(copy, rgb, bytes);
    video->H = H;
    video->W = W;
    video->frames[video->count++] = copy;
    return STATUS_OK;
}

// ---- panels

// As much of a text as fits into `width` pixels; returns the scale of the font.
static int fit_text(const char *text, int width, char *out, size_t size) {
    int length = (int)strlen(text), scale = length * DRAW_FONT_W * TEXT_SCALE <= width ? TEXT_SCALE : 1;
    int room = width / (DRAW_FONT_W * scale);
    snprintf(out, size, "%.*s", room < length ? room : length, text);
    return scale;
}

static void put_caption(Canvas *canvas, int x, int y, int width, const char *text) {
    char fitted[256];
    int scale = fit_text(text, width, fitted, sizeof fitted);
    draw_text(canvas, x, y + (CAPTION - DRAW_FONT_H * scale) / 2, scale, INK, fitted);
}

static bool row_has_caption(const VideoLayout *layout, const VideoPanel *panels, int row) {
    for (int c = 0; c < layout->columns; c++)
        if (panels[row * layout->columns + c].caption) return true;
    return false;
}

static Status put_panel(Canvas *canvas, const VideoLayout *layout, int factor, const VideoPanel *panel, int x, int y,
                        Error *err) {
    int H = layout->H * factor, W = layout->W * factor;
    uint8_t *large = NULL;
    if (!panel->rgb) {
        draw_rectangle(canvas, x, y, W, H, EMPTY);
        return STATUS_OK;
    }
    Status status = video_enlarge(panel->rgb, layout->H, layout->W, factor, layout->scaling, &large, err);
    if (status == STATUS_OK) draw_picture(canvas, x, y, large, H, W);
    free(large);
    return status;
}

static int layout_height(const VideoLayout *layout, int factor, const VideoPanel *panels) {
    int height = MARGIN + (layout->title ? CAPTION : 0);
    for (int r = 0; r < layout->rows; r++)
        height += layout->H * factor + MARGIN + (row_has_caption(layout, panels, r) ? CAPTION : 0);
    return height;
}

Status video_add_panels(Video *video, const VideoLayout *layout, const VideoPanel *panels, Error *err) {
    Canvas canvas = {0};
    int factor = layout->factor > 0 ? layout->factor : video_scale_for(layout->H, layout->W, PANEL_SIDE);
    int w = layout->W * factor, y = MARGIN, width = MARGIN + layout->columns * (w + MARGIN);
    Status status = canvas_create(layout_height(layout, factor, panels), width, PAPER, &canvas, err);
    if (status == STATUS_OK && layout->title) {
        put_caption(&canvas, MARGIN, y, width - 2 * MARGIN, layout->title);
        y += CAPTION;
    }
    for (int r = 0; r < layout->rows && status == STATUS_OK; r++) {
        int below = y + (row_has_caption(layout, panels, r) ? CAPTION : 0);
        for (int c = 0; c < layout->columns && status == STATUS_OK; c++) {
            const VideoPanel *panel = panels + r * layout->columns + c;
            int x = MARGIN + c * (w + MARGIN);
            if (panel->caption) put_caption(&canvas, x, y, w, panel->caption);
            status = put_panel(&canvas, layout, factor, panel, x, below, err);
        }
        y = below + layout->H * factor + MARGIN;
    }
    if (status == STATUS_OK) status = video_add(video, canvas.rgb, canvas.H, canvas.W, err);
    canvas_free(&canvas);
    return status;
}
