// SPDX-License-Identifier: Apache-2.0
#include "datasets/writer.h"

#include "base/check.h"
#include "base/file.h"
#include "base/stop.h"
#include "datasets/h5_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct DatasetWriter {
    FileDraft draft;
    hid_t file, episodes;
    int deflate_level, episode_count;
    // The episode under way:
    hid_t group, rgb, depth, mask, state;
    int F, V, H, W;
    bool depth_is_u16;
    uint8_t *put; // (F,V) images that were put
};

static Status write_failed(const DatasetWriter *writer, Error *err) {
    char cause[256];
    h5_cause(cause, sizeof cause);
    return error_set(err, STATUS_FAILED, "%s: cannot be written (%s); is the disk full?", writer->draft.path, cause);
}

// ISO 8601, UTC; SOURCE_DATE_EPOCH makes files that do not depend on the clock.
static void creation_time(char out[32]) {
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    time_t now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) out[0] = 0;
}

static bool write_root(DatasetWriter *writer, const WriterOptions *options) {
    char created[32];
    creation_time(created);
    hid_t file = writer->file;
    bool good = h5_write_text(file, "format", "vpd-dataset") && h5_write_version(file, DATASET_MAJOR, DATASET_MINOR) &&
                h5_write_text(file, "generator", options->generator ? options->generator : "vpd") &&
                h5_write_text(file, "created", created) && h5_write_text(file, "camera_convention", "opencv") &&
                h5_write_text(file, "length_unit", "m") &&
                h5_write_text(file, "missing_depth", options->missing_depth == MISSING_SKY ? "sky" : "unknown");
    if (good && options->name) good = h5_write_text(file, "name", options->name);
    if (good && options->licence) good = h5_write_text(file, "licence", options->licence);
    if (good) writer->episodes = h5_create_group(file, "episodes");
    return good && writer->episodes > 0;
}

Status dataset_writer_open(const char *path, const WriterOptions *options, DatasetWriter **out, Error *err) {
    *out = NULL;
    DatasetWriter *writer = calloc(1, sizeof *writer);
    if (!writer) return error_set(err, STATUS_FAILED, "%s: no memory to write it", path);
    writer->deflate_level = options->deflate_level ? options->deflate_level : 4;
    Status status = file_draft_begin(&writer->draft, path, err);
    if (!status) {
        writer->file = h5_create_file(writer->draft.temporary);
        if (writer->file < 0 || !write_root(writer, options)) status = write_failed(writer, err);
    }
    if (status) dataset_writer_discard(writer);
    else *out = writer;
    return status;
}

static bool write_small(DatasetWriter *writer, const EpisodeInfo *info) {
    size_t F = (size_t)info->F, V = (size_t)info->V, A = (size_t)info->A;
    size_t moving[4] = {F, V, 4, 4}, *fixed = moving + 1;
    hid_t group = writer->group;
    bool good = h5_write_text(group, "split", split_name(info->split)) &&
                h5_write_text(group, "source", info->source ? info->source : "");
    if (good && info->scene && info->scene[0]) good = h5_write_text(group, "scene", info->scene);
    if (good && info->heldout_count)
        good = h5_write_i32s(group, "heldout_views", info->heldout_views, (size_t)info->heldout_count);
    if (good) good = h5_write_array(group, "intrinsics", H5_F64, 3, (size_t[]){V, 3, 3}, info->intrinsics);
    if (good)
        good = h5_write_array(group, "world_from_camera", H5_F64, info->moving_cameras ? 4 : 3,
                              info->moving_cameras ? moving : fixed, info->world_from_camera);
    if (good) good = h5_write_array(group, "time", H5_F64, 1, &F, info->time);
    if (good && info->actions) good = h5_write_array(group, "actions", H5_F32, 2, (size_t[]){F, A}, info->actions);
    if (good && info->bounds) good = h5_write_array(group, "bounds", H5_F64, 2, (size_t[]){2, 3}, info->bounds);
    for (int i = 0; good && i < info->property_count; i++) {
        char name[sizeof info->properties[i].name + 16];
        snprintf(name, sizeof name, "properties/%s", info->properties[i].name);
        good = h5_write_double(group, name, info->properties[i].value);
    }
    return good;
}

// The group state/ appears with the first array in it.
static bool open_state(DatasetWriter *writer) {
    if (writer->state == 0) writer->state = h5_create_group(writer->group, "state");
    return writer->state > 0;
}

static bool write_objects(DatasetWriter *writer, const EpisodeInfo *info) {
    size_t F = (size_t)info->F, O = (size_t)info->O;
    if (!info->object_position) return true;
    bool good = open_state(writer) &&
                h5_write_array(writer->state, "object_position", H5_F64, 3, (size_t[]){F, O, 3}, info->object_position);
    if (good && info->object_quaternion)
        good =
            h5_write_array(writer->state, "object_quaternion", H5_F64, 3, (size_t[]){F, O, 4}, info->object_quaternion);
    return good;
}

static bool create_pixels(DatasetWriter *writer, const EpisodeInfo *info) {
    size_t H = (size_t)info->H, W = (size_t)info->W;
    size_t dims[5] = {(size_t)info->F, (size_t)info->V, H, W, 3}, chunk[5] = {1, 1, H, W, 3};
    int level = writer->deflate_level;
    writer->rgb = h5_create_chunked(writer->group, "rgb", H5_U8, 5, dims, chunk, level);
    writer->depth =
        h5_create_chunked(writer->group, "depth", info->depth_is_u16 ? H5_U16 : H5_F32, 4, dims, chunk, level);
    if (info->has_mask) writer->mask = h5_create_chunked(writer->group, "mask", H5_U16, 4, dims, chunk, level);
    if (writer->rgb < 0 || writer->depth < 0 || writer->mask < 0) return false;
    return !info->depth_is_u16 || h5_write_double(writer->depth, "scale", info->depth_scale);
}

