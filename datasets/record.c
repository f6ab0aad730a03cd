// SPDX-License-Identifier: Apache-2.0
#include "datasets/record.h"

#include "base/array.h"
#include "base/check.h"
#include "datasets/file_stamp.h"
#include "datasets/stored.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { NO_PLACE = 0, CHECKED_FROM = 2 * sizeof(uint64_t) };

// Places are counted from the start of the record; 0: absent.
struct Record {
    uint64_t bytes, checksum; // of all that follows these two
    FileStamp stamp;
    uint64_t file_name, name, generator, created, licence;
    uint32_t version[2];
    int32_t missing_depth, episodes;
    // RecordEpisode of each, then arrays and texts
};

typedef struct RecordEpisode {
    uint64_t name, source, scene, intrinsics, poses, time, bounds, heldout, actions, position, quaternion, properties,
        stored;
    double depth_scale, time_step;
    int32_t split, F, V, H, W, A, O, heldout_count, property_count;
    int32_t has_mask, moving_cameras, depth_is_u16, even_time, padding; // `stored` is StoredImages
} RecordEpisode;

// ---- bytes

static bool grow(Bytes *bytes, size_t size) {
    size_t wanted = bytes->capacity ? bytes->capacity : 4096;
    while (wanted < size) wanted *= 2;
    if (wanted > bytes->capacity && !array_grow(&bytes->data, wanted, 1)) return false;
    bytes->capacity = wanted;
    return true;
}

size_t bytes_reserve(Bytes *bytes, size_t size) {
    size_t at = bytes->size, padded = (size + 7) & ~(size_t)7;
    bytes->failed = bytes->failed || padded < size || !grow(bytes, at + padded);
    if (bytes->failed) return at;
    memset(bytes->data + at + size, 0, padded - size);
    bytes->size += padded;
    return at;
}

size_t bytes_add(Bytes *bytes, const void *data, size_t size) {
    size_t at = bytes_reserve(bytes, size);
    if (!bytes->failed && size) memcpy(bytes->data + at, data, size);
    return at;
}

void bytes_free(Bytes *bytes) {
    free(bytes->data);
    *bytes = (Bytes){0};
}

// ---- packing

typedef struct Packer {
    Bytes *out;
    size_t start; // of the record
} Packer;

// `before`: where the episode before has the same, or NO_PLACE.
static uint64_t keep(const Packer *packer, const void *data, size_t count, size_t width, uint64_t before) {
    Bytes *out = packer->out;
    size_t size = count * width, at = packer->start + before;
    if (!data) return NO_PLACE;
    if (before && !out->failed && at + size <= out->size && memcmp(out->data + at, data, size) == 0) return before;
    return bytes_add(out, data, size) - packer->start;
}

static uint64_t keep_text(const Packer *packer, const char *text, uint64_t before) {
    return keep(packer, text, text ? strlen(text) + 1 : 0, 1, before);
}

static RecordEpisode pack_episode(const Packer *packer, const EpisodeInfo *info, const RecordEpisode *before) {
    size_t F = (size_t)info->F, V = (size_t)info->V, O = (size_t)info->O, poses = episode_poses(info);
    return (RecordEpisode){
        .name = keep_text(packer, info->name, NO_PLACE),
        .source = keep_text(packer, info->source, before->source),
        .scene = keep_text(packer, info->scene, before->scene),
        .intrinsics = keep(packer, info->intrinsics, 9 * V, sizeof(double), before->intrinsics),
        .poses = keep(packer, info->world_from_camera, 16 * poses, sizeof(double), before->poses),
        .time = keep(packer, info->time, F, sizeof(double), before->time),
        .bounds = keep(packer, info->bounds, 6, sizeof(double), before->bounds),
        .heldout = keep(packer, info->heldout_views, (size_t)info->heldout_count, sizeof(int), before->heldout),
        .actions = keep(packer, info->actions, F * (size_t)info->A, sizeof(float), NO_PLACE),
        .position = keep(packer, info->object_position, F * O * 3, sizeof(double), NO_PLACE),
        .quaternion = keep(packer, info->object_quaternion, F * O * 4, sizeof(double), NO_PLACE),
        .properties = keep(packer, info->properties, (size_t)info->property_count, sizeof(Property), NO_PLACE),
        .stored = keep(packer, info->stored, stored_bytes(info), 1, NO_PLACE),
        .depth_scale = info->depth_scale,
        .time_step = info->time_step,
        .split = (int32_t)info->split,
        .F = info->F,
        .V = info->V,
        .H = info->H,
        .W = info->W,
        .A = info->A,
        .O = info->O,
        .heldout_count = info->heldout_count,
        .property_count = info->property_count,
        .has_mask = info->has_mask,
        .moving_cameras = info->moving_cameras,
        .depth_is_u16 = info->depth_is_u16,
        .even_time = info->even_time};
}

