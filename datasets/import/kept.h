// SPDX-License-Identifier: Apache-2.0
// Counts the depth that an import keeps, and pictures that it does not: --near, --far and --bounds that remove
// everything are errors.
#ifndef VPD_DATASETS_IMPORT_KEPT_H
#define VPD_DATASETS_IMPORT_KEPT_H

#include "base/image.h"
#include "datasets/import/import.h"

typedef struct ImportKept {
    size_t depth, inside;   // pixels with depth; of these, pixels within the bounds
    double low[3], high[3]; // box of their points, metres, world
    ImportLeftOut left_out;
} ImportKept;

// Counts picture `cell` = frame V + view of the episode; `depth` is stored as `info` says.
void kept_add(ImportKept *kept, const EpisodeInfo *info, size_t cell, const Image *depth);
void kept_merge(ImportKept *into, const ImportKept *from);
// Of all episodes of the recording at `path`.
Status kept_check(const ImportKept *kept, const ImportOptions *options, const char *path, Error *err);

#endif
