// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint_arrays.h"

#include <inttypes.h>
#include <string.h>

enum { ARRAYS_MAX = 1 << 16, CONFIG_MAX = 1 << 20, RECORD_MAX = 4096 };

// Reads a text of fixed length. Variable length is refused; datasets/h5_write.h says why.
static Status read_text(const H5Place *place, const char *name, char *out, size_t size, Error *err) {
    h5_lock();
    hid_t attribute = H5Aexists(place->id, name) > 0 ? H5Aopen(place->id, name, H5P_DEFAULT) : H5I_INVALID_HID;
    hid_t type = attribute < 0 ? attribute : H5Aget_type(attribute);
    bool is_variable = type >= 0 && H5Tdetect_class(type, H5T_VLEN) != 0;
    is_variable |= type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) != 0;
    if (type >= 0) H5Tclose(type);
    if (attribute >= 0) H5Aclose(attribute);
    h5_unlock();
    if (!is_variable) return h5_attribute_text(place, name, true, out, size, NULL, err);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s%s expected attribute %s to be a text of fixed length, found one of variable length",
                     place->text, h5_colon(place->text), name);
}

// ---- groups

// Groups in the layout before HDF5 1.8 have no checksums, and HDF5 1.10 reads out of bounds if their heaps are damaged.
static Status check_layout(const H5Place *group, Error *err) {
    H5G_info_t info = {.storage_type = H5G_STORAGE_TYPE_UNKNOWN};
    h5_lock();
    herr_t rc = H5Gget_info(group->id, &info);
    h5_unlock();
    if (rc < 0)
        return error_set(err, STATUS_BAD_INPUT, "%s%s the file is damaged here", group->text, h5_colon(group->text));
    if (info.storage_type == H5G_STORAGE_TYPE_COMPACT || info.storage_type == H5G_STORAGE_TYPE_DENSE) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s%s expected a group in the layout of HDF5 1.8 or later, found an older one; write the "
                     "file again (h5py: libver=\"v108\")",
                     group->text, h5_colon(group->text));
}

// Opens "parameters", or "moments/m" through "moments".
static Status open_group(const H5Place *root, CheckpointGroup which, bool required, H5Place *group, bool *found,
                         Error *err) {
    const char *path = checkpoint_group_paths[which], *slash = strchr(path, '/');
    H5Place parent = {0};
    bool there = true;
    *group = (H5Place){.id = H5I_INVALID_HID};
    Status status = check_layout(root, err);
    if (status == STATUS_OK && slash) status = h5_open_group(root, "moments", required, &parent, &there, err);
    if (status == STATUS_OK && there && slash) status = check_layout(&parent, err);
    if (status == STATUS_OK && there)
        status = h5_open_group(slash ? &parent : root, slash ? slash + 1 : path, required, group, &there, err);
    if (status == STATUS_OK && there) status = check_layout(group, err);
    h5_close(&parent);
    if (found) *found = there;
    return status;
}

// Shape and kind of an array. They are not trusted: h5_open_array checks them before anything is read.
static Status peek(const H5Place *group, HostArray *array, Error *err) {
    hsize_t dims[H5_RANK_MAX] = {0};
    int rank = 0;
    h5_lock();
    hid_t id = H5Dopen2(group->id, array->name, H5P_DEFAULT);
    hid_t type = id < 0 ? id : H5Dget_type(id), space = id < 0 ? id : H5Dget_space(id);
    if (type >= 0) array->kind = h5_kind_of(type);
    if (space >= 0 && H5Sget_simple_extent_ndims(space) <= H5_RANK_MAX)
        rank = H5Sget_simple_extent_dims(space, dims, NULL);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (id >= 0) H5Dclose(id);
    h5_unlock();
    if (rank < 1 || rank > PARAMETER_MAX_RANK || !(array->kind & (H5_F16 | H5_F32)))
        return error_set(err, STATUS_BAD_INPUT, "%s/%s: expected an array f32 or f16 of rank 1 to %d, found %s",
                         group->text, array->name, PARAMETER_MAX_RANK,
                         id < 0 ? "another object" : "another type or rank");
    array->rank = rank;
    array->size = 1;
    for (int i = 0; i < rank; i++) {
        array->dims[i] = (size_t)dims[i];
        if (!size_mul(array->size, array->dims[i], &array->size)) array->size = SIZE_MAX;
    }
    return STATUS_OK;
}