static Record pack_head(const Packer *packer, const Dataset *one, const char *name, const FileStamp *stamp) {
    const DatasetInfo *info = &one->info;
    return (Record){.stamp = *stamp,
                    .file_name = keep_text(packer, name, NO_PLACE),
                    .name = keep_text(packer, info->name, NO_PLACE),
                    .generator = keep_text(packer, info->generator, NO_PLACE),
                    .created = keep_text(packer, info->created, NO_PLACE),
                    .licence = keep_text(packer, info->licence, NO_PLACE),
                    .version = {info->version_major, info->version_minor},
                    .missing_depth = (int32_t)info->missing_depth,
                    .episodes = info->episode_count};
}

void record_pack(const Dataset *one, const char *name, const FileStamp *stamp, Bytes *out) {
    Packer packer = {out, out->size};
    RecordEpisode before = {0};
    Record head = {0};
    bytes_add(out, &head, sizeof head);
    for (int e = 0; e < one->info.episode_count; e++) bytes_add(out, &before, sizeof before);
    head = pack_head(&packer, one, name, stamp);
    for (int e = 0; e < one->info.episode_count; e++) {
        before = pack_episode(&packer, &one->episodes[e].info, &before);
        if (!out->failed)
            memcpy(out->data + packer.start + sizeof head + (size_t)e * sizeof before, &before, sizeof before);
    }
    if (out->failed) return;
    head.bytes = out->size - packer.start;
    char *at = out->data + packer.start;
    memcpy(at, &head, sizeof head);
    head.checksum = XXH3_64bits(at + CHECKED_FROM, head.bytes - CHECKED_FROM);
    memcpy(at, &head, sizeof head);
}

// ---- reading

// `count` elements at `place`, or NULL and *good = false when they are not all there. Absent is good unless required.
static const void *array_at(const Record *record, uint64_t place, size_t count, size_t width, bool required,
                            bool *good) {
    size_t bytes;
    if (place == NO_PLACE && !required) return NULL;
    bool inside = place >= sizeof *record && place % 8 == 0 && place <= record->bytes &&
                  size_mul(count, width, &bytes) && bytes <= record->bytes - place;
    if (!inside) *good = false;
    return inside ? (const char *)record + place : NULL;
}

static const char *text_at(const Record *record, uint64_t place, bool *good) {
    const char *text = array_at(record, place, 1, 1, true, good);
    if (text && memchr(text, 0, record->bytes - place)) return text;
    *good = false;
    return "";
}

static bool shape_is_good(const RecordEpisode *e) {
    bool images = e->F > 0 && e->F <= FRAMES_MAX && e->V > 0 && e->V <= VIEWS_MAX && e->H > 0 && e->H <= SIDE_MAX &&
                  e->W > 0 && e->W <= SIDE_MAX;
    return images && e->A >= 0 && e->A <= ACTIONS_MAX && e->O >= 0 && e->O <= OBJECTS_MAX && e->heldout_count >= 0 &&
           e->heldout_count < e->V && e->property_count >= 0 && e->split >= 0 && e->split < SPLIT_COUNT &&
           e->depth_scale > 0;
}

static bool lists_are_good(const EpisodeInfo *info) {
    for (int i = 0; info->heldout_views && i < info->heldout_count; i++)
        if (info->heldout_views[i] < 0 || info->heldout_views[i] >= info->V) return false;
    for (int i = 0; info->properties && i < info->property_count; i++)
        if (!memchr(info->properties[i].name, 0, sizeof info->properties[i].name)) return false;
    return true;
}

