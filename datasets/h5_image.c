// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5_write.h"

#include <stdlib.h>
#include <string.h>

// Allocator of HDF5's memory driver. It keeps the finished image, which the library would free when it closes the file.
static void *image_malloc(size_t size, H5FD_file_image_op_t op, void *owner) {
    (void)op, (void)owner;
    return calloc(1, size);
}

static void *image_copy(void *to, const void *from, size_t size, H5FD_file_image_op_t op, void *owner) {
    (void)op, (void)owner;
    return memcpy(to, from, size);
}

// Memory that the library does not write is zero, so that the file has no stale data.
static void *image_realloc(void *memory, size_t size, H5FD_file_image_op_t op, void *owner) {
    H5Image *image = owner;
    (void)op;
    char *grown = realloc(memory, size);
    if (grown && size > image->reserved) memset(grown + image->reserved, 0, size - image->reserved);
    if (grown) image->reserved = size;
    return grown;
}

static herr_t image_free(void *memory, H5FD_file_image_op_t op, void *owner) {
    H5Image *image = owner;
    if (op == H5FD_FILE_IMAGE_OP_FILE_CLOSE && !image->start) image->start = memory;
    else free(memory);
    return 0;
}

static void *owner_copy(void *owner) { return owner; }
static herr_t owner_free(void *owner) { return (void)owner, 0; }

bool h5_image_create(H5Image *image, size_t bytes) {
    *image = (H5Image){.file = H5I_INVALID_HID};
    H5FD_file_image_callbacks_t allocator = {image_malloc, image_copy, image_realloc, image_free,
                                             owner_copy,   owner_free, image};
    h5_lock();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), list = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(list, false);
    H5Pset_fapl_core(access, bytes + (1 << 20), 0); // in one block
    H5Pset_file_image_callbacks(access, &allocator);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18); // object headers with checksums of their own
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    image->file = H5Fcreate("vpd-in-memory", H5F_ACC_TRUNC, list, access);
    hid_t causes = H5Eget_current_stack();
    H5Pclose(list);
    H5Pclose(access);
    H5Eset_current_stack(causes);
    h5_unlock();
    return image->file >= 0;
}

// Closing releases unused space. The end of the file is in its superblock (version 2: u64 at byte 28).
static bool find_end(H5Image *image) {
    uint64_t end;
    if (!image->start || image->reserved < 48 || image->start[8] != 2) return false;
    memcpy(&end, image->start + 28, sizeof end);
    image->size = (size_t)end;
    return end >= 48 && end <= image->reserved;
}

bool h5_image_close(H5Image *image) {
    h5_lock();
    bool good = image->file >= 0 && H5Fclose(image->file) >= 0 && find_end(image);
    h5_unlock();
    return good;
}

void h5_image_free(H5Image *image) { free(image->start); }
