// SPDX-License-Identifier: Apache-2.0
#include "infer/history.h"

#include "base/camera_rig.h"
#include "base/time_step.h"
#include "datasets/time_unit.h"
#include "model/lengths.h"

#include <math.h>
#include <stdlib.h>

// ---- which frames and views

Status history_stride(const Vpd *model, const EpisodeInfo *info, int *stride, Error *err) {
    double learned = model->config.data.time_step;
    *stride = episode_stride(info, learned, model->config.model.T - 1);
    if (!vpd_has_dynamics(model) || vpd_moves_at(model, *stride * info->time_step)) return STATUS_OK;
    Status status = time_unit_check(info, err);
    if (status != STATUS_OK) return status;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s:/episodes/%s/time: expected frames every %.4g s as the model learned%s, found one every %.4g "
                     "s; train on such video (vpd train --init .. --set data.time_step=%.4g)",
                     info->file, info->name, learned,
                     vpd_has_bodies(model) ? ", or more of them, or no fewer than a fourth"
                                           : ", or a whole number of times as many",
                     info->time_step, info->time_step);
}

int history_first_start(const Vpd *model, int stride) { return ((int)model->config.model.T - 1) * stride; }

static Status check_views(const IntList *wanted, const EpisodeInfo *info, Error *err) {
    for (int i = 0; i < wanted->count; i++) {
        bool twice = false;
        for (int j = 0; j < i; j++) twice = twice || wanted->v[j] == wanted->v[i];
        if (!twice && wanted->v[i] >= 0 && wanted->v[i] < info->V) continue;
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:/episodes/%s: input view %d%s; expected different views from 0 to %d", info->file,
                         info->name, wanted->v[i], twice ? " is there twice" : "", info->V - 1);
    }
    return STATUS_OK;
}

// Indices of the input views in the episode, into *views (at most V ints, malloc'ed).
static Status find_views(const Vpd *model, const IntList *wanted, const EpisodeInfo *info, int **views, int *count,
                         Error *err) {
    if (!wanted || wanted->count == 0) wanted = &model->config.data.input_views;
    *views = NULL;
    *count = 0;
    Status status = check_views(wanted, info, err);
    if (status != STATUS_OK) return status;
    int *list = malloc((size_t)(info->V + wanted->count) * sizeof *list);
    if (!list) return error_set(err, STATUS_FAILED, "out of memory for %d views", info->V);
    for (int i = 0; i < wanted->count; i++) list[(*count)++] = wanted->v[i];
    for (int v = 0; wanted->count == 0 && v < info->V; v++)
        if (!episode_view_is_heldout(info, v)) list[(*count)++] = v;
    *views = list;
    if (*count > 0) return STATUS_OK;
    free(list);
    *views = NULL;
    return error_set(err, STATUS_BAD_INPUT, "%s:/episodes/%s: all %d views are held out; name the input views",
                     info->file, info->name, info->V);
}

static Status check_start(const Vpd *model, const EpisodeInfo *info, int start, int stride, Error *err) {
    int first = history_first_start(model, stride), T = (int)model->config.model.T;
    if (first >= info->F)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:/episodes/%s: expected at least %d frames for the model's %d inputs, found %d", info->file,
                         info->name, first + 1, T, info->F);
    if (start >= first && start < info->F) return STATUS_OK;
    return error_set(
        err, STATUS_BAD_INPUT,
        "%s:/episodes/%s: start frame %d; expected %d to %d: the model sees %d frames, the last of them at the start",
        info->file, info->name, start, first, info->F - 1, T);
}

// Consecutive frames of the history must be about one time step apart.
static Status check_intervals(const Vpd *model, const EpisodeInfo *info, const Frames *frames, Error *err) {
    double time_step = info->time_step * frames->stride;
    for (int t = 1; t < frames->F && time_step > 0 && vpd_has_dynamics(model); t++) {
        double interval = frames->time[t] - frames->time[t - 1];
        if (time_step_fits(interval, time_step)) continue;
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s:/episodes/%s/time: expected %.4g s between frames %d and %d, found %.4g s; start elsewhere", info->file,
            info->name, time_step, frames->first + (t - 1) * frames->stride, frames->first + t * frames->stride,
            interval);
    }
    return STATUS_OK;
}

// ---- data unlike those that the model learned from