// The arrays, after the sizes.
static bool point_into(const Record *record, const RecordEpisode *e, EpisodeInfo *out) {
    size_t F = (size_t)e->F, V = (size_t)e->V, O = (size_t)e->O, poses = e->moving_cameras ? F * V : V;
    bool good = true;
    out->name = text_at(record, e->name, &good);
    out->source = text_at(record, e->source, &good);
    out->scene = text_at(record, e->scene, &good);
    out->intrinsics = array_at(record, e->intrinsics, 9 * V, sizeof(double), true, &good);
    out->world_from_camera = array_at(record, e->poses, 16 * poses, sizeof(double), true, &good);
    out->time = array_at(record, e->time, F, sizeof(double), true, &good);
    out->bounds = array_at(record, e->bounds, 6, sizeof(double), false, &good);
    out->heldout_views =
        array_at(record, e->heldout, (size_t)e->heldout_count, sizeof(int), e->heldout_count > 0, &good);
    out->actions = array_at(record, e->actions, F * (size_t)e->A, sizeof(float), e->A > 0, &good);
    out->object_position = array_at(record, e->position, F * O * 3, sizeof(double), e->O > 0, &good);
    out->object_quaternion = array_at(record, e->quaternion, F * O * 4, sizeof(double), false, &good);
    out->properties =
        array_at(record, e->properties, (size_t)e->property_count, sizeof(Property), e->property_count > 0, &good);
    out->stored = array_at(record, e->stored, stored_bytes(out), 1, false, &good);
    return good && lists_are_good(out) && (!out->stored || stored_is_good(out->stored));
}

bool record_episode(const Record *record, int episode, EpisodeInfo *out) {
    const RecordEpisode *e = (const RecordEpisode *)(record + 1) + episode;
    *out = (EpisodeInfo){0};
    if (!shape_is_good(e)) return false;
    out->split = (Split)e->split;
    out->F = e->F, out->V = e->V, out->H = e->H, out->W = e->W, out->A = e->A, out->O = e->O;
    out->has_mask = e->has_mask != 0;
    out->moving_cameras = e->moving_cameras != 0;
    out->depth_is_u16 = e->depth_is_u16 != 0;
    out->even_time = e->even_time != 0;
    out->depth_scale = e->depth_scale;
    out->time_step = e->time_step;
    out->heldout_count = e->heldout_count;
    out->property_count = e->property_count;
    return point_into(record, e, out);
}

const Record *record_at(const void *bytes, size_t size) {
    const Record *record = bytes;
    EpisodeInfo info;
    bool good = size >= sizeof *record && record->bytes >= sizeof *record && record->bytes <= size &&
                record->bytes % 8 == 0 &&
                record->checksum == XXH3_64bits((const char *)bytes + CHECKED_FROM, record->bytes - CHECKED_FROM);
    if (!good || record->episodes <= 0 || record->missing_depth < 0 || record->missing_depth > MISSING_SKY ||
        (size_t)record->episodes > (record->bytes - sizeof *record) / sizeof(RecordEpisode))
        return NULL;
    const uint64_t texts[] = {record->file_name, record->name, record->generator, record->created, record->licence};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) text_at(record, texts[i], &good);
    for (int e = 0; good && e < record->episodes; e++) good = record_episode(record, e, &info);
    return good ? record : NULL;
}

size_t record_bytes(const Record *record) { return record->bytes; }
int record_episode_count(const Record *record) { return record->episodes; }
MissingDepth record_missing_depth(const Record *record) { return (MissingDepth)record->missing_depth; }
const char *record_name(const Record *record) { return (const char *)record + record->file_name; }

bool record_fits(const Record *record, const FileStamp *stamp) { return file_stamp_same(&record->stamp, stamp); }

void record_describe(const Record *record, DatasetInfo *info) {
    const char *start = (const char *)record;
    info->version_major = record->version[0];
    info->version_minor = record->version[1];
    info->missing_depth = record_missing_depth(record);
    info->name = start + record->name;
    info->generator = start + record->generator;
    info->created = start + record->created;
    info->licence = start + record->licence;
}
