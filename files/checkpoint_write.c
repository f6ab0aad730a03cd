// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint_arrays.h"

#include "datasets/h5_write.h"

#include <inttypes.h>
#include <string.h>

typedef struct Writer {
    hid_t file;
    char checksums[CHECKPOINT_GROUP_COUNT][CHECKSUM_TEXT_SIZE];
} Writer;

static bool write_group(Writer *writer, CheckpointGroup which, const HostArrays *arrays) {
    hid_t group = h5_create_group(writer->file, checkpoint_group_paths[which]);
    bool good = group >= 0;
    for (size_t i = 0; good && i < arrays->count; i++) {
        const HostArray *a = &arrays->items[i];
        good = a->kind == H5_F16 ? h5_write_half(group, a->name, a->rank, a->dims, a->values)
                                 : h5_write_array(group, a->name, H5_F32, a->rank, a->dims, a->values);
    }
    snprintf(writer->checksums[which], CHECKSUM_TEXT_SIZE, "%016" PRIx64, host_arrays_checksum(arrays));
    good = good && h5_write_fixed_text(group, "checksum", writer->checksums[which]);
    return h5_close_id(group) && good;
}

static bool write_root(Writer *writer, const CheckpointMeta *meta, const char *config) {
    const size_t length = strlen(config);
    const hid_t file = writer->file;
    char checksum[CHECKSUM_TEXT_SIZE];
    checkpoint_root_checksum(meta, writer->checksums, config, length, checksum);
    return h5_write_fixed_text(file, "format", "vpd-checkpoint") &&
           h5_write_version(file, CHECKPOINT_VERSION_MAJOR, CHECKPOINT_VERSION_MINOR) &&
           h5_write_fixed_text(file, "contents", meta->publication ? "publication" : "training") &&
           h5_write_fixed_text(file, "commit", meta->commit) && h5_write_i64(file, "step", meta->step) &&
           h5_write_double(file, "best_score", meta->best_score) &&
           h5_write_double(file, "time_step", meta->time_step) && h5_write_double(file, "seconds", meta->seconds) &&
           h5_write_array(file, "config", H5_U8, 1, &length, config) && h5_write_fixed_text(file, "checksum", checksum);
}

// Data that --resume needs; readers of version 1.0 ignore it.
static bool write_run(hid_t file, const CheckpointMeta *meta) {
    char checksum[CHECKSUM_TEXT_SIZE];
    json_t *object = json_pack("{s:b s:o}", "evaluated", meta->evaluated, "data", data_record_to_json(&meta->data));
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    hid_t group = h5_create_group(file, "run");
    if (text) checkpoint_run_checksum(text, checksum);
    bool good = group >= 0 && text && h5_write_fixed_text(group, "record", text) &&
                h5_write_fixed_text(group, "checksum", checksum);
    free(text);
    json_decref(object);
    return h5_close_id(group) && good;
}

static bool write_all(Writer *writer, const CheckpointMeta *meta, const HostArrays groups[CHECKPOINT_GROUP_COUNT],
                      const char *config) {
    hid_t moments = groups[GROUP_M].count ? h5_create_group(writer->file, "moments") : 0;
    bool good = moments >= 0 && h5_close_id(moments);
    for (int i = 0; good && i < CHECKPOINT_GROUP_COUNT; i++)
        if (groups[i].count) good = write_group(writer, (CheckpointGroup)i, &groups[i]);
    return good && write_root(writer, meta, config) && (meta->publication || write_run(writer->file, meta));
}

static bool make_image(const CheckpointMeta *meta, const HostArrays groups[CHECKPOINT_GROUP_COUNT], const char *config,
                       H5Image *out) {
    size_t elements = 0;
    for (int i = 0; i < CHECKPOINT_GROUP_COUNT; i++) elements += groups[i].size;
    bool good = h5_image_create(out, elements * sizeof(float));
    Writer writer = {.file = out->file};
    good = good && write_all(&writer, meta, groups, config);
    return h5_image_close(out) && good;
}

Status checkpoint_write_file(const char *path, const CheckpointMeta *meta,
                             const HostArrays groups[CHECKPOINT_GROUP_COUNT], Error *err) {
    H5Image image = {0};
    char *config = options_to_yaml(config_record, &meta->config);
    Status status = STATUS_FAILED;
    if (config && make_image(meta, groups, config, &image))
        status = file_write_bytes(path, image.start, image.size, err);
    else error_set(err, STATUS_FAILED, "%s: not saved: out of memory", path);
    h5_image_free(&image);
    free(config);
    return status;
}
