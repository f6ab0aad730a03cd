// SPDX-License-Identifier: Apache-2.0
#include "datasets/open_many.h"

#include "datasets/data_file.h"
#include "datasets/file_names.h"
#include "datasets/file_stamp.h"
#include "datasets/index.h"
#include "datasets/read_many.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

// ---- stamps

// A shared file system takes part of a millisecond for each file, whoever else asks.
enum { STAMP_THREADS = 16 };

typedef struct Stamps {
    Dataset *dataset;
    _Atomic int next, failed; // the first file that cannot be read, or their number
} Stamps;

static void *take_stamps(void *owner) {
    Stamps *stamps = owner;
    Dataset *dataset = stamps->dataset;
    Error ignored;
    for (int i; (i = atomic_fetch_add(&stamps->next, 1)) < dataset->info.file_count;) {
        if (file_stamp(dataset->files[i].path, &dataset->files[i].stamp, &ignored) == STATUS_OK) continue;
        int first = atomic_load(&stamps->failed);
        while (i < first && !atomic_compare_exchange_weak(&stamps->failed, &first, i)) {}
    }
    return NULL;
}

static Status stamp_files(Dataset *dataset, Error *err) {
    pthread_t threads[STAMP_THREADS];
    int started = 0;
    Stamps stamps = {.dataset = dataset, .failed = dataset->info.file_count};
    while (started < STAMP_THREADS && pthread_create(&threads[started], NULL, take_stamps, &stamps) == 0) started++;
    take_stamps(&stamps);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (stamps.failed == dataset->info.file_count) return STATUS_OK;
    FileStamp stamp;
    Status status = file_stamp(dataset->files[stamps.failed].path, &stamp, err);
    if (!status)
        error_set(err, STATUS_FAILED, "%s: cannot be read now and then; start again",
                  dataset->files[stamps.failed].path);
    return file_names_explain(dataset, stamps.failed, err);
}

// ---- records

typedef struct Opening {
    Dataset *dataset;
    const Record **records; // (files); NULL: not known
    int *missing;           // (files) those without a record
    int missing_count;
    Index index;
} Opening;

static void match(Opening *opening) {
    const Dataset *dataset = opening->dataset;
    opening->missing_count = 0;
    for (int i = 0; i < dataset->info.file_count; i++) {
        const DataFile *file = &dataset->files[i];
        opening->records[i] = index_find(&opening->index, file->name, &file->stamp);
        if (!opening->records[i]) opening->missing[opening->missing_count++] = i;
    }
}

// Reads the files without a record; all records are then in a new index.
static Status complete(Opening *opening, Error *err) {
    Dataset *dataset = opening->dataset;
    Bytes bytes = {0};
    index_begin(&bytes);
    for (int i = 0; i < dataset->info.file_count; i++)
        if (opening->records[i]) bytes_add(&bytes, opening->records[i], record_bytes(opening->records[i]));
    index_free(&opening->index);
    Status status = read_many(dataset, opening->missing, opening->missing_count, &bytes, err);
    if (status != STATUS_OK) {
        bytes_free(&bytes);
        return status;
    }
    bool good = index_adopt(&bytes, &opening->index);
    if (good) match(opening);
    return good && opening->missing_count == 0 ? STATUS_OK : dataset_no_memory(dataset->info.path, err);
}

static Status keep_where(Dataset *dataset, const char *path, const char *reason, Error *err) {
    dataset->info.index = dataset_keep_text(dataset, path);
    dataset->info.index_missing = dataset_keep_text(dataset, reason);
    return dataset->info.index && dataset->info.index_missing ? STATUS_OK : dataset_no_memory(dataset->info.path, err);
}

static int count_missing(const Dataset *dataset, const Index *index) {
    int count = 0;
    for (int i = 0; i < dataset->info.file_count; i++)
        count += !index_find(index, dataset->files[i].name, &dataset->files[i].stamp);
    return count;
}

// The index that lacks the fewest files, and its place. An old one in a folder that cannot be written must not hide
// that of the user's cache.
static const char *load_fullest(Opening *opening, const IndexPlaces *places) {
    const char *path = "";
    int fewest = opening->dataset->info.file_count;
    for (int i = 0; i < INDEX_PLACES && fewest > 0; i++) {
        Index index;
        if (!index_load(places->path[i], &index)) continue;
        int missing = count_missing(opening->dataset, &index);
        if (missing < fewest) {
            fewest = missing;
            path = places->path[i];
            index_free(&opening->index);
            opening->index = index;
        } else index_free(&index);
    }
    return path;
}

static Status find_records(Opening *opening, Error *err) {
    Dataset *dataset = opening->dataset;
    IndexPlaces places;
    Error why = {0};
    index_places(dataset->info.path, &places);
    const char *read = load_fullest(opening, &places);
    match(opening);
    if (opening->missing_count == 0) return keep_where(dataset, read, "", err);
    Status status = complete(opening, err);
    if (status != STATUS_OK) return status;
    const char *kept = index_save(&places, &opening->index, &why);
    return keep_where(dataset, kept ? kept : "", kept ? "" : why.text, err);
}

// ---- episodes

static Status add_records(Opening *opening, Error *err) {
    Dataset *dataset = opening->dataset;
    Status status = STATUS_OK;
    record_describe(opening->records[0], &dataset->info);
    for (int i = 0; i < dataset->info.file_count && status == STATUS_OK; i++) {
        DataFile *file = &dataset->files[i];
        const Record *record = opening->records[i];
        file->missing_depth = record_missing_depth(record);
        status = dataset_same_missing_depth(dataset, file, err);
        if (status != STATUS_OK) return file_names_explain(dataset, i, err);
        for (int e = 0; e < record_episode_count(record) && status == STATUS_OK; e++) {
            EpisodeInfo info;
            record_episode(record, e, &info); // record_at has checked it
            info.file = file->path;
            status = dataset_append(dataset, i, &info, err);
        }
    }
    return status;
}

Status open_many(Dataset *dataset, Error *err) {
    size_t files = (size_t)dataset->info.file_count;
    Opening opening = {dataset, calloc(files, sizeof *opening.records), calloc(files, sizeof *opening.missing), 0, {0}};
    Status status =
        opening.records && opening.missing ? stamp_files(dataset, err) : dataset_no_memory(dataset->info.path, err);
    if (status == STATUS_OK) status = find_records(&opening, err);
    if (status == STATUS_OK) status = add_records(&opening, err);
    dataset->index = calloc(1, sizeof *dataset->index);
    if (dataset->index) *dataset->index = opening.index;
    else index_free(&opening.index);
    if (status == STATUS_OK && !dataset->index) status = dataset_no_memory(dataset->info.path, err);
    free(opening.records);
    free(opening.missing);
    return status;
}
