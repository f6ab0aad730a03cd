// SPDX-License-Identifier: Apache-2.0
#include "infer/film.h"

#include "base/image.h"
#include "base/progress.h"
#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

// ---- which pictures

void film_free(Film *film) {
    free(film->shots);
    *film = (Film){0};
}

static Status film_create(Film *film, const RolloutFile *rollout, int frames, int rows, long only_step, Error *err) {
    *film = (Film){.frames = frames, .rows = rows};
    if (only_step > (long)rollout->steps)
        return error_set(err, STATUS_BAD_INPUT, "expected a step of the rollout, 0 to %zu, found %ld", rollout->steps,
                         only_step);
    film->shots = calloc((size_t)frames * (size_t)rows, sizeof *film->shots);
    return film->shots ? STATUS_OK
                       : error_set(err, STATUS_FAILED, "out of memory for a film of %d pictures", frames * rows);
}

static void film_resize(Film *film, int H, int W) {
    film->H = H > 0 ? H : film->shots[0].camera.H;
    film->W = W > 0 ? W : film->shots[0].camera.W;
    for (int i = 0; i < film->frames * film->rows; i++)
        film->shots[i].camera = draw_resized(&film->shots[i].camera, film->H, film->W);
}

Status film_of_views(const RolloutFile *rollout, const int *views, int count, long only_step, int H, int W, Film *out,
                     Error *err) {
    Status status = film_create(out, rollout, only_step >= 0 ? 1 : (int)rollout->steps + 1, count, only_step, err);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        if (views[i] < 0 || views[i] >= rollout->V)
            status = error_set(err, STATUS_BAD_INPUT,
                               "expected one of the rollout's %d views, counted from 0, found view %d", rollout->V,
                               views[i]);
    for (int i = 0; i < out->frames * count && status == STATUS_OK; i++) {
        size_t step = (size_t)(only_step >= 0 ? only_step : i / count);
        out->shots[i] = (FilmShot){step, views[i % count], draw_camera(rollout, step, views[i % count])};
    }
    if (status == STATUS_OK) film_resize(out, H, W);
    else film_free(out);
    return status;
}

Status film_of_path(const RolloutFile *rollout, const PathCamera *cameras, int count, long only_step, int H, int W,
                    Film *out, Error *err) {
    int frames = count == 1 && only_step < 0 ? (int)rollout->steps + 1 : count;
    Status status = film_create(out, rollout, frames, 1, only_step, err);
    if (status != STATUS_OK) return status;
    for (int i = 0; i < frames; i++) {
        const PathCamera *from = &cameras[count == 1 ? 0 : i];
        FilmShot *shot = &out->shots[i];
        *shot = (FilmShot){.step = (size_t)i * (rollout->steps + 1) / (size_t)frames,
                           .view = -1,
                           .camera = {.H = from->H, .W = from->W}};
        if (only_step >= 0) shot->step = (size_t)only_step;
        memcpy(shot->camera.K, from->K, sizeof from->K);
        memcpy(shot->camera.world_from_camera, from->world_from_camera, sizeof from->world_from_camera);
    }
    film_resize(out, H, W);
    return STATUS_OK;
}

// ---- truth

typedef struct Filming {
    RolloutWorkspace *workspace;
    const RolloutFile *rollout;
    const Film *film;
    const FilmOptions *options;
    Frames frames;  // true pictures of the current frame: the views of all rows
    bool has_truth; // whether the current frame has any
    int columns;
    uint8_t **pictures; // (rows, 3) of (H,W,3)
    VideoPanel *panels; // (rows, columns)
    char (*captions)[64];
} Filming;

// The rollout must come from this episode: the true pictures are drawn beside it.
static Status check_truth(const RolloutFile *r, const FilmOptions *options, Error *err) {
    if (!options->truth) return STATUS_OK;
    const EpisodeInfo *info = dataset_episode(options->truth, options->episode);
    if (info->V == r->V && info->H == r->H && info->W == r->W && r->first_frame < info->F) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s:/episodes/%s: expected %d views of %d x %d pixels as in the rollout, found %d of %d x %d",
                     info->file, info->name, r->V, r->W, r->H, info->V, info->W, info->H);
}

static Status read_truth(Filming *f, const FilmShot *shots, Error *err) {
    const FilmOptions *options = f->options;
    f->has_truth = false;
    if (!options->truth || shots[0].view < 0) return STATUS_OK;
    size_t frame = (size_t)f->rollout->first_frame + shots[0].step * (size_t)f->rollout->frame_stride;
    if (frame >= (size_t)dataset_episode(options->truth, options->episode)->F) return STATUS_OK;
    f->has_truth = true;
    FrameRequest request = {.episode = options->episode, .first = (int)frame, .count = 1};
    return dataset_read_frames(options->truth, request, &f->frames, err);
}

// The true picture in the film's size.
static Status copy_truth(const Filming *f, int view, uint8_t *rgb, Error *err) {
    const Frames *frames = &f->frames;
    size_t bytes = 3 * (size_t)frames->H * (size_t)frames->W;
    Image from = {frames->H, frames->W, 3, PIXEL_U8, frames->rgb + bytes * (size_t)view}, to = {0};
    if (frames->H == f->film->H && frames->W == f->film->W) {
        memcpy(rgb, from.pixels, bytes);
        return STATUS_OK;
    }
    Status status = image_resize(&from, f->film->H, f->film->W, &to, err);
    if (status == STATUS_OK) memcpy(rgb, to.pixels, 3 * (size_t)to.H * (size_t)to.W);
    image_free(&to);
    return status;
}

// ---- drawing

