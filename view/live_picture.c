// SPDX-License-Identifier: Apache-2.0
// What the model draws and what cameras recorded.
#include "base/image.h"
#include "view/live_internal.h"

#include <math.h>
#include <stdlib.h>

static Status draw(const vpd_scene *scene, const LivePicture *picture, ViewBytes *out, Error *err) {
    Image image = {0};
    vpd_error e = {0};
    Status status = image_create(picture->view.H, picture->view.W, 3, PIXEL_U8, &image, err);
    vpd_picture parts = {.struct_size = sizeof parts, .rgb = image.pixels};
    if (status == STATUS_OK)
        status = api_status(vpd_scene_render(scene, picture->step, &picture->view, &parts, &e), &e, err);
    if (status == STATUS_OK) status = image_encode_png(&image, &out->data, &out->size, err);
    image_free(&image);
    return status;
}

Status live_recorded(Live *live, int scene, size_t step, int camera, ViewBytes *out, Error *err) {
    Image image = {0};
    vpd_error e = {0};
    *out = (ViewBytes){0};
    if (scene < 0 || scene >= live->count || !live->sources[scene].scene)
        return error_set(err, STATUS_BAD_INPUT, "scene %d: there is no recording without its model", scene);
    const Source *source = &live->sources[scene];
    Status status = image_create(source->file.H, source->file.W, 3, PIXEL_U8, &image, err);
    if (status == STATUS_OK)
        status = api_status(vpd_scene_recorded(source->scene, live->dataset, step, camera, image.pixels, &e), &e, err);
    if (status == STATUS_OK) status = image_encode_png(&image, &out->data, &out->size, err);
    image_free(&image);
    return status;
}

static Status read_both(const Source *source, const char *dataset, size_t step, int camera, uint8_t *drawn,
                        uint8_t *recorded, Error *err) {
    vpd_view view = {.struct_size = sizeof view};
    vpd_picture parts = {.struct_size = sizeof parts, .rgb = drawn};
    vpd_error e = {0};
    Status status = api_status(vpd_scene_recorded(source->scene, dataset, step, camera, recorded, &e), &e, err);
    if (status == STATUS_OK) status = api_status(vpd_scene_camera(source->scene, step, camera, &view, &e), &e, err);
    if (status == STATUS_OK) status = api_status(vpd_scene_render(source->scene, step, &view, &parts, &e), &e, err);
    return status;
}

Status live_psnr(Live *live, int scene, size_t step, int camera, double *out, Error *err) {
    if (scene < 0 || scene >= live->count || !live->sources[scene].scene)
        return error_set(err, STATUS_BAD_INPUT, "scene %d: there is no picture without its model", scene);
    const Source *source = &live->sources[scene];
    size_t count = 3 * (size_t)source->file.H * (size_t)source->file.W;
    uint8_t *pixels = malloc(2 * count + 1);
    if (!pixels) return live_no_memory(err);
    Status status = read_both(source, live->dataset, step, camera, pixels, pixels + count, err);
    double squares = 0;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        double difference = ((double)pixels[i] - (double)pixels[count + i]) / 255;
        squares += difference * difference;
    }
    *out = -10 * log10(fmax(squares / (double)count, 1e-10));
    free(pixels);
    return status;
}

Status live_picture(Live *live, const LivePicture *picture, ViewBytes *out, Error *err) {
    const vpd_view *view = &picture->view;
    *out = (ViewBytes){0};
    if (!live->model) return error_set(err, STATUS_BAD_INPUT, "%s", live->why);
    if (picture->scene >= live->count || view->H < 1 || view->W < 1 || view->H > LIVE_PICTURE_SIDE ||
        view->W > LIVE_PICTURE_SIDE)
        return error_set(err, STATUS_BAD_INPUT, "a picture: expected one of %d scenes, and sides of 1 to %d pixels",
                         live->count, LIVE_PICTURE_SIDE);
    pthread_mutex_lock(&live->lock);
    const Result *r = &live->result;
    bool there = picture->scene >= 0 || (r->id == picture->id && r->parts > 0 && !r->working);
    Status status =
        there ? draw(picture->scene >= 0 ? live->sources[picture->scene].scene : live->scene, picture, out, err)
              : live_stale(err, picture->id);
    pthread_mutex_unlock(&live->lock);
    return status;
}
