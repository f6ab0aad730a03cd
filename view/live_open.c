// SPDX-License-Identifier: Apache-2.0
// Opening of models, rollouts and episodes.
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>

static Status open_model(Live *live, const LiveOptions *options, Error *err) {
    vpd_open_options open = {
        .struct_size = sizeof open, .device = options->device, .threads = options->threads, .raw = options->raw};
    const char *path = options->model;
    vpd_error e = {0};
    if (!path && live->count > 0) path = live->sources[0].file.checkpoint;
    if (live->count > 0 && !path[0] && live->sources[0].file.surface.frames) {
        snprintf(live->why, sizeof live->why, "change its scene and run vpd sim run again");
        return STATUS_OK;
    }
    if (!path || !*path) {
        snprintf(live->why, sizeof live->why, "the file names no checkpoint; give it too: vpd view CHECKPOINT FILE");
        return STATUS_OK;
    }
    Status status = api_status(vpd_model_open(path, &open, &live->model, &e), &e, err);
    if (status == STATUS_OK || options->model) return status;
    snprintf(live->why, sizeof live->why, "the checkpoint of the rollout cannot be opened: %s", err->text);
    return STATUS_OK;
}

static Status open_rollouts(Live *live, const LiveOptions *options, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; i < options->rollout_count && status == STATUS_OK; i++) {
        live->sources[i].path = options->rollouts[i];
        live->sources[i].real = realpath(options->rollouts[i], NULL);
        status = rollout_file_read(options->rollouts[i], &live->sources[i].file, err);
        live->count += status == STATUS_OK;
    }
    if (status == STATUS_OK) status = open_model(live, options, err);
    for (int i = 0; i < live->count && live->model && status == STATUS_OK; i++) {
        vpd_error e = {0};
        if (vpd_scene_read(live->model, options->rollouts[i], &live->sources[i].scene, &e) == VPD_OK) continue;
        if (options->model) status = api_status(e.status, &e, err);
        else snprintf(live->why, sizeof live->why, "%s", e.text);
    }
    if (status == STATUS_OK && live->model && !live->sources[0].scene) {
        vpd_model_close(live->model);
        live->model = NULL;
    }
    return status;
}

// The rollout goes through a file, so that it is read as any other is.
static Status keep_file(Source *source, Error *err) {
    Temporary file;
    vpd_error e = {0};
    Status status = live_temporary_begin(&file, err);
    if (status != STATUS_OK) return status;
    status = api_status(vpd_scene_write(source->scene, file.path, &e), &e, err);
    if (status == STATUS_OK) status = rollout_file_read(file.path, &source->file, err);
    live_temporary_end(&file);
    return status;
}

static Status predict(const Live *live, const char *episode, int start, int steps, Source *out, Error *err) {
    vpd_error e = {0};
    *out = (Source){.path = live->dataset};
    Status status = api_status(vpd_scene_episode(live->model, live->dataset, episode, start, &out->scene, &e), &e, err);
    if (status == STATUS_OK) status = api_status(vpd_scene_step(out->scene, (size_t)steps, &e), &e, err);
    if (status == STATUS_OK) status = keep_file(out, err);
    if (status != STATUS_OK) live_source_free(out);
    return status;
}

// The thread may copy the scene that is replaced.
Status live_episode(Live *live, const char *episode, int start, int steps, Error *err) {
    Source next, before;
    if (!live->predicts)
        return error_set(err, STATUS_BAD_INPUT, "rollouts are shown as they are: start vpd view RUN DATA for episodes");
    Status status = predict(live, episode, start, steps, &next, err);
    if (status != STATUS_OK) return status;
    pthread_mutex_lock(&live->lock);
    before = live->sources[0];
    live->sources[0] = next;
    live->episode = live->place(live->context, episode);
    live->generation++;
    pthread_mutex_unlock(&live->lock);
    live_source_free(&before);
    return STATUS_OK;
}

static Status open_episode(Live *live, const LiveOptions *options, Error *err) {
    Status status = open_model(live, options, err);
    live->predicts = true;
    if (status == STATUS_OK)
        status = predict(live, options->episode, options->start, options->steps, &live->sources[0], err);
    live->count = status == STATUS_OK;
    if (status == STATUS_OK) live->episode = live->place(live->context, options->episode);
    return status;
}

Status live_open(Live *live, const LiveOptions *options, Error *err) {
    live->dataset = options->dataset;
    live->episodes = options->episodes;
    live->place = options->place;
    live->context = options->context;
    snprintf(live->title, sizeof live->title, "%s",
             options->rollout_count > 0 ? options->rollouts[0] : options->dataset);
    return options->rollout_count > 0 ? open_rollouts(live, options, err) : open_episode(live, options, err);
}

void live_close(Live *live) {
    live_remove_dropped(live);
    for (int i = 0; i < LIVE_SCENES_MAX; i++) live_source_free(&live->sources[i]);
    vpd_model_close(live->model);
}