Status film_draw_shot(RolloutWorkspace *workspace, const DrawScene *scene, const FilmShot *shot, bool labels,
                      uint8_t *rgb, Error *err) {
    size_t pixels = (size_t)shot->camera.H * (size_t)shot->camera.W;
    if (!labels)
        return draw_view(&workspace->tape, workspace->model, scene, &shot->camera, (RendererFrame){.rgb = rgb}, err);
    if (!scene->labels)
        return error_set(err, STATUS_BAD_INPUT, "the rollout has no labels to draw: its data set has no mask");
    float *share = malloc(pixels * (size_t)scene->label_count * sizeof *share);
    if (!share)
        return error_set(err, STATUS_FAILED, "out of memory for %d labels of %zu pixels", scene->label_count, pixels);
    Status status =
        draw_view(&workspace->tape, workspace->model, scene, &shot->camera, (RendererFrame){.label = share}, err);
    if (status == STATUS_OK) draw_label_colours(share, scene->label_count, pixels, rgb);
    free(share);
    return status;
}

enum { TRUTH, PREDICTED, DIFFERENCE, KINDS };

// At most 16 characters, because a panel is 192 pixels wide.
static void caption(const Filming *f, int kind, const FilmShot *shot, char out[64]) {
    bool heldout = shot->view >= 0 && f->rollout->heldout && f->rollout->heldout[shot->view];
    if (kind != PREDICTED && !f->has_truth) snprintf(out, 64, "%s", kind == TRUTH ? "video has ended" : "");
    else if (kind == TRUTH) snprintf(out, 64, "truth, view %d", shot->view);
    else if (kind == DIFFERENCE) snprintf(out, 64, "difference");
    else if (f->columns == 1 && shot->view >= 0)
        snprintf(out, 64, "view %d%s", shot->view, heldout ? ", held out" : "");
    else snprintf(out, 64, "model%s", heldout ? ", held out" : "");
}

// The panels of one row: truth, prediction and difference, or the first of these.
static Status draw_row(Filming *f, const DrawScene *scene, int row, const FilmShot *shot, Error *err) {
    uint8_t **pictures = f->pictures + (size_t)row * KINDS;
    size_t pixels = (size_t)f->film->H * (size_t)f->film->W;
    Status status = film_draw_shot(f->workspace, scene, shot, f->options->labels, pictures[PREDICTED], err);
    if (status == STATUS_OK && f->has_truth) status = copy_truth(f, shot->view, pictures[TRUTH], err);
    if (status != STATUS_OK) return status;
    if (f->has_truth) video_difference(pictures[TRUTH], pictures[PREDICTED], pixels, pictures[DIFFERENCE]);
    for (int column = 0; column < f->columns; column++) {
        int kind = f->columns == 1 ? PREDICTED : column, i = row * f->columns + column;
        caption(f, kind, shot, f->captions[i]);
        f->panels[i] = (VideoPanel){kind == PREDICTED || f->has_truth ? pictures[kind] : NULL, f->captions[i]};
    }
    return STATUS_OK;
}

static Status draw_frame(Filming *f, int frame, Video *video, Error *err) {
    const FilmShot *shots = f->film->shots + (size_t)frame * (size_t)f->film->rows;
    const RolloutFile *r = f->rollout;
    DrawScene scene;
    char title[80];
    if (stop_requested()) return stop_error(err);
    Status status = read_truth(f, shots, err);
    if (status == STATUS_OK) status = draw_load(f->workspace, r, shots[0].step, &scene, err);
    for (int row = 0; row < f->film->rows && status == STATUS_OK; row++)
        status = draw_row(f, &scene, row, &shots[row], err);
    if (status != STATUS_OK) return status;
    snprintf(title, sizeof title, "step %zu of %zu, %.2f s", shots[0].step, r->steps,
             r->time[shots[0].step] - r->time[0]);
    VideoLayout layout = {
        .H = f->film->H, .W = f->film->W, .rows = f->film->rows, .columns = f->columns, .title = title};
    return video_add_panels(video, &layout, f->panels, err);
}

static Status filming_open(Filming *f, Error *err) {
    size_t rows = (size_t)f->film->rows, pixels = (size_t)f->film->H * (size_t)f->film->W;
    f->pictures = calloc(rows * KINDS, sizeof *f->pictures);
    f->panels = calloc(rows * KINDS, sizeof *f->panels);
    f->captions = calloc(rows * KINDS, sizeof *f->captions);
    bool good = f->pictures && f->panels && f->captions;
    for (size_t i = 0; good && i < rows * KINDS; i++) good = (f->pictures[i] = malloc(3 * pixels));
    return good ? STATUS_OK
                : error_set(err, STATUS_FAILED, "out of memory for pictures of %d x %d", f->film->W, f->film->H);
}

static void filming_close(Filming *f) {
    for (int i = 0; f->pictures && i < f->film->rows * KINDS; i++) free(f->pictures[i]);
    free(f->pictures);
    free(f->panels);
    free(f->captions);
    frames_free(&f->frames);
}

Status film_draw(RolloutWorkspace *workspace, const RolloutFile *rollout, const Film *film, const FilmOptions *options,
                 Video *video, Error *err) {
    Filming f = {.workspace = workspace, .rollout = rollout, .film = film, .options = options, .columns = 1};
    Progress progress;
    if (options->truth && film->shots[0].view >= 0) f.columns = options->difference ? 3 : 2;
    Status status = check_truth(rollout, options, err);
    if (status == STATUS_OK) status = filming_open(&f, err);
    progress_start(&progress, options->log, "draw", "frames", 0, (size_t)film->frames);
    for (int i = 0; i < film->frames && status == STATUS_OK; i++) {
        status = draw_frame(&f, i, video, err);
        progress_update(&progress, (size_t)i + 1, NULL);
    }
    progress_end(&progress, NULL);
    filming_close(&f);
    return status;
}
