// SPDX-License-Identifier: Apache-2.0
#include "app/sim_fit_film.h"

#include "infer/video.h"
#include "lab/fit_pictures.h"
#include "lab/footage.h"

#include <stdlib.h>
#include <string.h>

enum { PANELS = 3 };

// One of the panels: a scene and where its particles are.
typedef struct Take {
    SimScene scene;
    Footage footage;
    Render *render;
} Take;

typedef struct Film {
    const FitData *data;
    Take take[2]; // start, result
    Frames seen;  // of the first view; empty for a rollout file
    double *colour;
    uint8_t *rgb[PANELS];
    Video video;
    int threads;
} Film;

static Status open_take(Film *film, const FitFree *f, const double *x, Take *out, Error *err) {
    Status status = fit_free_scene(f, x, &out->scene, err);
    if (status == STATUS_OK && film->seen.H) out->scene.picture.H = film->seen.H, out->scene.picture.W = film->seen.W;
    if (status == STATUS_OK) status = footage_run(&out->scene, &(SimOptions){0}, &out->footage, err);
    const SimOptions on = {.precision = SIM_F32, .threads = film->threads};
    return status == STATUS_OK ? render_open(&out->scene, &on, &out->render, err) : status;
}

static void close_film(Film *film) {
    for (int i = 0; i < 2; i++) {
        render_close(film->take[i].render);
        footage_free(&film->take[i].footage);
        scene_free(&film->take[i].scene);
    }
    for (int i = 0; i < PANELS; i++) free(film->rgb[i]);
    free(film->colour);
    frames_free(&film->seen);
    video_free(&film->video);
}

static Status draw(const Film *film, const Take *take, const SceneCamera *camera, const double *position, uint8_t *rgb,
                   Error *err) {
    const ScenePicture *picture = &take->scene.picture;
    Status status = render_draw(take->render, camera, position, &(RenderPicture){.colour = film->colour}, err);
    if (status == STATUS_OK) footage_bytes(film->colour, (size_t)picture->H * (size_t)picture->W, rgb);
    return status;
}

static Status add_frame(Film *film, size_t frame, Error *err) {
    static const char *const captions[PANELS] = {"recording", "start", "fit"};
    const ScenePicture *picture = &film->take[1].scene.picture;
    const size_t row = 3 * film->take[1].scene.model.particles, bytes = 3 * (size_t)picture->H * (size_t)picture->W;
    SceneCamera camera = picture->camera[0];
    Status status = STATUS_OK;
    if (film->seen.F) {
        fit_camera(&film->take[1].scene, film->seen.intrinsics, film->seen.world_from_camera + 16 * frame, &camera);
        memcpy(film->rgb[0], film->seen.rgb + frame * bytes, bytes);
    } else status = draw(film, film->take + 1, &camera, film->data->position + frame * row, film->rgb[0], err);
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status =
            draw(film, film->take + i, &camera, film->take[i].footage.position + frame * row, film->rgb[i + 1], err);
    VideoPanel panels[PANELS];
    for (int i = 0; i < PANELS; i++) panels[i] = (VideoPanel){film->rgb[i], captions[i]};
    const VideoLayout layout = {.H = picture->H, .W = picture->W, .rows = 1, .columns = PANELS};
    return status == STATUS_OK ? video_add_panels(&film->video, &layout, panels, err) : status;
}

static Status read_seen(Film *film, const Dataset *dataset, int episode, Error *err) {
    const int view = 0;
    const FrameRequest request = {
        .episode = episode, .count = (int)film->data->frames, .views = &view, .view_count = 1};
    return dataset ? dataset_read_frames(dataset, request, &film->seen, err) : STATUS_OK;
}

static Status allocate(Film *film, Error *err) {
    const ScenePicture *picture = &film->take[1].scene.picture;
    const size_t pixels = (size_t)picture->H * (size_t)picture->W;
    bool good = (film->colour = calloc(pixels, 3 * sizeof *film->colour));
    for (int i = 0; i < PANELS; i++) good = (film->rgb[i] = calloc(pixels, 3)) && good;
    return good ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a film");
}

Status sim_fit_film(const FitFree *f, const FitData *data, const FitResult *result, const Dataset *dataset, int episode,
                    int threads, const char *path, Error *err) {
    Film film = {.data = data, .threads = threads};
    double end[FIT_VARIABLES_MAX];
    for (size_t i = 0; i < f->count; i++) end[i] = result->value[i].value;
    Status status = read_seen(&film, dataset, episode, err);
    if (status == STATUS_OK) status = open_take(&film, f, NULL, film.take, err);
    if (status == STATUS_OK) status = open_take(&film, f, end, film.take + 1, err);
    if (status == STATUS_OK) status = allocate(&film, err);
    film.video.fps = 1 / data->scene->frame_time;
    for (size_t i = 0; i < data->frames && status == STATUS_OK; i++) status = add_frame(&film, i, err);
    if (status == STATUS_OK) status = video_write(&film.video, path, err);
    close_film(&film);
    return status;
}
