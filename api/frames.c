// SPDX-License-Identifier: Apache-2.0
// Frames that lie in the caller's memory become the history that a rollout begins from.
#include "api/api.h"
#include "base/time_step.h"
#include "model/lengths.h"

#include <math.h>
#include <stdlib.h>

enum { VIEWS_MAX = 65535 };

static Status check_shape(const vpd_frames *f, int T, Error *err) {
    if (f->F != T)
        return error_set(err, STATUS_BAD_INPUT, "vpd_frames: expected F = %d frames, the model's history, found %d", T,
                         f->F);
    if (f->V < 1 || f->V > VIEWS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "vpd_frames: expected 1 to %d views, found %d", VIEWS_MAX, f->V);
    Status status = api_check_sides(f->H, f->W, "vpd_frames", err);
    if (status == STATUS_OK) status = api_check_pointer(f->rgb, "vpd_frames rgb", err);
    if (status == STATUS_OK) status = api_check_pointer(f->depth, "vpd_frames depth", err);
    if (status == STATUS_OK) status = api_check_pointer(f->intrinsics, "vpd_frames intrinsics", err);
    if (status == STATUS_OK) status = api_check_pointer(f->world_from_camera, "vpd_frames world_from_camera", err);
    return status;
}

static Status check_depth(const vpd_frames *f, Error *err) {
    size_t image = (size_t)f->H * (size_t)f->W, images = (size_t)f->F * (size_t)f->V;
    for (size_t i = 0; i < images * image; i++) {
        if (isfinite(f->depth[i]) && f->depth[i] >= 0) continue;
        size_t at = i / image;
        return error_set(err, STATUS_BAD_INPUT,
                         "vpd_frames depth: expected finite metres, 0 where there is none, found %g in frame %zu, view "
                         "%zu",
                         (double)f->depth[i], at / (size_t)f->V, at % (size_t)f->V);
    }
    return STATUS_OK;
}

static Status check_cameras(const vpd_frames *f, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; i < f->F * f->V && status == STATUS_OK; i++) {
        char what[64];
        snprintf(what, sizeof what, "vpd_frames frame %d, view %d:", i / f->V, i % f->V);
        status = api_check_camera(f->intrinsics + 9 * (i % f->V), f->world_from_camera + 16 * i, what, err);
    }
    return status;
}

// Seconds between the frames; 0: not said.
static double time_step_of(const vpd_frames *f) {
    return f->time && f->F > 1 ? (f->time[f->F - 1] - f->time[0]) / (f->F - 1) : 0;
}

// Models of bodies see frames at any rate (vpd_scale).
static Status check_time(const vpd_frames *f, const Vpd *model, Error *err) {
    double learned = model->config.data.time_step, time_step = vpd_has_bodies(model) ? time_step_of(f) : learned;
    if (!vpd_moves_at(model, time_step))
        return error_set(
            err, STATUS_BAD_INPUT,
            "vpd_frames time: expected %.4g to %.4g s between frames (the model learned %.4g s), found %.4g s",
            learned / 4, 4 * learned, learned, time_step);
    for (int t = 0; f->time && t < f->F; t++) {
        double interval = t > 0 ? f->time[t] - f->time[t - 1] : 1;
        if (!isfinite(f->time[t]) || !(interval > 0))
            return error_set(err, STATUS_BAD_INPUT,
                             "vpd_frames time: expected finite, increasing seconds, found %g at frame %d", f->time[t],
                             t);
        bool fits = t == 0 || !(time_step > 0) || time_step_fits(interval, time_step);
        if (!fits && vpd_has_dynamics(model))
            return error_set(err, STATUS_BAD_INPUT,
                             "vpd_frames time: expected %.4g s between frames, found %.4g s between "
                             "frames %d and %d",
                             time_step, interval, t - 1, t);
    }
    return STATUS_OK;
}

static Status check_bounds(const double *bounds, Error *err) {
    for (int c = 0; bounds && c < 3; c++)
        if (!(isfinite(bounds[c]) && isfinite(bounds[c + 3]) && bounds[c] < bounds[c + 3]))
            return error_set(err, STATUS_BAD_INPUT,
                             "vpd_frames bounds: expected a finite lower corner below the upper one, found %g to %g on "
                             "axis %d",
                             bounds[c], bounds[c + 3], c);
    return STATUS_OK;
}

