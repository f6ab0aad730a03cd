// SPDX-License-Identifier: Apache-2.0
// Estimates the memory of a run before allocating it.
#include "train/trainer_internal.h"

#include "encoder/unproject.h"

#include <math.h>

enum { SAMPLES = 4 };

// Pixels with depth in the input views of one frame, which bound the number of particles.
static Status count_points(const TrainData *data, MemoryShape *shape, Error *err) {
    Frames frames[SAMPLES] = {{0}};
    PointCloud cloud = {0};
    UnprojectOptions options = {.crop = data->config->data.crop};
    int count = data->episode_count < SAMPLES ? data->episode_count : SAMPLES;
    Status status = train_data_samples(data, count, frames, err);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        Observation observation = frames_observation(&frames[i]);
        for (int f = 0; f < observation.F && status == STATUS_OK; f++) {
            status = unproject_frame(&observation, f, options, &cloud, err);
            shape->points = fmax(shape->points, (double)cloud.count / observation.V * shape->input_views);
        }
    }
    for (int i = 0; i < count; i++) frames_free(&frames[i]);
    point_cloud_free(&cloud);
    return status;
}

static Status shape_of(const TrainData *data, MemoryShape *shape, Error *err) {
    *shape = (MemoryShape){0};
    for (int i = 0; i < data->episode_count; i++) {
        const TrainEpisode *episode = &data->episodes[i];
        const EpisodeInfo *info = dataset_episode(data->dataset, episode->episode);
        double pixels = (double)info->H * info->W, images = (double)info->F * episode->view_count;
        if (pixels > shape->H * shape->W) shape->H = info->H, shape->W = info->W;
        shape->views = fmax(shape->views, episode->view_count);
        shape->input_views = fmax(shape->input_views, episode->input_view_count);
        shape->episodes_bytes += images * pixels * (3 + 4 + (info->has_mask ? 2 : 0));
    }
    return count_points(data, shape, err);
}

Status trainer_check_memory(Trainer *t, Error *err) {
    MemoryShape shape;
    double weights = 0;
    char text[400];
    Status status = memory_count_weights(&t->config, &weights, err);
    if (status == STATUS_OK) status = shape_of(&t->data, &shape, err);
    if (status != STATUS_OK) return status;
    memory_of_training(&t->config, &shape, weights, t->device->threads, &t->memory);
    status = memory_check(&t->memory, t->device, "this training", t->options->log, err);
    if (status != STATUS_OK) return status;
    memory_tell(&t->memory, text, sizeof text);
    log_note(t->options->log, "memory: about %.0f MiB (%s)", memory_total(&t->memory, false) / (1 << 20), text);
    return STATUS_OK;
}
