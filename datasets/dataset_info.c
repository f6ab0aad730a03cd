// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/check.h"
#include "base/time_step.h"
#include "datasets/dataset_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_FILE = 200 }; // characters of a path in a label; of longer ones the last part alone

static const char *const SPLIT_NAMES[SPLIT_COUNT] = {"train", "val", "test"};

const char *split_name(Split split) { return SPLIT_NAMES[split]; }

const DatasetInfo *dataset_info(const Dataset *dataset) { return &dataset->info; }
int dataset_episode_count(const Dataset *dataset) { return dataset->info.episode_count; }

bool split_parse(const char *text, Split *out) {
    for (int i = 0; i < SPLIT_COUNT; i++) {
        if (strcmp(text, SPLIT_NAMES[i]) == 0) {
            *out = (Split)i;
            return true;
        }
    }
    return false;
}

const EpisodeInfo *dataset_episode(const Dataset *dataset, int episode) {
    CHECK(episode >= 0 && episode < dataset->info.episode_count);
    return &dataset->episodes[episode].info;
}

const char *dataset_file_name(const Dataset *dataset, int episode) {
    return dataset->files[dataset->episodes[episode].file].name;
}

EpisodeLabel dataset_episode_label(const Dataset *dataset, int episode) {
    EpisodeLabel out;
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    const char *file = dataset_file_name(dataset, episode);
    const char *last = strlen(file) > LABEL_FILE ? strrchr(file, '/') : NULL;
    bool several = dataset->info.file_count > 1;
    if (last) file = last + 1;
    snprintf(out.text, sizeof out.text, "%s%s%s", several ? file : "", several ? ":" : "", info->name);
    return out;
}

int dataset_label_width(const Dataset *dataset) {
    size_t width = 8;
    for (int i = 0; i < dataset->info.episode_count; i++) {
        size_t length = strlen(dataset_episode_label(dataset, i).text);
        width = length > width ? length : width;
    }
    return (int)width;
}

int dataset_find_split(const Dataset *dataset, Split split, int *episodes, int capacity) {
    int count = 0;
    for (int i = 0; i < dataset->info.episode_count; i++) {
        if (dataset->episodes[i].info.split != split) continue;
        if (count < capacity) episodes[count] = i;
        count++;
    }
    return count;
}

bool episode_view_is_heldout(const EpisodeInfo *episode, int view) {
    for (int i = 0; i < episode->heldout_count; i++) {
        if (episode->heldout_views[i] == view) return true;
    }
    return false;
}

const double *episode_pose(const EpisodeInfo *episode, int frame, int view) {
    size_t row = episode->moving_cameras ? (size_t)frame * (size_t)episode->V + (size_t)view : (size_t)view;
    return episode->world_from_camera + 16 * row;
}

char *dataset_keep_text(Dataset *dataset, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(&dataset->arena, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

Status dataset_append(Dataset *dataset, int file, const EpisodeInfo *info, Error *err) {
    DatasetInfo *all = &dataset->info;
    if (all->episode_count == dataset->episode_capacity) {
        int capacity = 2 * dataset->episode_capacity + 16;
        if (!array_grow(&dataset->episodes, (size_t)capacity, sizeof *dataset->episodes))
            return error_set(err, STATUS_FAILED, "%s: no memory for %d episodes", all->path, capacity);
        dataset->episode_capacity = capacity;
    }
    dataset->episodes[all->episode_count++] = (Episode){*info, file, dataset->image_count};
    dataset->image_count += (size_t)info->F * (size_t)info->V;
    all->split_count[info->split]++;
    return STATUS_OK;
}

int episode_stride(const EpisodeInfo *episode, double step, long intervals) {
    if (!(step > 0) || !(episode->time_step > 0)) return 1;
    double ratio = step / episode->time_step,
           room = intervals > 0 ? (double)((episode->F - 1) / intervals) : episode->F;
    double below = fmax(floor(ratio), 1), nearest = ratio * ratio <= below * (below + 1) ? below : below + 1;
    return (int)fmin(nearest, fmax(room, 1));
}

double dataset_usual_step(const Dataset *dataset, bool training_only) {
    double usual = 0;
    long votes = 0; // for `usual`, less those against it
    for (int i = 0; i < dataset_episode_count(dataset); i++) {
        const EpisodeInfo *info = dataset_episode(dataset, i);
        if (info->F < 2 || !info->even_time || (training_only && info->split != SPLIT_TRAIN)) continue;
        bool same = usual > 0 && time_step_same(info->time_step, usual);
        if (usual == 0 || (!same && votes == 0)) usual = info->time_step, same = true;
        votes += same ? 1 : -1;
    }
    return usual;
}
