// SPDX-License-Identifier: Apache-2.0
// Lists folders in the order of the numbers in names: cam_2 before cam_10.
#ifndef VPD_DATASETS_IMPORT_LISTING_H
#define VPD_DATASETS_IMPORT_LISTING_H

#include "base/file.h"

// Names with this beginning and ending (NULL: any). Endings compare without regard to case.
Status list_names(const char *folder, const char *prefix, const char *suffix, FileList *out, Error *err);
// Only pictures: .png .jpg .jpeg .tif .tiff .npy .bin .webp .exr .npz
Status list_pictures(const char *folder, FileList *out, Error *err);
// The last whole number in a name, -1 when there is none: 12 of "rgba_00012.png".
long name_number(const char *name);
// A name without its ending: "rgba_00012".
void name_stem(const char *name, char *out, size_t size);

// stem + ending in the folder, or where that is missing stem with another ending of a depth picture: .png .npy .npz
// .exr .tiff. False when there is none; `out` is then the first.
bool find_depth_picture(const char *folder, const char *stem, const char *ending, char *out, size_t size);

bool has_file(const char *folder, const char *name);
bool has_folder(const char *folder, const char *name);
// folder/name of the first of these names that is there; false when none is.
bool first_folder(const char *folder, const char *const *names, char out[FILE_PATH_SIZE]);
bool first_file(const char *folder, const char *const *names, char out[FILE_PATH_SIZE]);

// Episodes: the folder itself if `is_one` accepts it, else its folders that `is_one` accepts, in order. Returns how
// many there are and writes the path of number `wanted` (-1: none).
int find_episode(const char *path, bool (*is_one)(const char *folder), int wanted, char out[FILE_PATH_SIZE]);

#endif