typedef struct Listing {
    const H5Place *group;
    HostArrays *out;
    size_t capacity, bytes;
} Listing;

static Status list_one(void *owner, const char *name, Error *err) {
    Listing *list = owner;
    HostArrays *out = list->out;
    if (out->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        HostArray *items = realloc(out->items, capacity * sizeof *items);
        if (!items) return error_set(err, STATUS_FAILED, "%s: out of memory", list->group->text);
        out->items = items;
        list->capacity = capacity;
    }
    HostArray *array = &out->items[out->count];
    *array = (HostArray){.rank = 0};
    snprintf(array->name, sizeof array->name, "%s", name);
    Status status = peek(list->group, array, err);
    if (status != STATUS_OK) return status;
    // Arrays must be uncompressed and distinct, so memory is bounded by the file's size.
    size_t bytes = 0;
    bool fits = size_mul(array->size, h5_kind_bytes(array->kind), &bytes) && size_add(list->bytes, bytes, &list->bytes);
    if (!fits || list->bytes > list->group->file_bytes)
        return error_set(err, STATUS_BAD_INPUT, "%s/%s: declares more values than a file of %zu bytes holds",
                         list->group->text, name, list->group->file_bytes);
    out->count++;
    return STATUS_OK;
}

static Status read_one(const H5Place *group, HostArray *array, Error *err) {
    H5Expect expect = {.kinds = array->kind, .rank = array->rank};
    H5Array opened = {0};
    for (int i = 0; i < array->rank; i++) expect.dims[i] = array->dims[i];
    Status status = h5_open_array(group, array->name, true, &expect, &opened, NULL, err);
    if (status == STATUS_OK) status = h5_array_read(&opened, H5_F32, array->values, err);
    h5_array_close(&opened);
    float sum = 0;
    // 0, or NaN if any value is not finite
    for (size_t i = 0; status == STATUS_OK && i < array->size; i++) sum += array->values[i] * 0;
    if (status == STATUS_OK && sum != 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s/%s: expected finite values, found NaN or infinity", group->text,
                           array->name);
    return status;
}

static Status check_sum(const CheckpointFile *file, const H5Place *group, CheckpointGroup which,
                        const HostArrays *arrays, Error *err) {
    char found[CHECKSUM_TEXT_SIZE];
    snprintf(found, sizeof found, "%016" PRIx64, host_arrays_checksum(arrays));
    if (!strcmp(found, file->checksums[which])) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected checksum %s, found %s; the file is damaged, take an earlier checkpoint", group->text,
                     file->checksums[which], found);
}

Status checkpoint_file_read(const CheckpointFile *file, CheckpointGroup which, const Parameters *set, HostArrays *out,
                            Error *err) {
    H5Place group = {0};
    *out = (HostArrays){0};
    Listing list = {.group = &group, .out = out};
    Status status = open_group(&file->root, which, true, &group, NULL, err);
    if (status == STATUS_OK) status = h5_each_child(&group, ARRAYS_MAX, list_one, &list, err);
    if (status == STATUS_OK && set) status = host_arrays_compare(out, set, group.text, err);
    if (status == STATUS_OK) status = host_arrays_allocate(out, err);
    for (size_t i = 0; status == STATUS_OK && i < out->count; i++) status = read_one(&group, &out->items[i], err);
    if (status == STATUS_OK) status = check_sum(file, &group, which, out, err);
    h5_close(&group);
    if (status != STATUS_OK) host_arrays_free(out);
    return status;
}

// ---- the root

static Status read_number(const H5Place *root, const char *name, bool whole, double least, double *out, Error *err) {
    int count = 0;
    Status status = h5_attribute_numbers(root->id, root->text, name, true, whole, out, 1, &count, err);
    if (status != STATUS_OK) return status;
    bool is_nan_allowed = !strcmp(name, "best_score");
    bool good = count == 1 && (is_nan_allowed ? !isinf(*out) : isfinite(*out) && *out >= least && *out <= 0x1p53);
    if (good) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s expected attribute %s to be one number of at least %g, found %g",
                     root->text, name, least, count == 1 ? *out : NAN);
}

