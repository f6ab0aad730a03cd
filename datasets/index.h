// SPDX-License-Identifier: Apache-2.0
// The index of a data set of many files: the record of each file (datasets/record.h), kept in one file, so that opening
// the data set again reads none of them. A record counts as long as the name and the stamp of its file are the same
// (datasets/file_stamp.h); each has a checksum.
//
// It lies in the folder (".vpd-index") or beside the list ("LIST.vpd-index"); where that cannot be written, in
// $XDG_CACHE_HOME/vpd or ~/.cache/vpd, under a hash of the real path. A damaged index, or one of another program
// version, is ignored and written anew. The file is mapped, so processes of one machine share its pages. Each opening
// reads all of it once, for the checksums. It is replaced by a rename alone, which leaves old mappings whole.
#ifndef VPD_DATASETS_INDEX_H
#define VPD_DATASETS_INDEX_H

#include "datasets/record.h"

typedef struct Index {
    void *bytes; // mapped, or malloc'ed
    size_t size;
    bool mapped;
    const Record **records; // (count) by name
    size_t count;
} Index;

// Accepts {0} and leaves it.
void index_free(Index *index);

// The record of a file, or NULL when there is none that fits.
const Record *index_find(const Index *index, const char *name, const FileStamp *stamp);

// Starts the bytes of a new index; record_pack and bytes_add append records.
void index_begin(Bytes *bytes);
// Takes finished bytes over. False when they are damaged or there is no memory; they are freed then.
bool index_adopt(Bytes *bytes, Index *out);

// Where the index of a data set may lie: the first with a record of every file is read, else the first that can be
// written is. A place that does not exist
// is "".
enum { INDEX_PLACES = 2 };
typedef struct IndexPlaces {
    char path[INDEX_PLACES][4096];
} IndexPlaces;
void index_places(const char *dataset, IndexPlaces *out);

// False when there is none, or none that this program wrote whole.
bool index_load(const char *path, Index *out);
// Writes to the first place that allows it; NULL when none does, and *err says why the first did not.
const char *index_save(const IndexPlaces *places, const Index *index, Error *err);

#endif
