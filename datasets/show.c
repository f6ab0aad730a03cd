// SPDX-License-Identifier: Apache-2.0
#include "datasets/show.h"

#include "base/draw.h"
#include "base/gif.h"
#include "base/image.h"
#include "base/sort.h"
#include "datasets/reproject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 8,
    WIDTH = 160,
    ROWS_MAX = 64,
    LABEL = 12,
    GAP = 4,
    HEADER = 16,
    GIF_FRAMES_MAX = 2000,
    SAMPLE = 4096
};

static const Colour BACKGROUND = {24, 26, 30}, TEXT = {225, 225, 225};

typedef struct Sheet {
    const Dataset *dataset;
    const ShowOptions *options;
    const EpisodeInfo *info;
    int width, height; // of a picture
    Frames frames;     // one image
    float range[2];    // depth that is drawn white and black, metres
} Sheet;

static Status read_one(Sheet *sheet, int frame, int view, Error *err) {
    FrameRequest request = {
        .episode = sheet->options->episode, .first = frame, .count = 1, .views = &view, .view_count = 1};
    return dataset_read_frames(sheet->dataset, request, &sheet->frames, err);
}

// The picture at the size of the sheet.
static Status small_colour(Sheet *sheet, Image *out, Error *err) {
    Image stored = {sheet->info->H, sheet->info->W, 3, PIXEL_U8, sheet->frames.rgb};
    return image_resize(&stored, sheet->height, sheet->width, out, err);
}

// Near and far depth of the first image shown, without outliers.
static void find_range(Sheet *sheet) {
    static const double SHARE[2] = {0.02, 0.98};
    float sample[SAMPLE];
    size_t pixels = (size_t)sheet->info->H * (size_t)sheet->info->W, step = pixels / SAMPLE + 1, count = 0;
    for (size_t i = 0; i < pixels && count < SAMPLE; i += step) {
        if (sheet->frames.depth[i] > 0) sample[count++] = sheet->frames.depth[i];
    }
    sort_floats(sample, count);
    for (int i = 0; i < 2; i++) sheet->range[i] = count ? (float)sorted_quantile(sample, count, SHARE[i]) : (float)i;
    if (!(sheet->range[1] > sheet->range[0])) sheet->range[1] = sheet->range[0] + 1;
}

static Status small_depth(const Sheet *sheet, Image *out, Error *err) {
    Image stored = {sheet->info->H, sheet->info->W, 1, PIXEL_F32, sheet->frames.depth}, depth = {0};
    Status status = image_resize_depth(&stored, sheet->height, sheet->width, &depth, err);
    if (!status) status = image_create(sheet->height, sheet->width, 3, PIXEL_U8, out, err);
    for (size_t i = 0; !status && i < (size_t)sheet->height * (size_t)sheet->width; i++) {
        float z = ((float *)depth.pixels)[i];
        double share = (z - sheet->range[0]) / (sheet->range[1] - sheet->range[0]);
        uint8_t grey = (uint8_t)(235 - 215 * fmin(fmax(share, 0), 1)), *to = (uint8_t *)out->pixels + 3 * i;
        to[0] = z > 0 ? grey : 110;
        to[1] = to[2] = z > 0 ? grey : 16;
    }
    image_free(&depth);
    return status;
}

// The picture and, below it, its depth, with their corner at (x, y).
static Status draw_cell(Sheet *sheet, Canvas *canvas, int x, int y, Error *err) {
    Image colour = {0}, depth = {0};
    Status status = small_colour(sheet, &colour, err);
    if (!status && sheet->options->depth) status = small_depth(sheet, &depth, err);
    if (!status) draw_picture(canvas, x, y, colour.pixels, sheet->height, sheet->width);
    if (!status && depth.pixels) draw_picture(canvas, x, y + sheet->height, depth.pixels, sheet->height, sheet->width);
    image_free(&colour);
    image_free(&depth);
    return status;
}

// Index of number i of `count` items spread evenly over `all`.
static int spread(int i, int count, int all) { return count > 1 ? (int)((long)i * (all - 1) / (count - 1)) : 0; }