static Status read_format(const H5Place *root, CheckpointMeta *meta, Error *err) {
    char format[64];
    double version[2] = {0};
    int count = 0;
    Status status = read_text(root, "format", format, sizeof format, err);
    if (status != STATUS_OK) return status;
    status = h5_attribute_numbers(root->id, root->text, "format_version", true, true, version, 2, &count, err);
    if (status != STATUS_OK) return status;
    if (count != 2 || version[0] != CHECKPOINT_VERSION_MAJOR || !(version[1] >= 0 && version[1] <= 1e6))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s expected format_version %d.x, found %.0f.%.0f; use the vpd that wrote it", root->text,
                         CHECKPOINT_VERSION_MAJOR, version[0], version[1]);
    meta->version[0] = (int)version[0];
    meta->version[1] = (int)version[1];
    return STATUS_OK;
}

static Status read_attributes(const H5Place *root, CheckpointMeta *meta, Error *err) {
    char contents[32];
    double step = 0;
    Status status = read_text(root, "contents", contents, sizeof contents, err);
    if (status != STATUS_OK) return status;
    meta->publication = !strcmp(contents, "publication");
    if (!meta->publication && strcmp(contents, "training") != 0)
        return error_set(err, STATUS_BAD_INPUT, "%s expected contents \"training\" or \"publication\", found \"%s\"",
                         root->text, contents);
    status = read_text(root, "commit", meta->commit, sizeof meta->commit, err);
    if (status == STATUS_OK) status = read_number(root, "step", true, 0, &step, err);
    if (status == STATUS_OK) status = read_number(root, "best_score", false, -INFINITY, &meta->best_score, err);
    if (status == STATUS_OK) status = read_number(root, "time_step", false, 0, &meta->time_step, err);
    if (status == STATUS_OK) status = read_number(root, "seconds", false, 0, &meta->seconds, err);
    meta->step = (long)step;
    return status;
}

static Status read_checksums(CheckpointFile *file, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < CHECKPOINT_GROUP_COUNT; i++) {
        H5Place group = {0};
        bool found = false;
        status = open_group(&file->root, (CheckpointGroup)i, false, &group, &found, err);
        if (status == STATUS_OK && found)
            status = read_text(&group, "checksum", file->checksums[i], CHECKSUM_TEXT_SIZE, err);
        h5_close(&group);
    }
    CheckpointMeta *meta = &file->meta;
    meta->has_ema = file->checksums[GROUP_EMA][0];
    meta->has_moments = file->checksums[GROUP_M][0] && file->checksums[GROUP_V][0];
    if (status == STATUS_OK && !file->checksums[GROUP_PARAMETERS][0] && !meta->has_ema)
        status = error_set(err, STATUS_BAD_INPUT, "%s expected weights in /parameters or /ema, found neither",
                           file->root.text);
    return status;
}

// Reads the YAML into malloc'ed memory.
static Status read_config_text(const H5Place *root, char **text, size_t *length, Error *err) {
    H5Expect expect = {.kinds = H5_U8, .rank = 1, .bytes_max = CONFIG_MAX};
    H5Array array = {0};
    *text = NULL;
    Status status = h5_open_array(root, "config", true, &expect, &array, NULL, err);
    if (status != STATUS_OK) return status;
    *length = array.bytes;
    *text = malloc(array.bytes + 1);
    if (!*text) status = error_set(err, STATUS_FAILED, "%s: out of memory", array.text);
    else status = h5_array_read(&array, H5_U8, *text, err);
    h5_array_close(&array);
    return status;
}

static Status read_config(CheckpointFile *file, Error *err) {
    CheckpointMeta *meta = &file->meta;
    char *text = NULL, checksum[CHECKSUM_TEXT_SIZE], name[H5_PLACE_SIZE + 8];
    size_t length = 0;
    Status status = read_text(&file->root, "checksum", meta->hash, sizeof meta->hash, err);
    if (status == STATUS_OK) status = read_config_text(&file->root, &text, &length, err);
    if (status == STATUS_OK) {
        checkpoint_root_checksum(meta, file->checksums, text, length, checksum);
        if (strcmp(checksum, meta->hash) != 0)
            status = error_set(err, STATUS_BAD_INPUT,
                               "%s expected checksum %s, found %s; the file is damaged, take an earlier "
                               "checkpoint",
                               file->root.text, meta->hash, checksum);
    }
    snprintf(name, sizeof name, "%s/config", file->root.text);
    config_defaults_of_checkpoint(&meta->config);
    if (status == STATUS_OK) status = config_parse(&meta->config, text, length, name, err);
    if (status == STATUS_OK && config_resolve(&meta->config, err) != STATUS_OK) status = error_prefix(err, "%s", name);
    free(text);
    return status;
}

