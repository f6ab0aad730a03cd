// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "infer/draw.h"

#include <string.h>

vpd_status vpd_scene_camera(const vpd_scene *scene, size_t step, int camera, vpd_view *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_view, &e);
    if (status == STATUS_OK) status = api_check_step(scene, step, &e);
    if (status == STATUS_OK && (camera < 0 || camera >= scene->file.V))
        status = error_set(&e, STATUS_BAD_INPUT, "camera %d: the scene has %d cameras, counted from 0", camera,
                           scene->file.V);
    if (status != STATUS_OK) return api_result(status, &e, err);
    RendererCamera c = draw_camera(&scene->file, step, camera);
    out->H = c.H, out->W = c.W;
    memcpy(out->intrinsics, c.K, sizeof out->intrinsics);
    memcpy(out->world_from_camera, c.world_from_camera, sizeof out->world_from_camera);
    return api_result(STATUS_OK, &e, err);
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
    if (status == STATUS_OK) status = api_check_step(scene, step, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin_model_long(scene->model);
    status = render(scene, step, view, picture, &e);
    call_end(&call);
    return api_result(status, &e, err);
}