static Status draw_sheet(Sheet *sheet, Canvas *canvas, int rows, int columns, int views, int cell, Error *err) {
    const EpisodeInfo *info = sheet->info;
    bool still = info->F == 1;
    char text[160];
    snprintf(text, sizeof text, "episode %s (%s): %d frame%s, %d view%s, %d x %d", info->name, split_name(info->split),
             info->F, info->F == 1 ? "" : "s", info->V, info->V == 1 ? "" : "s", info->W, info->H);
    draw_text(canvas, GAP, GAP, 1, TEXT, text);
    for (int i = 0; i < rows * columns; i++) {
        int row = i / columns, column = i % columns, shown = still ? i : row;
        if (shown >= views) break;
        int view = sheet->options->view >= 0 ? sheet->options->view : spread(shown, views, info->V);
        int frame = still ? 0 : spread(column, columns, info->F);
        int x = GAP + column * (sheet->width + GAP), y = HEADER + row * cell;
        Status status = read_one(sheet, frame, view, err);
        if (status) return status;
        if (i == 0) find_range(sheet);
        snprintf(text, sizeof text, "view %d, frame %d", view, frame);
        if (still) snprintf(text, sizeof text, "view %d", view);
        draw_text(canvas, x, y, 1, TEXT, text);
        status = draw_cell(sheet, canvas, x, y + LABEL, err);
        if (status) return status;
    }
    return STATUS_OK;
}

static Sheet sheet_of(const Dataset *dataset, const ShowOptions *options) {
    const EpisodeInfo *info = dataset_episode(dataset, options->episode);
    int width = options->width ? options->width : WIDTH;
    double height = (double)width * info->H / info->W + 0.5;
    return (Sheet){.dataset = dataset,
                   .options = options,
                   .info = info,
                   .width = width,
                   .height = height < 1                ? 1
                             : height > IMAGE_SIDE_MAX ? IMAGE_SIDE_MAX
                                                       : (int)height};
}

Status dataset_show_sheet(const Dataset *dataset, const ShowOptions *options, const char *path, Error *err) {
    Sheet sheet = sheet_of(dataset, options);
    const EpisodeInfo *info = sheet.info;
    int views = options->view >= 0 ? 1 : info->V < ROWS_MAX ? info->V : ROWS_MAX;
    int most = info->F == 1 ? views : info->F, columns = options->columns ? options->columns : COLUMNS;
    if (columns > most) columns = most;
    int rows = info->F == 1 ? (views + columns - 1) / columns : views;
    int cell = LABEL + sheet.height * (options->depth ? 2 : 1) + GAP;
    Canvas canvas = {0};
    Status status = canvas_create(HEADER + rows * cell, GAP + columns * (sheet.width + GAP), BACKGROUND, &canvas, err);
    if (!status) status = draw_sheet(&sheet, &canvas, rows, columns, views, cell, err);
    if (!status) status = canvas_write_png(&canvas, path, err);
    canvas_free(&canvas);
    frames_free(&sheet.frames);
    return status;
}

// One frame of the GIF, malloc'ed.
static Status gif_frame(Sheet *sheet, int frame, int view, uint8_t **out, Error *err) {
    int H = sheet->height * (sheet->options->depth ? 2 : 1);
    Canvas canvas = {0};
    Status status = read_one(sheet, frame, view, err);
    if (!status && frame == 0) find_range(sheet);
    if (!status) status = canvas_create(H, sheet->width, BACKGROUND, &canvas, err);
    if (!status) status = draw_cell(sheet, &canvas, 0, 0, err);
    if (!status) {
        *out = canvas.rgb;
        canvas.rgb = NULL;
    }
    canvas_free(&canvas);
    return status;
}

Status dataset_show_gif(const Dataset *dataset, const ShowOptions *options, int view, const char *path, Error *err) {
    Sheet sheet = sheet_of(dataset, options);
    int F = sheet.info->F, H = sheet.height * (options->depth ? 2 : 1);
    double step = sheet.info->time_step;
    GifOptions gif = {.fps = options->fps > 0 ? options->fps : step > 0 ? 1 / step : 0};
    if (F < 2 || F > GIF_FRAMES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s:/episodes/%s: expected 2 to %d frames for a GIF, found %d; %s",
                         sheet.info->file, sheet.info->name, GIF_FRAMES_MAX, F,
                         F < 2 ? "a sheet (.png) shows a still scene" : "\"vpd data convert --stride\" thins them");
    uint8_t **frames = calloc((size_t)F, sizeof *frames);
    Status status = frames ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: no memory for %d frames", path, F);
    for (int f = 0; !status && f < F; f++) status = gif_frame(&sheet, f, view, &frames[f], err);
    if (!status) status = gif_write(path, (const uint8_t *const *)frames, F, H, sheet.width, &gif, err);
    for (int f = 0; frames && f < F; f++) free(frames[f]);
    free(frames);
    frames_free(&sheet.frames);
    return status;
}