// Objects that the mask names: its largest id.
static int count_objects(const vpd_frames *f) {
    size_t pixels = (size_t)f->F * (size_t)f->V * (size_t)f->H * (size_t)f->W;
    int largest = 0;
    for (size_t i = 0; f->mask && i < pixels; i++) largest = f->mask[i] > largest ? f->mask[i] : largest;
    return largest;
}

// Points of the first frame that are spread over a hundred times the box or the model's scene are in another unit.
static Status check_extent(const vpd_model *model, Frames first, Error *err) {
    const double most = 100;
    double points, expected = model->session.model->config.data.extent;
    Error unsaid = {0}; // without any depth the rollout cannot begin, and says so
    first.F = 1;
    Observation seen = frames_observation(&first), boxed = {.bounds = first.bounds};
    seen.bounds = NULL;
    if (lengths_extent(1, &seen, &points, &unsaid) != STATUS_OK) return STATUS_OK;
    if (first.bounds && lengths_extent(1, &boxed, &expected, &unsaid) != STATUS_OK) return STATUS_OK;
    if (points <= most * expected && expected <= most * points) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "vpd_frames: its points are spread over %.3g m, and %s is %.3g m wide; are depth%s and poses in "
                     "metres?",
                     points, first.bounds ? "its workspace box" : "the scene that the model learned in (data.extent)",
                     expected, first.bounds ? ", bounds" : "");
}

// The frames as an episode of a recording without a file; `views` (V) and `time` (F) are filled and belong to it.
static Status begin(vpd_model *model, const vpd_frames *f, int *views, double *time, RolloutFile *out, Error *err) {
    double given = time_step_of(f), step = given > 0 ? given : model->session.model->config.data.time_step;
    for (int v = 0; v < f->V; v++) views[v] = v;
    for (int t = 0; t < f->F; t++) time[t] = f->time ? f->time[t] : t * (step > 0 ? step : 1);
    EpisodeInfo info = {.file = "",
                        .name = f->name ? f->name : "",
                        .F = f->F,
                        .V = f->V,
                        .H = f->H,
                        .W = f->W,
                        .moving_cameras = true,
                        .intrinsics = f->intrinsics,
                        .world_from_camera = f->world_from_camera,
                        .time = time,
                        .time_step = step,
                        .bounds = f->bounds};
    Frames history = {.F = f->F,
                      .V = f->V,
                      .H = f->H,
                      .W = f->W,
                      .O = count_objects(f),
                      .stride = 1,
                      .views = views,
                      .rgb = (uint8_t *)f->rgb, // the caller's arrays are only read
                      .depth = (float *)f->depth,
                      .mask = (uint16_t *)f->mask,
                      .intrinsics = (double *)f->intrinsics,
                      .world_from_camera = (double *)f->world_from_camera,
                      .time = time,
                      .bounds = f->bounds};
    Status status = check_extent(model, history, err);
    return status ? status : rollout_begin(&model->workspace, &info, &history, out, err);
}

static Status encode(vpd_model *model, const vpd_frames *f, RolloutFile *out, Error *err) {
    const Vpd *m = model->session.model;
    Status status = check_shape(f, (int)m->config.model.T, err);
    if (status == STATUS_OK) status = check_depth(f, err);
    if (status == STATUS_OK) status = check_cameras(f, err);
    if (status == STATUS_OK) status = check_time(f, m, err);
    if (status == STATUS_OK) status = check_bounds(f->bounds, err);
    if (status != STATUS_OK) return status;
    int *views = malloc((size_t)f->V * sizeof *views);
    double *time = malloc((size_t)f->F * sizeof *time);
    if (views && time) status = begin(model, f, views, time, out, err);
    else status = error_set(err, STATUS_FAILED, "out of memory for %d views", f->V);
    free(views);
    free(time);
    return status;
}

vpd_status vpd_scene_encode(vpd_model *model, const vpd_frames *frames, vpd_scene **out, vpd_error *err) {
    Error e = {0};
    RolloutFile file = {0};
    Status status = api_check_pointer(model, "model", &e);
    if (status == STATUS_OK) status = api_check_pointer(out, "out", &e);
    if (status == STATUS_OK) *out = NULL;
    if (status == STATUS_OK) status = API_CHECK_STRUCT(frames, vpd_frames, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(model, 0, true);
    status = encode(model, frames, &file, &e);
    if (status == STATUS_OK) session_sign(&model->session, &file);
    if (status == STATUS_OK) status = scene_create(model, &file, out, &e);
    call_end(&call);
    return api_result(status, &e, err);
}
