// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "infer/draw.h"

#include <string.h>

static void give_camera(RendererCamera from, vpd_view *to) {
    to->H = from.H, to->W = from.W;
    memcpy(to->intrinsics, from.K, sizeof to->intrinsics);
    memcpy(to->world_from_camera, from.world_from_camera, sizeof to->world_from_camera);
}

vpd_status vpd_scene_camera(const vpd_scene *scene, size_t step, int camera, vpd_view *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_view, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = api_check_step(&scene->file, step, &e);
    if (status == STATUS_OK) status = api_check_camera_index(&scene->file, camera, &e);
    if (status == STATUS_OK) give_camera(draw_camera(&scene->file, step, camera), out);
    call_end(&call);
    return api_result(status, &e, err);
}

static Status check_picture(const vpd_view *view, const vpd_picture *picture, Error *err) {
    Status status = API_CHECK_STRUCT(view, vpd_view, err);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(picture, vpd_picture, err);
    if (status == STATUS_OK) status = api_check_sides(view->H, view->W, "vpd_view", err);
    if (status == STATUS_OK) status = api_check_camera(view->intrinsics, view->world_from_camera, "vpd_view", err);
    if (status != STATUS_OK) return status;
    if (picture->rgb || picture->colour || picture->depth || picture->opacity) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "vpd_picture: expected at least one of rgb, colour, depth and opacity, found "
                     "NULL for all");
}

static Status render(const vpd_scene *scene, size_t step, const vpd_view *view, const vpd_picture *picture,
                     Error *err) {
    Tape *tape = &scene->model->workspace.tape;
    const Vpd *model = scene->model->session.model;
    RendererCamera camera = {.H = view->H, .W = view->W};
    RendererFrame frame = {
        .rgb = picture->rgb, .colour = picture->colour, .depth = picture->depth, .opacity = picture->opacity};
    DrawScene drawn;
    memcpy(camera.K, view->intrinsics, sizeof camera.K);
    memcpy(camera.world_from_camera, view->world_from_camera, sizeof camera.world_from_camera);
    Status status = draw_load(&scene->model->workspace, &scene->file, step, &drawn, err);
    return status == STATUS_OK ? draw_view(tape, model, &drawn, &camera, frame, err) : status;
}

vpd_status vpd_scene_render(const vpd_scene *scene, size_t step, const vpd_view *view, const vpd_picture *picture,
                            vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = check_picture(view, picture, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, true);
    status = api_check_step(&scene->file, step, &e);
    if (status == STATUS_OK) status = render(scene, step, view, picture, &e);
    call_end(&call);
    return api_result(status, &e, err);
}
