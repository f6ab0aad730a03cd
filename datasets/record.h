// SPDX-License-Identifier: Apache-2.0
// Everything of one HDF5 file but its pixels, as one block of bytes without pointers: what a process that reads files
// sends to another, and what an index keeps (datasets/index.h). Arrays lie in it as EpisodeInfo has them, so an open
// data set points into its records and copies nothing. An array or text that equals that of the episode before is kept
// once.
// A block may come from anywhere: every place in it is checked against its size.
#ifndef VPD_DATASETS_RECORD_H
#define VPD_DATASETS_RECORD_H

#include "datasets/dataset_private.h"

// Bytes that grow. `failed`: there was no memory.
typedef struct Bytes {
    char *data; // malloc'ed
    size_t size, capacity;
    bool failed;
} Bytes;

// Appends, and fills up to a multiple of 8 with zeros. Returns where the bytes begin.
size_t bytes_add(Bytes *bytes, const void *data, size_t size);
// Room at the end; returns where it begins.
size_t bytes_reserve(Bytes *bytes, size_t size);
void bytes_free(Bytes *bytes);

typedef struct Record Record;

// Appends the record of a data set of one file.
void record_pack(const Dataset *one, const char *name, const FileStamp *stamp, Bytes *out);

// The record at `bytes`, aligned to 8, of which `size` are there; NULL if it is damaged anywhere.
const Record *record_at(const void *bytes, size_t size);
size_t record_bytes(const Record *record);
const char *record_name(const Record *record); // the file's
bool record_fits(const Record *record, const FileStamp *stamp);
int record_episode_count(const Record *record);

// Fills all but `file`. False if the record is damaged.
bool record_episode(const Record *record, int episode, EpisodeInfo *out);
MissingDepth record_missing_depth(const Record *record);
// What the first file says of the whole data set.
void record_describe(const Record *record, DatasetInfo *info);

#endif
