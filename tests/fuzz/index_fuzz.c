// SPDX-License-Identifier: Apache-2.0
// Any bytes as a record of an index (datasets/record.h), with the size and the checksum that they ought to have:
// refused, or an episode whose arrays can all be read.
#include "tests/fuzz/fuzz.h"

#include "datasets/record.h"
#include "datasets/stored.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static double touched; // keeps the reads

static void touch(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; at && i < size; i++) touched += at[i];
}

static void touch_episode(const EpisodeInfo *info) {
    size_t F = (size_t)info->F, V = (size_t)info->V, O = (size_t)info->O;
    touch(info->name, strlen(info->name));
    touch(info->source, strlen(info->source));
    touch(info->scene, strlen(info->scene));
    touch(info->intrinsics, 72 * V);
    touch(info->world_from_camera, 128 * (info->moving_cameras ? F * V : V));
    touch(info->time, 8 * F);
    touch(info->bounds, 48);
    touch(info->actions, 4 * F * (size_t)info->A);
    touch(info->object_position, 24 * F * O);
    touch(info->object_quaternion, 32 * F * O);
    touch(info->stored, stored_bytes(info));
    touch(info->heldout_views, sizeof(int) * (size_t)info->heldout_count);
    for (int i = 0; i < info->property_count; i++) touch(info->properties[i].name, strlen(info->properties[i].name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t bytes = size & ~(uint64_t)7, checksum;
    if (bytes < 16) return 0;
    char *copy = malloc(bytes);
    if (!copy) abort();
    memcpy(copy, data, bytes);
    checksum = XXH3_64bits(copy + 16, bytes - 16);
    memcpy(copy, &bytes, sizeof bytes);
    memcpy(copy + 8, &checksum, sizeof checksum);
    const Record *record = record_at(copy, bytes);
    for (int e = 0; record && e < record_episode_count(record); e++) {
        EpisodeInfo info;
        if (!record_episode(record, e, &info)) abort();
        touch_episode(&info);
    }
    free(copy);
    return 0;
}
