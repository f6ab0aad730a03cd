// SPDX-License-Identifier: Apache-2.0
#include "datasets/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int default_episode(const Dataset *dataset) {
    static const Split order[] = {SPLIT_TEST, SPLIT_VAL};
    int first;
    for (int i = 0; i < 2; i++)
        if (dataset_find_split(dataset, order[i], &first, 1) > 0) return first;
    return 0;
}

// "NAME", or "FILE:NAME" where FILE is the path or its last parts.
static bool episode_is(const EpisodeInfo *info, const char *text) {
    size_t name = strlen(info->name), length = strlen(text), file = strlen(info->file);
    if (length < name || strcmp(text + length - name, info->name) != 0) return false;
    if (length == name) return true;
    size_t given = length - name - 1;
    if (text[given] != ':' || given == 0 || given > file) return false;
    const char *end = info->file + file - given;
    return strncmp(end, text, given) == 0 && (given == file || end[-1] == '/');
}

Status dataset_find_episode(const Dataset *dataset, const char *text, int *episode, Error *err) {
    int count = dataset_episode_count(dataset), found = 0, first = -1;
    *episode = default_episode(dataset);
    if (!text) return STATUS_OK;
    for (int i = 0; i < count; i++) {
        if (!episode_is(dataset_episode(dataset, i), text)) continue;
        if (found++ == 0) first = i;
    }
    char *end = NULL;
    long number = strtol(text, &end, 10);
    if (found == 0 && *text && !*end && number >= 0 && number < count) found = 1, first = (int)number;
    *episode = first;
    if (found == 1) return STATUS_OK;
    if (found > 1)
        return error_set(err, STATUS_BAD_INPUT, "%s: %d episodes have the name %.100s; name the file too, as in %s:%s",
                         dataset_info(dataset)->path, found, text, dataset_episode(dataset, first)->file,
                         dataset_episode(dataset, first)->name);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: no episode %.100s; expected a name such as %s, or a number from 0 to %d",
                     dataset_info(dataset)->path, text, dataset_episode(dataset, 0)->name, count - 1);
}

// The same file may lie elsewhere, so of its path the last part is compared.
Status dataset_find_origin(const Dataset *dataset, const char *file, const char *name, int *episode, Error *err) {
    char text[2048];
    const char *last = strrchr(file, '/');
    snprintf(text, sizeof text, "%s:%s", last ? last + 1 : file, name);
    if (dataset_find_episode(dataset, text, episode, err) == STATUS_OK) return STATUS_OK;
    return dataset_find_episode(dataset, name, episode, err);
}