static Status parse_record(const H5Place *group, const char *text, CheckpointMeta *meta, Error *err) {
    json_error_t problem;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &problem), *data = NULL;
    if (!object && json_error_code(&problem) == json_error_out_of_memory)
        return error_set(err, STATUS_FAILED, "%s: out of memory", group->text);
    int evaluated = 0;
    bool good = !json_unpack(object, "{s:b s:o}", "evaluated", &evaluated, "data", &data) &&
                data_record_from_json(data, &meta->data);
    meta->evaluated = good && evaluated;
    json_decref(object);
    if (good) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected attribute record to hold a run's record, found something else; the file is "
                     "damaged, take an earlier checkpoint",
                     group->text);
}

static Status read_record(CheckpointFile *file, const H5Place *group, Error *err) {
    char record[RECORD_MAX], checksum[CHECKSUM_TEXT_SIZE], wanted[CHECKSUM_TEXT_SIZE];
    Status status = check_layout(group, err);
    if (status == STATUS_OK) status = read_text(group, "record", record, sizeof record, err);
    if (status == STATUS_OK) status = read_text(group, "checksum", checksum, sizeof checksum, err);
    if (status != STATUS_OK) return status;
    checkpoint_run_checksum(record, wanted);
    if (strcmp(wanted, checksum) == 0) return parse_record(group, record, &file->meta, err);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected checksum %s, found %s; the file is damaged, take an earlier checkpoint", group->text,
                     checksum, wanted);
}

// Files before version 1.1 and publications have no such group.
static Status read_run(CheckpointFile *file, Error *err) {
    H5Place group = {.id = H5I_INVALID_HID};
    bool found = false;
    Status status = h5_open_group(&file->root, "run", false, &group, &found, err);
    if (status == STATUS_OK && found) status = read_record(file, &group, err);
    h5_close(&group);
    return status;
}

// Weights of a training are f32; those of a publication may be f16, which its first array shows.
static Status find_half(CheckpointFile *file, Error *err) {
    if (!file->meta.publication || !file->meta.has_ema) return STATUS_OK;
    H5Place group = {0};
    HostArrays shapes = {0};
    Listing list = {.group = &group, .out = &shapes};
    Status status = open_group(&file->root, GROUP_EMA, true, &group, NULL, err);
    if (status == STATUS_OK) status = h5_each_child(&group, ARRAYS_MAX, list_one, &list, err);
    file->meta.is_half = shapes.count && shapes.items[0].kind == H5_F16;
    host_arrays_free(&shapes);
    h5_close(&group);
    return status;
}

Status checkpoint_file_read_root(CheckpointFile *file, Error *err) {
    Status status = h5_check_format(&file->root, "vpd-checkpoint", NULL, err);
    if (status == STATUS_OK) status = check_layout(&file->root, err);
    if (status == STATUS_OK) status = read_format(&file->root, &file->meta, err);
    if (status == STATUS_OK) status = read_attributes(&file->root, &file->meta, err);
    if (status == STATUS_OK) status = read_checksums(file, err);
    if (status == STATUS_OK) status = read_config(file, err);
    file->meta.config.data.time_step = file->meta.time_step;
    if (status == STATUS_OK) status = read_run(file, err);
    if (status == STATUS_OK) status = find_half(file, err);
    return status;
}

Status checkpoint_file_open(const char *path, CheckpointFile *file, Error *err) {
    *file = (CheckpointFile){0};
    Status status = h5_open_file(path, &file->root, err);
    if (status == STATUS_OK) status = checkpoint_file_read_root(file, err);
    if (status != STATUS_OK) checkpoint_file_close(file);
    return status;
}

void checkpoint_file_close(CheckpointFile *file) { h5_close(&file->root); }
