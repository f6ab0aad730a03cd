// SPDX-License-Identifier: Apache-2.0
#include "datasets/subset.h"

#include "base/progress.h"
#include "base/version.h"
#include "datasets/dataset_private.h"
#include "datasets/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cut {
    const Dataset *dataset;
    const SubsetOptions *options;
    DatasetWriter *writer;
    Frames frames;
    int *heldout;
    uint16_t *units;
} Cut;

static Status no_memory(const Dataset *dataset, Error *err) {
    return error_set(err, STATUS_FAILED, "%s: no memory to cut it", dataset_info(dataset)->path);
}

static Status plan_frames(const SubsetOptions *options, const EpisodeInfo *info, FrameRequest *request, Error *err) {
    int stride = options->stride ? options->stride : 1, left = info->F - options->first;
    if (left <= 0)
        return error_set(err, STATUS_BAD_INPUT, "%s:/episodes/%s: expected a first frame below %d, found %d",
                         info->file, info->name, info->F, options->first);
    request->first = options->first;
    request->stride = stride;
    request->count = options->count ? options->count : (left - 1) / stride + 1;
    request->views = options->views;
    request->view_count = options->view_count;
    return STATUS_OK;
}

// What of heldout_views is left, in the new numbering.
static int map_heldout(const EpisodeInfo *info, const Frames *frames, int *out) {
    int count = 0;
    for (int v = 0; v < frames->V; v++) {
        if (episode_view_is_heldout(info, frames->views[v])) out[count++] = v;
    }
    return count;
}

static Status describe(Cut *cut, const EpisodeInfo *from, EpisodeInfo *to, Error *err) {
    const Frames *frames = &cut->frames;
    free(cut->heldout);
    free(cut->units);
    cut->heldout = calloc((size_t)frames->V, sizeof *cut->heldout);
    cut->units = calloc((size_t)frames->H * (size_t)frames->W, sizeof *cut->units);
    if (!cut->heldout || !cut->units) return no_memory(cut->dataset, err);
    *to = *from;
    to->F = frames->F;
    to->V = frames->V;
    to->intrinsics = frames->intrinsics;
    to->world_from_camera = frames->world_from_camera; // its first frame is the whole when the cameras stand still
    to->time = frames->time;
    to->actions = frames->actions;
    to->object_position = frames->object_position;
    to->object_quaternion = frames->object_quaternion;
    to->heldout_views = cut->heldout;
    to->heldout_count = map_heldout(from, frames, cut->heldout);
    if (to->heldout_count == to->V)
        return error_set(err, STATUS_BAD_INPUT, "%s:/episodes/%s: every view that is kept is held out; keep another",
                         from->file, from->name);
    return STATUS_OK;
}

static Status put_images(Cut *cut, const EpisodeInfo *info, Error *err) {
    const Frames *frames = &cut->frames;
    size_t pixels = (size_t)frames->H * (size_t)frames->W;
    Status status = STATUS_OK;
    for (size_t i = 0; !status && i < (size_t)frames->F * (size_t)frames->V; i++) {
        const float *depth = frames->depth + i * pixels;
        // Back to the stored units: exact, since metres came from them by one product.
        for (size_t p = 0; info->depth_is_u16 && p < pixels; p++)
            cut->units[p] = (uint16_t)lrint(depth[p] / info->depth_scale);
        status = dataset_writer_put_image(cut->writer, (int)(i / (size_t)frames->V), (int)(i % (size_t)frames->V),
                                          frames->rgb + 3 * i * pixels,
                                          info->depth_is_u16 ? (const void *)cut->units : depth,
                                          frames->mask ? frames->mask + i * pixels : NULL, err);
    }
    return status;
}

static Status cut_episode(Cut *cut, int episode, Error *err) {
    const EpisodeInfo *from = dataset_episode(cut->dataset, episode);
    EpisodeInfo to;
    FrameRequest request = {.episode = episode};
    Status status = plan_frames(cut->options, from, &request, err);
    if (!status) status = dataset_read_frames(cut->dataset, request, &cut->frames, err);
    if (!status) status = describe(cut, from, &to, err);
    if (!status) status = dataset_writer_begin_episode(cut->writer, &to, err);
    if (!status) status = put_images(cut, &to, err);
    if (!status) status = dataset_writer_end_episode(cut->writer, err);
    return status;
}

// Which episodes; -1 behind the last. The caller frees it.
static int *choose(const Dataset *dataset, const SubsetOptions *options, int *chosen) {
    int count = dataset_episode_count(dataset), taken[SPLIT_COUNT] = {0};
    int *episodes = malloc(((size_t)count + 1) * sizeof *episodes);
    *chosen = 0;
    for (int i = 0; episodes && i < count; i++) {
        Split split = dataset_episode(dataset, i)->split;
        int wanted = options->episodes[split];
        if (wanted >= 0 && taken[split] >= wanted) continue;
        taken[split]++;
        episodes[(*chosen)++] = i;
    }
    return episodes;
}

static Status check_counts(const Dataset *dataset, const SubsetOptions *options, int chosen, Error *err) {
    const DatasetInfo *info = dataset_info(dataset);
    for (int s = 0; s < SPLIT_COUNT; s++) {
        if (options->episodes[s] > info->split_count[s])
            return error_set(err, STATUS_BAD_INPUT, "%s: expected %d %s episodes, found %d", info->path,
                             options->episodes[s], split_name((Split)s), info->split_count[s]);
    }
    if (chosen == 0) return error_set(err, STATUS_BAD_INPUT, "%s: no episode is left of it", info->path);
    return STATUS_OK;
}

Status dataset_write_subset(const Dataset *dataset, const SubsetOptions *options, const char *path, const Log *log,
                            Error *err) {
    const DatasetInfo *info = dataset_info(dataset);
    char generator[256];
    snprintf(generator, sizeof generator, "vpd %s data subset; %.150s", version_number(), info->generator);
    WriterOptions writing = {.name = options->name   ? options->name
                                     : info->name[0] ? info->name
                                                     : NULL,
                             .generator = generator,
                             .licence = info->licence[0] ? info->licence : NULL,
                             .missing_depth = info->missing_depth,
                             .deflate_level = options->deflate_level};
    Cut cut = {.dataset = dataset, .options = options};
    Progress progress;
    int chosen, *episodes = choose(dataset, options, &chosen);
    Status status = episodes ? check_counts(dataset, options, chosen, err) : no_memory(dataset, err);
    if (!status) status = dataset_writer_open(path, &writing, &cut.writer, err);
    progress_start(&progress, log, "subset", "episodes", 0, (size_t)chosen);
    for (int i = 0; !status && i < chosen; i++) {
        status = cut_episode(&cut, episodes[i], err);
        progress_update(&progress, (size_t)i + 1, NULL);
    }
    if (!status) status = dataset_writer_finish(cut.writer, err);
    else dataset_writer_discard(cut.writer);
    frames_free(&cut.frames);
    free(cut.heldout);
    free(cut.units);
    free(episodes);
    return status;
}
