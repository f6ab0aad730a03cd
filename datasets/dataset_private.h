// SPDX-License-Identifier: Apache-2.0
// Shared by the reader, the loader and the check only.
#ifndef VPD_DATASETS_DATASET_PRIVATE_H
#define VPD_DATASETS_DATASET_PRIVATE_H

#include "base/arena.h"
#include "datasets/dataset.h"
#include "datasets/h5.h"

// The allowed forms of the stored arrays.
enum { FRAMES_MAX = 10000000, VIEWS_MAX = 65535, SIDE_MAX = 16384, ACTIONS_MAX = 65536, OBJECTS_MAX = 65534 };

// What tells whether a file has changed: bytes, the times of the last change of its content and of its entry (ns), when
// it was made (ns; 0: its disk does not say), and its number there, which another file gets when it is removed.
typedef struct FileStamp {
    int64_t bytes, modified, changed, made;
    uint64_t number;
} FileStamp;

typedef struct DataFile {
    const char *path, *name; // name: in the folder or list
    int line;                // in the list, from 1; 0: of no list
    H5Place place;           // open, unless there are too many files to keep them all open
    FileStamp stamp;         // as it was when the data set was opened, of a file that is not kept open
    double bounds[6];
    bool has_bounds;
    MissingDepth missing_depth;
} DataFile;

typedef struct Episode {
    EpisodeInfo info;
    int file;           // index in Dataset.files
    size_t first_image; // number of the images of all episodes before it: index of the image cache
} Episode;

struct Dataset {
    Arena arena; // every string and array of info and episodes
    DatasetInfo info;
    DataFile *files;
    Episode *episodes;
    int episode_capacity;
    size_t image_count;
    bool keep_open;
    bool find_stored;    // find where images lie
    struct Index *index; // of many files: the records that `episodes` points into; else NULL
};

// A file that lies in memory (fuzzing); `bytes` must outlive the dataset.
Status dataset_open_memory(const void *bytes, size_t size, const char *name, Dataset **out, Error *err);

// Adds an episode, whose arrays live as long as the data set.
Status dataset_append(Dataset *dataset, int file, const EpisodeInfo *info, Error *err);

// Copies into the arena; NULL when there is no memory.
char *dataset_keep_text(Dataset *dataset, const char *text);

// Reads and checks everything of an episode but its pixels; appends it to the dataset.
Status dataset_add_episode(Dataset *dataset, int file, const H5Place *episodes, const char *name, Error *err);

// Opens the group of an episode.
Status dataset_open_episode(const Dataset *dataset, int episode, H5Place *file, bool *own, H5Place *group, Error *err);

// Decoded images in their stored form (depth in u16 or f32), kept up to a bound and never evicted: entries need no
// reference counts and are read without a lock.
typedef struct ImageCache ImageCache;
ImageCache *image_cache_create(size_t image_count, size_t bytes_max);
void image_cache_free(ImageCache *cache); // accepts NULL
// Pixels of image `index` (rgb, then depth, then mask as stored) or NULL.
const uint8_t *image_cache_get(const ImageCache *cache, size_t index);
// Keeps a copy if there is room; does nothing when another thread was first.
void image_cache_put(ImageCache *cache, size_t index, const uint8_t *pixels, size_t bytes);

// dataset_read_frames through a cache (NULL: none).
Status dataset_read_cached(const Dataset *dataset, FrameRequest request, ImageCache *cache, Frames *out, Error *err);

#endif
