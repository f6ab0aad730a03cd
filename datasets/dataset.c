// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "datasets/data_file.h"
#include "datasets/file_names.h"
#include "datasets/open_many.h"

enum { KEEP_OPEN_MAX = 200 };

static Status open_and_read(Dataset *dataset, int index, Error *err) {
    DataFile *file = &dataset->files[index];
    Status status = h5_open_file(file->path, &file->place, err);
    if (!status) status = dataset_read_file(dataset, index, err);
    return status ? file_names_explain(dataset, index, err) : STATUS_OK;
}

static Status open_files(Dataset *dataset, Error *err) {
    dataset->keep_open = dataset->info.file_count <= KEEP_OPEN_MAX;
    if (!dataset->keep_open) return open_many(dataset, err);
    Status status = STATUS_OK;
    for (int i = 0; !status && i < dataset->info.file_count; i++) status = open_and_read(dataset, i, err);
    return status;
}

Status dataset_open(const char *path, Dataset **out, Error *err) {
    *out = NULL;
    Dataset *dataset = dataset_create(path);
    if (!dataset) return dataset_no_memory(path, err);
    bool many = file_is_folder(path) || dataset_is_list(path);
    Status status = many ? file_names_add(dataset, path, err) : dataset_add_file(dataset, path, err);
    if (!status) status = open_files(dataset, err);
    if (status) dataset_close(dataset);
    else *out = dataset;
    return status;
}

Status dataset_open_memory(const void *bytes, size_t size, const char *name, Dataset **out, Error *err) {
    *out = NULL;
    Dataset *dataset = dataset_create(name);
    if (!dataset) return dataset_no_memory(name, err);
    Status status = dataset_add_file(dataset, name, err);
    dataset->keep_open = true;
    if (!status) status = h5_open_memory(bytes, size, name, &dataset->files[0].place, err);
    if (!status) status = dataset_read_file(dataset, 0, err);
    if (status) dataset_close(dataset);
    else *out = dataset;
    return status;
}
