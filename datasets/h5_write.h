// SPDX-License-Identifier: Apache-2.0
// Small helpers to write HDF5: they hold the lock themselves and say whether the library did its part; h5_cause has the
// library's words. Texts are UTF-8 of variable length, as h5py writes them, unless the name says otherwise.
#ifndef VPD_DATASETS_H5_WRITE_H
#define VPD_DATASETS_H5_WRITE_H

#include "datasets/h5.h"

#include <stdint.h>

// A new file under `path` (an existing one is emptied); negative when that fails.
hid_t h5_create_file(const char *path);
// Closes and syncs; false when something could not be written.
bool h5_close_file(hid_t file);
hid_t h5_create_group(hid_t parent, const char *name);
// Any object; accepts <= 0. False when what HDF5 still held of an array could not be written.
bool h5_close_id(hid_t id);

bool h5_write_text(hid_t object, const char *name, const char *text);
// Texts of fixed length: variable ones lie in a heap on which HDF5 1.10 loops for ever if it is damaged.
bool h5_write_fixed_text(hid_t object, const char *name, const char *text);
// The attribute format_version.
bool h5_write_version(hid_t file, uint32_t major, uint32_t minor);
bool h5_write_i32s(hid_t object, const char *name, const int32_t *values, size_t count);
bool h5_write_double(hid_t object, const char *name, double value);
bool h5_write_i64(hid_t object, const char *name, int64_t value);

// A whole array, contiguous: kinds as in h5.h, little-endian in the file.
bool h5_write_array(hid_t parent, const char *name, H5Kind kind, int rank, const size_t *dims, const void *values);
// The same of floats that f16 holds exactly, as f16.
bool h5_write_half(hid_t parent, const char *name, int rank, const size_t *dims, const float *values);

// A chunked array with shuffle, deflate (0: none) and fletcher32 that is written block by block. Negative on failure.
hid_t h5_create_chunked(hid_t parent, const char *name, H5Kind kind, int rank, const size_t *dims, const size_t *chunk,
                        int deflate_level);
bool h5_write_block(hid_t array, H5Kind kind, int rank, const size_t *start, const size_t *count, const void *values);
// One whole chunk that went through the filters already (datasets/pack.h).
bool h5_write_packed(hid_t array, int rank, const size_t *start, const void *bytes, size_t size);

// A file that HDF5 builds in memory and that we write to disk, so that HDF5 never meets a full disk.
typedef struct H5Image {
    hid_t file;
    char *start; // after h5_image_close: the finished file
    size_t size, reserved;
} H5Image;

// `bytes`: about how many the file will hold. HDF5 keeps the address of *image until it is closed.
bool h5_image_create(H5Image *image, size_t bytes);
bool h5_image_close(H5Image *image); // also after a failure
void h5_image_free(H5Image *image);

#endif