static void warn_of_up(const Vpd *model, const EpisodeInfo *info, const Log *log) {
    const double far = 0.7071; // cosine of 45 degrees
    double up[3];
    int axis = (int)model->config.train.turn - TURN_X;
    if (axis < 0 || !vpd_has_dynamics(model)) return;
    if (!camera_rig_up(info->world_from_camera, episode_poses(info), 16 * sizeof *up, up)) return;
    if (fabs(up[axis]) >= far) return;
    for (int c = 0; c < 3; c++) up[c] = round(100 * up[c]) / 100 + 0.0; // never -0
    log_warning(log,
                "%s:/episodes/%s: its cameras are held with (%.2f, %.2f, %.2f) up, but the model learned gravity along "
                "%c (train.turn), so its motion will be wrong; turn the poses of the data, with bounds and states, "
                "until up is along %c",
                info->file, info->name, up[0], up[1], up[2], 'x' + axis, 'x' + axis);
}

// How wide the points of the first frame are.
static Status measure_points(const Vpd *model, const Dataset *dataset, int episode, const IntList *wanted,
                             double *extent, Error *err) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    int *views = NULL, count = 0;
    Frames frames = {0};
    Status status = find_views(model, wanted, info, &views, &count, err);
    FrameRequest first = {.episode = episode, .count = 1, .stride = 1, .views = views, .view_count = count};
    if (status == STATUS_OK) status = dataset_read_frames(dataset, first, &frames, err);
    free(views);
    if (status != STATUS_OK) return status;
    Observation seen = frames_observation(&frames);
    seen.bounds = NULL;
    status = lengths_extent(1, &seen, extent, err);
    frames_free(&frames);
    return status;
}

static void warn_of_extent(const Vpd *model, const EpisodeInfo *info, double extent, const Log *log) {
    const double most = 3, learned = model->config.data.extent;
    if (extent <= most * learned && learned <= most * extent) return;
    log_warning(log,
                "%s:/episodes/%s: the scene is %.3g m wide, but the model learned in one of %.3g m (data.extent), so "
                "its predictions may be wrong; are depth and poses in metres? If cameras see far beyond where things "
                "happen, give the data a workspace box (vpd data convert --box)",
                info->file, info->name, extent, learned);
}

// A wide room around a small workspace is right, a thousand times as wide is another unit.
static void warn_of_bounds(const EpisodeInfo *info, double points, double box, const Log *log) {
    const double most = 100;
    if (points <= most * box && box <= most * points) return;
    log_warning(log,
                "%s:/episodes/%s: its points are spread over %.3g m, and its workspace box is %.3g m wide; are depth, "
                "poses and bounds in metres?",
                info->file, info->name, points, box);
}

// The same motion at another rate is that of a larger or a smaller scene, which the model may not know.
static void warn_of_rate(const Vpd *model, const EpisodeInfo *info, const Log *log) {
    int stride;
    Error unsaid = {0};
    double learned = model->config.data.time_step;
    if (!vpd_has_bodies(model) || !(learned > 0) || history_stride(model, info, &stride, &unsaid) != STATUS_OK) return;
    double slowest = fmax(learned, model->config.data.slowest), seen = info->time_step * stride, far = 1.5;
    if (seen <= far * slowest && learned <= far * seen) return;
    log_warning(log,
                "%s:/episodes/%s: the model sees a frame every %.4g s here, and learned from one every %.4g s, so its "
                "predictions may be wrong; train it on such video too",
                info->file, info->name, seen, seen < learned ? learned : slowest);
}

void history_warn(const Vpd *model, const Dataset *dataset, int episode, const IntList *wanted, const Log *log) {
    if (!log) return;
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    Observation boxed = {.bounds = info->bounds};
    double points, box;
    Error unsaid = {0}; // what cannot be read is an error where it is needed
    warn_of_up(model, info, log);
    warn_of_rate(model, info, log);
    if (measure_points(model, dataset, episode, wanted, &points, &unsaid) != STATUS_OK) return;
    if (!info->bounds) warn_of_extent(model, info, points, log);
    else if (lengths_extent(1, &boxed, &box, &unsaid) == STATUS_OK) {
        warn_of_extent(model, info, box, log);
        warn_of_bounds(info, points, box, log);
    }
}

// ---- reading

Status history_read(const Vpd *model, const Dataset *dataset, const HistoryRequest *request, Frames *out, Error *err) {
    const EpisodeInfo *info = dataset_episode(dataset, request->episode);
    int *views = NULL, count = 0, stride = 1;
    Status status = history_stride(model, info, &stride, err);
    if (status == STATUS_OK) status = check_start(model, info, request->start, stride, err);
    if (status == STATUS_OK) status = find_views(model, request->views, info, &views, &count, err);
    if (status != STATUS_OK) return status;
    int T = (int)model->config.model.T;
    FrameRequest frames = {.episode = request->episode,
                           .first = request->start - history_first_start(model, stride),
                           .count = T,
                           .stride = stride,
                           .views = views,
                           .view_count = count};
    status = dataset_read_frames(dataset, frames, out, err);
    free(views);
    return status == STATUS_OK ? check_intervals(model, info, out, err) : status;
}
