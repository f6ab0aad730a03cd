// SPDX-License-Identifier: Apache-2.0
// Where the images of an episode lie in its file, found once by HDF5 and kept in the index of many files. Reading an
// image is then one pread by any thread, without HDF5 and its lock: several threads read at the same time, and a file
// system that answers late holds up one of them alone.
#ifndef VPD_DATASETS_STORED_H
#define VPD_DATASETS_STORED_H

#include "datasets/dataset_private.h"
#include "datasets/h5_chunk.h"

typedef enum StoredArray { STORED_RGB, STORED_DEPTH, STORED_MASK, STORED_COUNT } StoredArray;

// The chunk of one image: bytes as filtered, and the filters that it went around (a bit each).
typedef struct StoredPlace {
    uint64_t at;
    uint32_t bytes, skipped;
} StoredPlace;

// As it lies in the index: no pointers. `places` has (F,V) of each array in the order above; without a mask, of two.
typedef struct StoredImages {
    int32_t filter_count[STORED_COUNT];
    uint8_t filters[STORED_COUNT][8]; // numbers of HDF5's filters, in the order of writing
    int32_t padding;
    StoredPlace places[];
} StoredImages;

// Bytes of the whole; 0 when they cannot be counted.
size_t stored_bytes(const EpisodeInfo *info);
// Whether the filters are some that this program knows.
bool stored_is_good(const StoredImages *stored);

// Finds the places of one array, which is open; false when some image of it is no chunk of its own,
// or the file has a user block.
bool stored_find(const H5Array *array, const EpisodeInfo *info, StoredArray which, StoredImages *out);

// The file of an episode, checked to be the one that was opened. *fd is -1 after an error.
Status stored_open(const DataFile *file, int *fd, Error *err);
// Asks the system to have the images of frames `first` to `last` ready.
void stored_announce(const EpisodeInfo *info, int fd, int first, int last);
// One image as stored, at `out`.
Status stored_read(const EpisodeInfo *info, int fd, StoredArray which, ChunkDecoder *decoder, int frame, int view,
                   uint8_t *out, Error *err);

#endif