Status dataset_writer_begin_episode(DatasetWriter *writer, const EpisodeInfo *info, Error *err) {
    char name[16];
    CHECK(writer->group == 0 && info->F > 0 && info->V > 0 && info->H > 0 && info->W > 0);
    if (info->property_count > PROPERTIES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "an episode has at most %d properties, not %d", PROPERTIES_MAX,
                         info->property_count);
    snprintf(name, sizeof name, "%06d", writer->episode_count);
    writer->put = calloc((size_t)info->F * (size_t)info->V, 1);
    if (!writer->put) return error_set(err, STATUS_FAILED, "%s: no memory to write it", writer->draft.path);
    writer->F = info->F;
    writer->V = info->V;
    writer->H = info->H;
    writer->W = info->W;
    writer->depth_is_u16 = info->depth_is_u16;
    writer->group = h5_create_group(writer->episodes, name);
    if (writer->group < 0 || !write_small(writer, info) || !write_objects(writer, info) || !create_pixels(writer, info))
        return write_failed(writer, err);
    return STATUS_OK;
}

void packed_image_free(PackedImage *image) {
    free(image->rgb.bytes);
    free(image->depth.bytes);
    free(image->mask.bytes);
    *image = (PackedImage){0};
}

Status dataset_writer_pack(const DatasetWriter *writer, const uint8_t *rgb, const void *depth, const uint16_t *mask,
                           PackedImage *out, Error *err) {
    size_t pixels = (size_t)writer->H * (size_t)writer->W, width = writer->depth_is_u16 ? 2 : sizeof(float);
    CHECK(writer->group > 0 && (mask != NULL) == (writer->mask > 0));
    *out = (PackedImage){0};
    if (stop_requested()) return stop_error(err);
    Status status = pack_bytes(rgb, 3 * pixels, 1, writer->deflate_level, &out->rgb, err);
    if (!status && stop_requested()) status = stop_error(err);
    if (!status) status = pack_bytes(depth, pixels, width, writer->deflate_level, &out->depth, err);
    if (!status && mask) status = pack_bytes(mask, pixels, sizeof *mask, writer->deflate_level, &out->mask, err);
    if (status) packed_image_free(out);
    return status;
}

Status dataset_writer_put_packed(DatasetWriter *writer, int frame, int view, const PackedImage *image, Error *err) {
    CHECK(writer->group > 0 && frame >= 0 && frame < writer->F && view >= 0 && view < writer->V);
    size_t start[5] = {(size_t)frame, (size_t)view};
    if (!h5_write_packed(writer->rgb, 5, start, image->rgb.bytes, image->rgb.size) ||
        !h5_write_packed(writer->depth, 4, start, image->depth.bytes, image->depth.size) ||
        (writer->mask > 0 && !h5_write_packed(writer->mask, 4, start, image->mask.bytes, image->mask.size)))
        return write_failed(writer, err);
    writer->put[(size_t)frame * (size_t)writer->V + (size_t)view] = 1;
    return STATUS_OK;
}

Status dataset_writer_put_state(DatasetWriter *writer, const char *name, H5Kind kind, int rank, const size_t *dims,
                                const void *values, Error *err) {
    CHECK(writer->group > 0);
    bool good = open_state(writer) && h5_write_array(writer->state, name, kind, rank, dims, values);
    return good ? STATUS_OK : write_failed(writer, err);
}

static bool close_episode(DatasetWriter *writer) {
    bool good = h5_close_id(writer->rgb);
    good = h5_close_id(writer->depth) && good;
    good = h5_close_id(writer->mask) && good;
    good = h5_close_id(writer->state) && good;
    good = h5_close_id(writer->group) && good;
    free(writer->put);
    writer->rgb = writer->depth = writer->mask = writer->state = writer->group = 0;
    writer->put = NULL;
    return good;
}

Status dataset_writer_end_episode(DatasetWriter *writer, Error *err) {
    Status status = STATUS_OK;
    size_t V = (size_t)writer->V;
    for (size_t i = 0; !status && i < (size_t)writer->F * V; i++) {
        if (!writer->put[i])
            status =
                error_set(err, STATUS_BAD_INPUT, "%s: the image of frame %zu, view %zu of episode %d was never given",
                          writer->draft.path, i / V, i % V, writer->episode_count);
    }
    if (!close_episode(writer) && !status) status = write_failed(writer, err);
    writer->episode_count++;
    return status;
}

static Status close_file(DatasetWriter *writer, Error *err) {
    bool good = h5_close_id(writer->episodes);
    good = h5_close_file(writer->file) && good;
    writer->file = writer->episodes = 0;
    return good ? STATUS_OK : write_failed(writer, err);
}

// The new file must open as a data set before it gets its name.
static Status verify(const DatasetWriter *writer, Error *err) {
    Dataset *dataset;
    Status status = dataset_open(writer->draft.temporary, &dataset, err);
    dataset_close(dataset);
    return status;
}

Status dataset_writer_finish(DatasetWriter *writer, Error *err) {
    CHECK(writer->group == 0);
    Status status = close_file(writer, err);
    if (!status) status = verify(writer, err);
    if (!status) status = file_draft_commit(&writer->draft, err);
    dataset_writer_discard(writer);
    return status;
}

void dataset_writer_discard(DatasetWriter *writer) {
    if (!writer) return;
    close_episode(writer);
    h5_close_id(writer->episodes);
    if (writer->file > 0) h5_close_file(writer->file);
    file_draft_abandon(&writer->draft);
    free(writer);
}
