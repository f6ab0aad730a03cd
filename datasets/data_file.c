// SPDX-License-Identifier: Apache-2.0
#include "datasets/data_file.h"

#include "base/check.h"
#include "datasets/file_stamp.h"
#include "datasets/index.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 512, EPISODES_MAX = 10000000 };

Status dataset_no_memory(const char *path, Error *err) {
    return error_set(err, STATUS_FAILED, "%s: no memory to open it", path);
}

static Status keep_root_text(Dataset *dataset, const H5Place *file, const char *name, const char **out, Error *err) {
    char text[TEXT_SIZE];
    Status status = h5_attribute_text(file, name, false, text, sizeof text, NULL, err);
    if (status) return status;
    *out = dataset_keep_text(dataset, text);
    return *out ? STATUS_OK : dataset_no_memory(dataset->info.path, err);
}

static Status check_constant(const H5Place *file, const char *name, const char *wanted, const char *remedy,
                             Error *err) {
    char text[TEXT_SIZE];
    bool found;
    Status status = h5_attribute_text(file, name, false, text, sizeof text, &found, err);
    if (status || (found && strcmp(text, wanted) == 0)) return status;
    const char *quote = found ? "\"" : "";
    return error_set(err, STATUS_BAD_INPUT, "%s%s expected attribute %s \"%s\", found %s%.100s%s; %s", file->text,
                     h5_colon(file->text), name, wanted, quote, found ? text : "none", quote, remedy);
}

static Status check_format(const H5Place *file, unsigned version[2], Error *err) {
    double numbers[2];
    int count;
    Status status = h5_check_format(file, "vpd-dataset", NULL, err);
    if (status) return status;
    status = h5_attribute_numbers(file->id, file->text, "format_version", true, true, numbers, 2, &count, err);
    if (status) return status;
    if (count != 2 || numbers[0] < 0 || numbers[1] < 0 || numbers[0] > 1e9 || numbers[1] > 1e9)
        return error_set(err, STATUS_BAD_INPUT, "%s%s expected attribute format_version to hold major and minor",
                         file->text, h5_colon(file->text));
    version[0] = (unsigned)numbers[0];
    version[1] = (unsigned)numbers[1];
    if (version[0] != DATASET_MAJOR)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s%s expected format_version %d.x, found %u.%u; this program is too old or "
                         "too new for the file",
                         file->text, h5_colon(file->text), DATASET_MAJOR, version[0], version[1]);
    status = check_constant(file, "camera_convention", "opencv",
                            "the camera looks along +z and y points down; OpenGL poses become that when the second and "
                            "third column of world_from_camera are multiplied by -1",
                            err);
    if (status) return status;
    return check_constant(file, "length_unit", "m",
                          "convert depth, the translations in world_from_camera, bounds and the positions in state to "
                          "metres",
                          err);
}

static Status read_missing_depth(const H5Place *file, MissingDepth *out, Error *err) {
    char text[TEXT_SIZE];
    bool found;
    Status status = h5_attribute_text(file, "missing_depth", false, text, sizeof text, &found, err);
    *out = found && strcmp(text, "sky") == 0 ? MISSING_SKY : MISSING_UNKNOWN;
    if (status || !found || *out == MISSING_SKY || strcmp(text, "unknown") == 0) return status;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s%s expected attribute missing_depth \"sky\" or \"unknown\", found \"%.100s\"", file->text,
                     h5_colon(file->text), text);
}

static Status read_root_bounds(DataFile *file, Error *err) {
    H5Expect expect = {.kinds = H5_F64, .rank = 2, .dims = {2, 3}};
    H5Array array;
    Status status = h5_open_array(&file->place, "bounds", false, &expect, &array, &file->has_bounds, err);
    if (!status && file->has_bounds) status = h5_array_read(&array, H5_F64, file->bounds, err);
    h5_array_close(&array);
    return status;
}

Status dataset_same_missing_depth(const Dataset *dataset, const DataFile *file, Error *err) {
    if (file->missing_depth == dataset->info.missing_depth) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected the same missing_depth in every file of the data set",
                     file->path);
}

