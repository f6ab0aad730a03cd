// SPDX-License-Identifier: Apache-2.0
#include "infer/eval_pictures.h"

#include "base/file.h"
#include "base/image.h"
#include "infer/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- in memory

bool eval_pictures_reserve(EvalPictures *pictures, size_t pixels) {
    free(pictures->rgb);
    free(pictures->depth);
    pictures->rgb = malloc(3 * pixels);
    pictures->depth = malloc(pixels * sizeof *pictures->depth);
    return pictures->rgb && pictures->depth;
}

void eval_pictures_copy(const EvalPictures *from, EvalPictures *to) {
    size_t pixels = (size_t)from->V * (size_t)from->H * (size_t)from->W;
    memcpy(to->rgb, from->rgb, 3 * pixels);
    memcpy(to->depth, from->depth, pixels * sizeof *to->depth);
}

void eval_pictures_free(EvalPictures *pictures) {
    free(pictures->rgb);
    free(pictures->depth);
    *pictures = (EvalPictures){0};
}

// ---- in files

// Path FOLDER/start_S/EPISODE/view_V/NAME_FFFF.png.
static Status picture_path(const EvalSheet *sheet, int view, int step, const char *name, char path[FILE_PATH_SIZE],
                           Error *err) {
    const RolloutFile *r = sheet->rollout;
    int n = snprintf(path, FILE_PATH_SIZE, "%s/start_%d/%s/view_%d/%s_%04d.png", sheet->folder, r->first_frame,
                     r->episode, view, name, r->first_frame + step * r->frame_stride);
    return n < FILE_PATH_SIZE ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", sheet->folder);
}

static Status write_colour(const EvalSheet *sheet, int view, int step, const uint8_t *rgb, Error *err) {
    char path[FILE_PATH_SIZE];
    Image image = {sheet->rollout->H, sheet->rollout->W, 3, PIXEL_U8, (void *)rgb};
    Status status = picture_path(sheet, view, step, "frame", path, err);
    return status == STATUS_OK ? image_write_png(&image, path, err) : status;
}

// Writes millimetres; 0 where there is no surface or depth is above 65.535 m.
static Status write_depth(const EvalSheet *sheet, int view, int step, const float *depth, Error *err) {
    char path[FILE_PATH_SIZE];
    Image image = {0};
    Status status = image_create(sheet->rollout->H, sheet->rollout->W, 1, PIXEL_U16, &image, err);
    if (status != STATUS_OK) return status;
    for (int i = 0; i < image.H * image.W; i++) {
        float mm = depth[i] * 1000 + 0.5f;
        ((uint16_t *)image.pixels)[i] = mm > 0 && mm < 65536 ? (uint16_t)mm : 0;
    }
    status = picture_path(sheet, view, step, "depth", path, err);
    if (status == STATUS_OK) status = image_write_png(&image, path, err);
    image_free(&image);
    return status;
}

// ---- the sheet

void eval_sheet_free(EvalSheet *sheet) {
    for (int row = 0; row < 2 * SHEET_VIEWS; row++)
        for (int column = 0; column < SHEET_COLUMNS; column++) free(sheet->panels[row][column]);
    *sheet = (EvalSheet){0};
}

Status eval_sheet_open(EvalSheet *sheet, const char *folder, const RolloutFile *rollout, Error *err) {
    *sheet = (EvalSheet){.rollout = rollout, .folder = folder};
    for (int heldout = 0; heldout < 2; heldout++) {
        int view = 0;
        while (view < rollout->V && rollout->heldout[view] != heldout) view++;
        if (view < rollout->V) sheet->views[sheet->view_count++] = view;
    }
    sheet->step_count = report_choose_steps((int)rollout->steps, false, sheet->steps, SHEET_COLUMNS);
    return file_make_folders(folder, err);
}

static Status keep_panel(EvalSheet *sheet, int row, int column, const uint8_t *rgb, Error *err) {
    const RolloutFile *r = sheet->rollout;
    size_t bytes = 3 * (size_t)r->H * (size_t)r->W;
    uint8_t *copy = sheet->panels[row][column] = malloc(bytes);
    if (!copy) return error_set(err, STATUS_FAILED, "out of memory for a sheet of pictures");
    memcpy(copy, rgb, bytes);
    snprintf(sheet->captions[row][column], sizeof sheet->captions[row][column], row % 2 ? "model" : "step %d",
             sheet->steps[column]);
    return STATUS_OK;
}

Status eval_sheet_add(EvalSheet *sheet, int step, const Frames *truth, const EvalPictures *drawn, Error *err) {
    size_t pixels = (size_t)drawn->H * (size_t)drawn->W;
    Status status = STATUS_OK;
    for (int view = 0; view < drawn->V && status == STATUS_OK; view++) {
        status = write_colour(sheet, view, step, drawn->rgb + 3 * pixels * (size_t)view, err);
        if (status == STATUS_OK) status = write_depth(sheet, view, step, drawn->depth + pixels * (size_t)view, err);
    }
    for (int column = 0; column < sheet->step_count; column++) {
        for (int i = 0; i < sheet->view_count && sheet->steps[column] == step && status == STATUS_OK; i++) {
            size_t at = 3 * pixels * (size_t)sheet->views[i];
            status = keep_panel(sheet, 2 * i, column, truth->rgb + at, err);
            if (status == STATUS_OK) status = keep_panel(sheet, 2 * i + 1, column, drawn->rgb + at, err);
        }
    }
    return status;
}

Status eval_sheet_write(const EvalSheet *sheet, Error *err) {
    const RolloutFile *r = sheet->rollout;
    VideoPanel panels[2 * SHEET_VIEWS * SHEET_COLUMNS];
    VideoLayout layout = {.H = r->H, .W = r->W, .rows = 2 * sheet->view_count, .columns = sheet->step_count};
    Video video = {0};
    char path[FILE_PATH_SIZE], title[160];
    int used =
        snprintf(title, sizeof title, "episode %.60s from frame %d: truth and model, view", r->episode, r->first_frame);
    for (int i = 0; i < sheet->view_count; i++)
        used += snprintf(title + used, sizeof title - (size_t)used, "%s %d%s", i ? " and" : "", sheet->views[i],
                         r->heldout[sheet->views[i]] ? " (held out)" : "");
    layout.title = title;
    for (int i = 0; i < layout.rows * layout.columns; i++) {
        int row = i / layout.columns, column = i % layout.columns;
        panels[i] = (VideoPanel){sheet->panels[row][column], sheet->captions[row][column]};
    }
    int n = snprintf(path, sizeof path, "%s/%s_start_%d.png", sheet->folder, r->episode, r->first_frame);
    if (n >= (int)sizeof path) return error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", sheet->folder);
    Status status = video_add_panels(&video, &layout, panels, err);
    if (status == STATUS_OK) {
        Image image = {video.H, video.W, 3, PIXEL_U8, video.frames[0]};
        status = image_write_png(&image, path, err);
    }
    video_free(&video);
    return status;
}
