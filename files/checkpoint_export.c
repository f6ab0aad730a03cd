// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint_arrays.h"

#include "files/half.h"
#include "files/safetensors.h"

#include <string.h>

enum { VALUE_SIZE = 1024 };

static Status read_weights(const char *path, CheckpointWeights which, CheckpointFile *file, HostArrays *arrays,
                           Error *err) {
    CheckpointGroup group;
    *arrays = (HostArrays){0};
    Status status = checkpoint_file_open(path, file, err);
    if (status == STATUS_OK) status = checkpoint_file_choose(file, which, &group, err);
    if (status == STATUS_OK) status = checkpoint_file_read(file, group, NULL, arrays, err);
    checkpoint_file_close(file);
    return status;
}

Status checkpoint_export_publication(const char *path, CheckpointWeights which, bool half, const char *out,
                                     Error *err) {
    CheckpointFile file;
    HostArrays arrays;
    Status status = read_weights(path, which, &file, &arrays, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < arrays.count; i++) arrays.items[i].kind = H5_F32;
    return checkpoint_write_publication(out, &arrays, half, &file.meta, err);
}

// ---- safetensors

// Every option as a separate text, for readers without YAML. `values` has VALUE_SIZE bytes per option.
static size_t describe_options(const Config *config, char *values, SafetensorsText *texts) {
    size_t count = 0;
    for (size_t i = 0; i < config_record.count; i++) {
        char *value = values + i * VALUE_SIZE;
        if (options_format(&config_record.options[i], config, value, VALUE_SIZE))
            texts[count++] = (SafetensorsText){config_record.options[i].key, value};
    }
    return count;
}

// Converts to f16 in place; the first two bytes of each value are used.
static void pack_half(HostArray *array) {
    for (size_t i = 0; i < array->size; i++) {
        uint16_t bits = half_from_float(array->values[i]);
        memcpy((char *)array->values + 2 * i, &bits, sizeof bits);
    }
}

static Status write_arrays(const char *path, HostArrays *arrays, bool half, const SafetensorsText *texts,
                           size_t text_count, Error *err) {
    SafetensorsArray *list = calloc(arrays->count + 1, sizeof *list);
    Status status = list ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: not written: out of memory", path);
    if (status == STATUS_OK && half) status = host_arrays_to_half(arrays, err);
    for (size_t i = 0; status == STATUS_OK && i < arrays->count; i++) {
        HostArray *from = &arrays->items[i];
        if (half) pack_half(from);
        list[i] =
            (SafetensorsArray){from->name, half ? SAFETENSORS_F16 : SAFETENSORS_F32, from->rank, {0}, from->values};
        memcpy(list[i].dims, from->dims, sizeof from->dims);
    }
    if (status == STATUS_OK) status = safetensors_write(path, list, arrays->count, texts, text_count, err);
    free(list);
    return status;
}

static Status write_with_meta(const char *path, HostArrays *arrays, const CheckpointMeta *meta, bool raw, bool half,
                              Error *err) {
    char step[32], time_step[32];
    char *config = options_to_yaml(config_record, &meta->config);
    char *values = calloc(config_record.count, VALUE_SIZE);
    SafetensorsText *texts = calloc(config_record.count + 8, sizeof *texts);
    Status status =
        config && values && texts ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: not written: out of memory", path);
    if (status == STATUS_OK) {
        snprintf(step, sizeof step, "%ld", meta->step);
        snprintf(time_step, sizeof time_step, "%.17g", meta->time_step);
        const SafetensorsText own[] = {
            {"format", "vpd"},        {"weights", raw ? "raw" : "ema"}, {"step", step},    {"time_step", time_step},
            {"commit", meta->commit}, {"checkpoint", meta->hash},       {"config", config}};
        memcpy(texts, own, sizeof own);
        size_t count = sizeof own / sizeof *own;
        count += describe_options(&meta->config, values, texts + count);
        status = write_arrays(path, arrays, half, texts, count, err);
    }
    free(texts);
    free(values);
    free(config);
    return status;
}

Status checkpoint_export_safetensors(const char *path, CheckpointWeights which, bool half, const char *out,
                                     Error *err) {
    CheckpointFile file;
    HostArrays arrays;
    Status status = read_weights(path, which, &file, &arrays, err);
    bool raw = which == CHECKPOINT_RAW || !file.meta.has_ema;
    checkpoint_clear_paths(&file.meta.config);
    if (status == STATUS_OK) status = write_with_meta(out, &arrays, &file.meta, raw, half, err);
    host_arrays_free(&arrays);
    return status;
}
