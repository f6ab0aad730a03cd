// SPDX-License-Identifier: Apache-2.0
#include "datasets/file_names.h"

#include "base/file.h"
#include "base/file_kind.h"
#include "datasets/data_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 100000 };
#define LIST_BYTES_MAX ((size_t)FILES_MAX * FILE_PATH_SIZE)

static Status no_files(const char *path, Error *err) {
    if (!file_is_folder(path))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a list of data sets, one path a line, found no path",
                         path);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected a data set or a folder of them (.h5), found %s without .h5 files", path,
                     file_kind(path));
}

static Status reserve(Dataset *dataset, const char *path, size_t count, Error *err) {
    if (count == 0) return no_files(path, err);
    if (count > FILES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d files, found %zu", path, FILES_MAX, count);
    dataset->files = arena_array(&dataset->arena, count, sizeof *dataset->files);
    return dataset->files ? STATUS_OK : dataset_no_memory(path, err);
}

static Status add(Dataset *dataset, const char *folder, const char *name, Error *err) {
    char joined[FILE_PATH_SIZE];
    Status status = file_join(joined, sizeof joined, folder, name, err);
    if (status) return status;
    DataFile *file = &dataset->files[dataset->info.file_count];
    *file = (DataFile){.path = dataset_keep_text(dataset, joined), .name = dataset_keep_text(dataset, name)};
    if (!file->path || !file->name) return dataset_no_memory(folder, err);
    dataset->info.file_count++;
    return STATUS_OK;
}

// ---- a folder

static bool has_dataset_suffix(const char *name) {
    return name[0] != '.' && (name_ends(name, ".h5") || name_ends(name, ".hdf5"));
}

static Status add_folder(Dataset *dataset, const char *path, Error *err) {
    FileList list = {0};
    size_t count = 0;
    Status status = file_list(path, &list, err);
    for (size_t i = 0; i < list.count; i++) count += has_dataset_suffix(list.names[i]);
    if (!status) status = reserve(dataset, path, count, err);
    for (size_t i = 0; !status && i < list.count; i++)
        if (has_dataset_suffix(list.names[i])) status = add(dataset, path, list.names[i], err);
    file_list_free(&list);
    return status;
}

// ---- a list

// Cuts the next line off: its text without white space around it; NULL at the end.
static char *next_line(char **rest) {
    char *line = strsep(rest, "\n");
    if (!line) return NULL;
    while (isspace((unsigned char)*line)) line++;
    for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--) line[n - 1] = 0;
    return line;
}

static Status add_line(Dataset *dataset, const char *list, int number, const char *name, Error *err) {
    char folder[FILE_PATH_SIZE];
    Status status = file_folder(folder, list, err);
    if (!status) status = add(dataset, folder, name, err);
    if (status) return status;
    dataset->files[dataset->info.file_count - 1].line = number;
    return STATUS_OK;
}

Status file_names_explain(const Dataset *dataset, int file, Error *err) {
    const DataFile *data = &dataset->files[file];
    const char *list = dataset->info.path;
    if (data->line == 0 || err->status == STATUS_INTERRUPTED) return err->status;
    if (file_exists(data->path)) return error_prefix(err, "%s:%d", list, data->line);
    return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected the path of a data set, found no file %.300s", list,
                     data->line, data->path);
}

// The lines that are neither empty nor a comment.
static size_t count_paths(const char *text) {
    size_t count = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n")) {
        while (isspace((unsigned char)*at)) at++;
        count += *at && *at != '#';
    }
    return count;
}

static Status add_list(Dataset *dataset, const char *path, Error *err) {
    char *text = NULL, *line;
    size_t length;
    Status status = file_read_all(path, LIST_BYTES_MAX, &text, &length, err);
    if (!status) status = reserve(dataset, path, count_paths(text), err);
    char *rest = text;
    for (int number = 1; !status && (line = next_line(&rest)); number++)
        if (*line && *line != '#') status = add_line(dataset, path, number, line, err);
    free(text);
    return status;
}

bool dataset_is_list(const char *path) { return name_ends(path, ".txt"); }

Status file_names_add(Dataset *dataset, const char *path, Error *err) {
    return file_is_folder(path) ? add_folder(dataset, path, err) : add_list(dataset, path, err);
}
