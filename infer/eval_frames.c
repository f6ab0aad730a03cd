// SPDX-License-Identifier: Apache-2.0
#include "infer/eval_frames.h"

#include "base/file.h"
#include "base/image.h"
#include "infer/eval_masks.h"

#include <stdlib.h>
#include <string.h>

// State of one evaluation, with buffers that are reused for every picture.
typedef struct Evaluation {
    const Dataset *dataset;
    const EvalFramesOptions *options;
    Report *report;
    int stride, steps;
    Frames before, now; // all views of the last input frame and of the frame that is measured
    uint8_t *moving;    // (H,W)
    size_t pixels;
    size_t found; // number of pictures
    EvalMoving how;
} Evaluation;

static bool wanted(const Evaluation *e, const EpisodeInfo *info) {
    const bool *splits = e->options->splits;
    bool all = true;
    for (int s = 0; s < SPLIT_COUNT; s++) all = all && !splits[s];
    return (all || splits[info->split]) && info->F > e->options->last_input;
}

// "val,test", or "all".
static void split_words(const EvalFramesOptions *options, char out[64]) {
    size_t used = 0;
    for (int s = 0; s < SPLIT_COUNT; s++)
        if (options->splits[s])
            used += (size_t)snprintf(out + used, 64 - used, "%s%s", used ? "," : "", split_name((Split)s));
    if (used == 0) snprintf(out, 64, "all");
}

// ---- pictures of the other system

static Status wrong_size(const char *path, const EpisodeInfo *info, const Image *image, Error *err) {
    return error_set(err, STATUS_BAD_INPUT, "%s: expected %d x %d pixels as in the data set, found %d x %d", path,
                     info->W, info->H, image->W, image->H);
}

// Path folder/EPISODE/view_V/NAME_FFFF.EXTENSION; false if it is too long or there is no such file.
static bool find_picture(const Evaluation *e, const EpisodeInfo *info, int view, int frame, const char *name,
                         const char *extension, char path[FILE_PATH_SIZE]) {
    int n = snprintf(path, FILE_PATH_SIZE, "%s/%s/view_%d/%s_%04d.%s", e->options->folder, info->name, view, name,
                     frame, extension);
    return n < FILE_PATH_SIZE && file_exists(path);
}

static Status read_colour(const char *path, const EpisodeInfo *info, Image *out, Error *err) {
    Image image = {0};
    Status status = image_read(path, &image, err);
    if (status == STATUS_OK && (image.H != info->H || image.W != info->W)) status = wrong_size(path, info, &image, err);
    if (status == STATUS_OK) status = image_to_rgb8(&image, out, err);
    image_free(&image);
    return status;
}

// Depth as f32 metres, or as u16 millimetres, which are converted.
static Status read_depth(const char *path, const EpisodeInfo *info, float **out, Error *err) {
    Image image = {0};
    size_t pixels = (size_t)info->H * (size_t)info->W;
    Status status = image_read(path, &image, err);
    if (status != STATUS_OK) return status;
    if (image.H != info->H || image.W != info->W) status = wrong_size(path, info, &image, err);
    else if (image.channels != 1 || image.type == PIXEL_U8)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected one channel of f32 metres or u16 millimetres", path);
    else if (!(*out = malloc(pixels * sizeof **out))) status = error_set(err, STATUS_FAILED, "%s: out of memory", path);
    for (size_t i = 0; status == STATUS_OK && i < pixels; i++)
        (*out)[i] = image.type == PIXEL_F32 ? ((float *)image.pixels)[i] : (float)((uint16_t *)image.pixels)[i] / 1000;
    image_free(&image);
    return status;
}

static Status find_depth(const Evaluation *e, const EpisodeInfo *info, int view, int frame, float **out, Error *err) {
    char path[FILE_PATH_SIZE];
    if (find_picture(e, info, view, frame, "depth", "tiff", path) ||
        find_picture(e, info, view, frame, "depth", "tif", path) ||
        find_picture(e, info, view, frame, "depth", "png", path))
        return read_depth(path, info, out, err);
    return STATUS_OK;
}

// ---- measuring

static Status need_pixels(Evaluation *e, size_t pixels, Error *err) {
    if (pixels <= e->pixels) return STATUS_OK;
    free(e->moving);
    e->moving = malloc(pixels);
    e->pixels = e->moving ? pixels : 0;
    return e->moving ? STATUS_OK
                     : error_set(err, STATUS_FAILED, "out of memory to compare pictures of %zu pixels", pixels);
}

