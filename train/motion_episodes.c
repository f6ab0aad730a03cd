// SPDX-License-Identifier: Apache-2.0
#include "train/motion_episodes.h"

#include "files/data_record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

// Size and time of modification of the file `last`, which most episodes share with the one before.
typedef struct FileSeen {
    const char *last;
    int64_t size, seconds, nanoseconds; // 0: it cannot be found
} FileSeen;

static void look_at(FileSeen *seen, const char *file) {
    struct stat info;
    if (file == seen->last) return;
    *seen = (FileSeen){.last = file};
    if (stat(file, &info) != 0) return;
    seen->size = info.st_size;
    seen->seconds = info.st_mtim.tv_sec;
    seen->nanoseconds = info.st_mtim.tv_nsec;
}

static MotionEpisode describe(const TrainData *data, const TrainEpisode *episode, FileSeen *seen) {
    const EpisodeInfo *info = dataset_episode(data->dataset, episode->episode);
    look_at(seen, info->file);
    const int64_t from[] = {seen->size, seen->seconds, seen->nanoseconds, episode->stride};
    uint64_t hash = XXH3_64bits_withSeed(from, sizeof from, data_record_hash_episode(info));
    for (int i = 0; i < episode->input_view_count; i++) {
        const int32_t view = episode->views[episode->input_views[i]];
        hash = XXH3_64bits_withSeed(&view, sizeof view, hash);
    }
    return (MotionEpisode){hash, (size_t)episode->input_view_count * (size_t)info->H * (size_t)info->W, info->F};
}

// ---- episodes that look the same, as those of copied or unpacked files can

typedef struct Hash {
    uint64_t hash;
    int episode;
} Hash;

static int compare(const void *a, const void *b) {
    uint64_t x = ((const Hash *)a)->hash, y = ((const Hash *)b)->hash;
    return x < y ? -1 : x > y;
}

// hash (count): of episodes of the data set, in any order. What is listed twice stays the same.
static void tell_apart(const Dataset *dataset, Hash *hash, size_t count, MotionEpisode *out) {
    qsort(hash, count, sizeof *hash, compare);
    for (size_t i = 0; i < count; i++) {
        bool same = (i > 0 && hash[i - 1].hash == hash[i].hash) || (i + 1 < count && hash[i + 1].hash == hash[i].hash);
        const char *name = dataset_file_name(dataset, hash[i].episode);
        if (same) out[hash[i].episode].data = XXH3_64bits_withSeed(name, strlen(name), hash[i].hash);
    }
}

Status motion_episodes(const TrainData *data, MotionEpisode **out, Error *err) {
    size_t all = (size_t)dataset_episode_count(data->dataset), count = (size_t)data->episode_count;
    Hash *hash = malloc((count + 1) * sizeof *hash);
    *out = calloc(all + 1, sizeof **out);
    FileSeen seen = {.last = NULL};
    for (size_t i = 0; hash && *out && i < count; i++) {
        const TrainEpisode *episode = &data->episodes[i];
        MotionEpisode described = describe(data, episode, &seen);
        (*out)[episode->episode] = described;
        hash[i] = (Hash){described.data, episode->episode};
    }
    Status status = hash && *out ? STATUS_OK : error_no_memory(err, "the motion of %zu episodes", all);
    if (status == STATUS_OK) tell_apart(data->dataset, hash, count, *out);
    free(hash);
    return status;
}