// The root of a file; the first one describes the whole folder.
static Status read_root(Dataset *dataset, DataFile *file, bool first, Error *err) {
    unsigned version[2] = {0};
    DatasetInfo *info = &dataset->info;
    Status status = check_format(&file->place, version, err);
    if (!status) status = read_missing_depth(&file->place, &file->missing_depth, err);
    if (!status) status = read_root_bounds(file, err);
    if (status) return status;
    if (!first) return dataset_same_missing_depth(dataset, file, err);
    info->version_major = version[0];
    info->version_minor = version[1];
    info->missing_depth = file->missing_depth;
    status = keep_root_text(dataset, &file->place, "name", &info->name, err);
    if (!status) status = keep_root_text(dataset, &file->place, "generator", &info->generator, err);
    if (!status) status = keep_root_text(dataset, &file->place, "created", &info->created, err);
    if (!status) status = keep_root_text(dataset, &file->place, "licence", &info->licence, err);
    return status;
}

typedef struct EpisodeVisit {
    Dataset *dataset;
    int file;
    const H5Place *group;
} EpisodeVisit;

static Status visit_episode(void *owner, const char *name, Error *err) {
    EpisodeVisit *visit = owner;
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected episode names of letters, digits, _, - and ., found "
                             "another character",
                             visit->group->text);
    }
    return dataset_add_episode(visit->dataset, visit->file, visit->group, name, err);
}

Status dataset_read_file(Dataset *dataset, int index, Error *err) {
    DataFile *file = &dataset->files[index];
    H5Place group = {0};
    int before = dataset->info.episode_count;
    Status status = read_root(dataset, file, index == 0, err);
    if (!status) status = h5_open_group(&file->place, "episodes", true, &group, NULL, err);
    if (!status) {
        EpisodeVisit visit = {dataset, index, &group};
        status = h5_each_child(&group, EPISODES_MAX, visit_episode, &visit, err);
    }
    if (!status && dataset->info.episode_count == before)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected at least one episode, found none", group.text);
    h5_close(&group);
    return status;
}

Status dataset_add_file(Dataset *dataset, const char *path, Error *err) {
    dataset->files = arena_array(&dataset->arena, 1, sizeof *dataset->files);
    if (!dataset->files) return dataset_no_memory(path, err);
    const char *kept = dataset_keep_text(dataset, path);
    dataset->files[0] = (DataFile){.path = kept, .name = kept};
    dataset->info.file_count = 1;
    return kept ? STATUS_OK : dataset_no_memory(path, err);
}

Dataset *dataset_create(const char *path) {
    Dataset *dataset = calloc(1, sizeof *dataset);
    if (!dataset) return NULL;
    arena_init(&dataset->arena, arena_host_source());
    dataset->info.path = dataset_keep_text(dataset, path);
    if (dataset->info.path) return dataset;
    dataset_close(dataset);
    return NULL;
}

void dataset_close(Dataset *dataset) {
    if (!dataset) return;
    for (int i = 0; i < dataset->info.file_count; i++) h5_close(&dataset->files[i].place);
    if (dataset->index) index_free(dataset->index);
    free(dataset->index);
    free(dataset->episodes);
    arena_free(&dataset->arena);
    free(dataset);
}

// Opens a file of the dataset for a read: the one that is kept open, or a new one (*own: the caller closes it).
static Status open_place(const Dataset *dataset, int file, H5Place *place, bool *own, Error *err) {
    const DataFile *data = &dataset->files[file];
    *own = !dataset->keep_open;
    if (!*own) {
        *place = data->place;
        return STATUS_OK;
    }
    *place = (H5Place){.id = H5I_INVALID_HID};
    Status status = file_stamp_check(data, err);
    return status ? status : h5_open_file_again(data->path, place, err);
}

Status dataset_open_episode(const Dataset *dataset, int episode, H5Place *file, bool *own, H5Place *group, Error *err) {
    const Episode *entry = &dataset->episodes[episode];
    H5Place episodes = {0};
    *group = (H5Place){0};
    Status status = open_place(dataset, entry->file, file, own, err);
    if (!status) status = h5_open_group(file, "episodes", true, &episodes, NULL, err);
    if (!status) status = h5_open_group(&episodes, entry->info.name, true, group, NULL, err);
    h5_close(&episodes);
    return status;
}
