// SPDX-License-Identifier: Apache-2.0
// The recording's pictures that belong to the steps of a scene, and its particles moved as the recording says.
#include "api/api.h"
#include "datasets/dataset.h"
#include "infer/truth.h"

#include <string.h>

// `path` NULL: the data set that the scene names.
static Status open_recording(const RolloutFile *r, const char *path, Dataset **out, Error *err) {
    if (!path) path = r->dataset;
    if (*path) return dataset_open(path, out, err);
    return error_set(err, STATUS_BAD_INPUT, "the scene names no data set: give its path");
}

static Status read_frame(const RolloutFile *r, const Dataset *dataset, size_t step, int camera, uint8_t *rgb,
                         Error *err) {
    FrameRequest request = {.count = 1, .views = &camera, .view_count = 1};
    Frames frames = {0};
    Status status = dataset_find_origin(dataset, r->dataset, r->episode, &request.episode, err);
    if (status != STATUS_OK) return status;
    const EpisodeInfo *info = dataset_episode(dataset, request.episode);
    size_t frame = (size_t)r->first_frame + step * (size_t)r->frame_stride;
    if (info->V != r->V || info->H != r->H || info->W != r->W)
        return error_set(err, STATUS_BAD_INPUT,
                         "episode %s: expected %d views of %d x %d pixels as in the scene, found %d of %d x %d",
                         r->episode, r->V, r->W, r->H, info->V, info->W, info->H);
    if (frame >= (size_t)info->F)
        return error_set(err, STATUS_BAD_INPUT, "the recording of episode %s ends before step %zu", r->episode, step);
    request.first = (int)frame;
    status = dataset_read_frames(dataset, request, &frames, err);
    if (status == STATUS_OK) memcpy(rgb, frames.rgb, 3 * (size_t)r->H * (size_t)r->W);
    frames_free(&frames);
    return status;
}

vpd_status vpd_scene_recorded(const vpd_scene *scene, const char *path, size_t step, int camera, uint8_t *rgb,
                              vpd_error *err) {
    Error e = {0};
    Dataset *dataset = NULL;
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(rgb, "rgb", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = api_check_step(&scene->file, step, &e);
    if (status == STATUS_OK) status = api_check_camera_index(&scene->file, camera, &e);
    if (status == STATUS_OK) status = open_recording(&scene->file, path, &dataset, &e);
    if (status == STATUS_OK) status = read_frame(&scene->file, dataset, step, camera, rgb, &e);
    dataset_close(dataset);
    call_end(&call);
    return api_result(status, &e, err);
}

static Status make_truth(const RolloutFile *r, const char *path, RolloutFile *out, Error *err) {
    Dataset *dataset = NULL;
    int episode = 0;
    Status status = open_recording(r, path, &dataset, err);
    if (status == STATUS_OK) status = dataset_find_origin(dataset, r->dataset, r->episode, &episode, err);
    if (status == STATUS_OK) status = truth_of_rollout(r, dataset_episode(dataset, episode), out, err);
    dataset_close(dataset);
    return status;
}

vpd_status vpd_scene_truth(const vpd_scene *scene, const char *path, vpd_scene **out, vpd_error *err) {
    Error e = {0};
    RolloutFile truth = {0};
    if (out) *out = NULL;
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(out, "out", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = make_truth(&scene->file, path, &truth, &e);
    if (status == STATUS_OK) status = scene_create(scene->model, &truth, out, &e);
    call_end(&call);
    return api_result(status, &e, err);
}