// Compares the picture with the truth, and the last input frame with it.
static Status measure_view(Evaluation *e, const EpisodeInfo *info, int view, int step, const char *path, Error *err) {
    Image image = {0};
    float *depth = NULL;
    size_t pixels = (size_t)info->H * (size_t)info->W, at = (size_t)view * pixels;
    int frame = e->options->last_input + step * e->stride;
    Status status = read_colour(path, info, &image, err);
    if (status == STATUS_OK) status = find_depth(e, info, view, frame, &depth, err);
    if (status == STATUS_OK) status = need_pixels(e, pixels, err);
    if (status != STATUS_OK) goto done;
    eval_mask_moving((EvalPixels){&e->now, view}, &e->before, &e->how, e->moving);
    ReportImage measured = {.method = METHOD_MODEL,
                            .step = step,
                            .view = view,
                            .heldout = episode_view_is_heldout(info, view),
                            .H = info->H,
                            .W = info->W,
                            .predicted = image.pixels,
                            .truth = e->now.rgb + 3 * at,
                            .predicted_depth = depth,
                            .true_depth = e->now.depth + at,
                            .moving = e->moving};
    status = report_add_image(e->report, &measured, err);
    measured.method = METHOD_COPY;
    measured.predicted = e->before.rgb + 3 * at;
    measured.predicted_depth = e->before.depth + at;
    // At step 0 the last input frame is the truth itself.
    if (status == STATUS_OK && step > 0) status = report_add_image(e->report, &measured, err);
    e->found += status == STATUS_OK;
done:
    image_free(&image);
    free(depth);
    return status;
}

static Status read_frame(Evaluation *e, int episode, int frame, Frames *out, Error *err) {
    FrameRequest request = {.episode = episode, .first = frame, .count = 1};
    return dataset_read_frames(e->dataset, request, out, err);
}

static Status measure_step(Evaluation *e, int episode, int step, Error *err) {
    const EpisodeInfo *info = dataset_episode(e->dataset, episode);
    char path[FILE_PATH_SIZE];
    bool read = false;
    Status status = STATUS_OK;
    int frame = e->options->last_input + step * e->stride;
    for (int view = 0; view < info->V && status == STATUS_OK; view++) {
        if (!find_picture(e, info, view, frame, "frame", "png", path)) continue;
        if (!read) status = read_frame(e, episode, frame, &e->now, err);
        read = true;
        if (status == STATUS_OK) status = measure_view(e, info, view, step, path, err);
    }
    return status;
}

static Status measure_episode(Evaluation *e, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(e->dataset, episode);
    size_t before = e->found;
    Status status = read_frame(e, episode, e->options->last_input, &e->before, err);
    for (int step = 0; step <= e->steps && e->options->last_input + step * e->stride < info->F && status == STATUS_OK;
         step++)
        status = measure_step(e, episode, step, err);
    e->report->episodes += e->found > before;
    e->report->rollouts += e->found > before;
    if (e->found > before) report_add_step(e->report, info->time_step * e->stride);
    return status;
}

// ---- the evaluation

// Number of steps to the end of the longest episode, and of views; *steps is -1 if no episode is selected.
static void find_extent(Evaluation *e, int *steps, int *views) {
    *steps = -1;
    *views = 1;
    for (int i = 0; i < dataset_episode_count(e->dataset); i++) {
        const EpisodeInfo *info = dataset_episode(e->dataset, i);
        int last = (info->F - 1 - e->options->last_input) / e->stride;
        if (!wanted(e, info)) continue;
        if (last > *steps) *steps = last;
        if (info->V > *views) *views = info->V;
    }
}

static void write_heading(const Evaluation *e) {
    Report *report = e->report;
    snprintf(report->model, sizeof report->model, "pictures in %.480s", e->options->folder);
    snprintf(report->data, sizeof report->data, "%.500s", dataset_info(e->dataset)->path);
    snprintf(report->still, sizeof report->still, "that takes a model, and these are pictures");
    split_words(e->options, report->split);
    eval_moving_words(e->how, report->moving, sizeof report->moving);
}

static Status nothing_found(const Evaluation *e, Error *err) {
    for (int i = 0; i < dataset_episode_count(e->dataset); i++) {
        const EpisodeInfo *info = dataset_episode(e->dataset, i);
        if (wanted(e, info))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected pictures such as %s/view_0/frame_%04d.png, found none", e->options->folder,
                             info->name, e->options->last_input + e->stride);
    }
    char splits[64];
    split_words(e->options, splits);
    return error_set(err, STATUS_BAD_INPUT, "%s: expected an episode of split %s with more than %d frames, found none",
                     dataset_info(e->dataset)->path, splits, e->options->last_input);
}

Status eval_frames(const Dataset *dataset, const EvalFramesOptions *options, Report *report, Error *err) {
    Evaluation e = {.dataset = dataset, .options = options, .report = report};
    int steps, views;
    *report = (Report){0};
    e.stride = options->stride > 0 ? options->stride : 1;
    find_extent(&e, &steps, &views);
    e.steps = options->steps > 0 && options->steps < steps ? options->steps : steps;
    if (steps < 0) return nothing_found(&e, err);
    Status status = report_init(report, e.steps, views, err);
    for (int i = 0; i < dataset_episode_count(dataset) && status == STATUS_OK; i++)
        if (wanted(&e, dataset_episode(dataset, i))) status = measure_episode(&e, i, err);
    if (status == STATUS_OK && e.found == 0) status = nothing_found(&e, err);
    if (status == STATUS_OK) write_heading(&e);
    else report_free(report);
    frames_free(&e.before);
    frames_free(&e.now);
    free(e.moving);
    return status;
}
