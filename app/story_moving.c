// SPDX-License-Identifier: Apache-2.0
#include "app/story.h"

#include "infer/film.h"

#include <stdlib.h>
#include <string.h>

enum { VIEWS = 3, ROWS = 2 };

// Pictures of one episode, (ROWS, views, frames) of (H,W,3); NULL beyond the video's end.
typedef struct Reel {
    int views[VIEWS], view_count, frames, H, W;
    uint8_t *pictures[ROWS * VIEWS * 1024];
    Frames truth;
} Reel;

// Two input views and the first held-out one, as far as there are.
static void choose_views(const EpisodeInfo *info, Reel *reel) {
    for (int v = 0; v < info->V && reel->view_count < VIEWS - 1; v++)
        if (!episode_view_is_heldout(info, v)) reel->views[reel->view_count++] = v;
    if (info->heldout_count > 0) reel->views[reel->view_count++] = info->heldout_views[0];
}

static uint8_t **slot(Reel *reel, int row, int column, int frame) {
    return &reel->pictures[(row * reel->view_count + column) * reel->frames + frame];
}

static void reel_free(Reel *reel) {
    for (int i = reel->view_count * reel->frames; i < ROWS * reel->view_count * reel->frames; i++)
        free(reel->pictures[i]);
    frames_free(&reel->truth); // the first row points into it
    free(reel);
}

static Status read_truth(Reel *reel, const StoryOptions *options, int episode, int stride, Error *err) {
    const EpisodeInfo *info = dataset_episode(options->dataset, episode);
    int there = (info->F - 1 - options->start) / stride + 1, count = there < reel->frames ? there : reel->frames;
    FrameRequest request = {.episode = episode,
                            .first = options->start,
                            .count = count,
                            .stride = stride,
                            .views = reel->views,
                            .view_count = reel->view_count};
    Status status = dataset_read_frames(options->dataset, request, &reel->truth, err);
    size_t image = (size_t)info->H * (size_t)info->W * 3;
    for (int c = 0; c < reel->view_count && status == STATUS_OK; c++)
        for (int f = 0; f < count; f++)
            *slot(reel, 0, c, f) = reel->truth.rgb + image * (size_t)(f * reel->view_count + c);
    return status;
}

static Status draw_prediction(Reel *reel, RolloutWorkspace *workspace, const RolloutFile *rollout, Error *err) {
    Status status = STATUS_OK;
    for (int f = 0; f < reel->frames && status == STATUS_OK; f++) {
        DrawScene scene;
        status = draw_load(workspace, rollout, (size_t)f, &scene, err);
        for (int c = 0; c < reel->view_count && status == STATUS_OK; c++) {
            FilmShot shot = {(size_t)f, reel->views[c], draw_camera(rollout, (size_t)f, reel->views[c])};
            uint8_t **picture = slot(reel, 1, c, f);
            *picture = malloc((size_t)reel->H * (size_t)reel->W * 3);
            if (!*picture) return error_set(err, STATUS_FAILED, "out of memory for pictures");
            status = film_draw_shot(workspace, &scene, &shot, false, *picture, err);
        }
    }
    return status;
}

static void add_to_page(Page *page, Reel *reel, const RolloutFile *rollout, const EpisodeInfo *info) {
    char column_text[VIEWS][48], frame_text[1024][48], caption[320];
    const char *rows[ROWS] = {"recorded", "predicted"}, *columns[VIEWS], *frames[1024];
    for (int c = 0; c < reel->view_count; c++) {
        snprintf(column_text[c], sizeof column_text[c], "camera %d%s", reel->views[c] + 1,
                 episode_view_is_heldout(info, reel->views[c]) ? " (held out)" : "");
        columns[c] = column_text[c];
    }
    for (int f = 0; f < reel->frames; f++) {
        snprintf(frame_text[f], sizeof frame_text[f], "step %d of %d, %.2f s", f, reel->frames - 1,
                 f * rollout->time_step);
        frames[f] = frame_text[f];
    }
    snprintf(caption, sizeof caption,
             "Episode %s (%s). Step 0 is frame %d, the last input frame, as the model draws it; all later pictures of "
             "the lower row are predicted.%s",
             info->name, split_name(info->split), rollout->first_frame,
             reel->truth.F < reel->frames ? " The recording ends before the prediction." : "");
    page_moving(page,
                &(PageMoving){.caption = caption,
                              .alt = "Top: the recorded video. Bottom: what the model predicts from the input frames.",
                              .rows = ROWS,
                              .columns = reel->view_count,
                              .frames = reel->frames,
                              .H = reel->H,
                              .W = reel->W,
                              .row_names = rows,
                              .column_names = columns,
                              .frame_names = frames,
                              .pictures = (const uint8_t *const *)reel->pictures,
                              .fps = 8});
}

// The same rollout as particles to turn and play.
static Status add_particles(Page *page, const RolloutFile *rollout, Error *err) {
    PageScene scene = {.name = "predicted"};
    Status status = view_file_bytes(rollout, &scene.bytes, err);
    if (status == STATUS_OK)
        page_viewer(page, &scene, 1,
                    "The particles of this prediction. Drag to turn, click to select, `?` for all keys.");
    free(scene.bytes.data);
    return status;
}

static Status show_episode(Page *page, RolloutWorkspace *workspace, const StoryOptions *options, int episode,
                           Error *err) {
    const EpisodeInfo *info = dataset_episode(options->dataset, episode);
    RolloutRequest request = {.history = {.episode = episode, .start = options->start}, .steps = options->steps};
    RolloutFile rollout = {0};
    Reel *reel = calloc(1, sizeof *reel);
    if (!reel) return error_set(err, STATUS_FAILED, "out of memory for pictures");
    reel->frames = options->steps + 1;
    reel->H = info->H;
    reel->W = info->W;
    Status status = rollout_run(workspace, options->dataset, &request, &rollout, err);
    if (status == STATUS_OK) {
        choose_views(info, reel);
        status = read_truth(reel, options, episode, rollout.frame_stride, err);
    }
    if (status == STATUS_OK) status = draw_prediction(reel, workspace, &rollout, err);
    if (status == STATUS_OK) add_to_page(page, reel, &rollout, info);
    if (status == STATUS_OK) status = add_particles(page, &rollout, err);
    reel_free(reel);
    rollout_file_free(&rollout);
    return status;
}

Status story_moving(Page *page, const Session *session, const StoryOptions *options, Error *err) {
    RolloutWorkspace workspace = {0};
    Status status = STATUS_OK;
    if (options->steps + 1 > 1024)
        return error_set(err, STATUS_BAD_INPUT, "--steps: expected at most 1023, found %d", options->steps);
    rollout_workspace_init(&workspace, session->model);
    for (int i = 0; i < options->episode_count && status == STATUS_OK; i++)
        status = show_episode(page, &workspace, options, options->episodes[i], err);
    rollout_workspace_free(&workspace);
    return status;
}
