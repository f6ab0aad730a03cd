// SPDX-License-Identifier: Apache-2.0
#include "datasets/stored.h"

#include "base/check.h"
#include "base/file.h"
#include "datasets/file_stamp.h"
#include "datasets/pixels.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *const NAMES[STORED_COUNT] = {"rgb", "depth", "mask"};

static size_t images_of(const EpisodeInfo *info) { return (size_t)info->F * (size_t)info->V; }

size_t stored_bytes(const EpisodeInfo *info) {
    size_t bytes;
    if (!size_mul(images_of(info) * (info->has_mask ? 3 : 2), sizeof(StoredPlace), &bytes)) return 0;
    return size_add(bytes, sizeof(StoredImages), &bytes) ? bytes : 0;
}

bool stored_is_good(const StoredImages *stored) {
    for (int a = 0; a < STORED_COUNT; a++) {
        if (stored->filter_count[a] < 0 || stored->filter_count[a] > 8) return false;
        for (int i = 0; i < stored->filter_count[a]; i++) {
            int filter = stored->filters[a][i];
            if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_FLETCHER32)
                return false;
        }
    }
    return true;
}

static const StoredPlace *place_of(const EpisodeInfo *info, StoredArray which, size_t image) {
    return info->stored->places + (size_t)which * images_of(info) + image;
}

// HDF5 1.10 counts the places of chunks from the end of a user block, later versions from the start of the file.
static bool has_user_block(const H5Array *array) {
    hid_t file = H5Iget_file_id(array->id), list = file >= 0 ? H5Fget_create_plist(file) : -1;
    hsize_t bytes = 0;
    bool known = list >= 0 && H5Pget_userblock(list, &bytes) >= 0;
    if (list >= 0) H5Pclose(list);
    if (file >= 0) H5Fclose(file);
    return !known || bytes > 0;
}

bool stored_find(const H5Array *array, const EpisodeInfo *info, StoredArray which, StoredImages *out) {
    PixelArray pixels;
    size_t images = images_of(info);
    bool good;
    pixel_array_init(&pixels, array);
    if (!pixels.direct) return false;
    out->filter_count[which] = array->filter_count;
    for (int i = 0; i < array->filter_count; i++) out->filters[which][i] = (uint8_t)array->filters[i];
    h5_lock();
    good = !has_user_block(array);
    for (size_t i = 0; i < images && good; i++) {
        hsize_t offset[H5_RANK_MAX] = {i / (size_t)info->V, i % (size_t)info->V}, bytes = 0;
        unsigned skipped = 0;
        haddr_t at = HADDR_UNDEF;
        good = H5Dget_chunk_info_by_coord(array->id, offset, &skipped, &at, &bytes) >= 0 && at != HADDR_UNDEF &&
               bytes > 0 && bytes <= UINT32_MAX;
        out->places[(size_t)which * images + i] = (StoredPlace){at, (uint32_t)bytes, skipped};
    }
    h5_unlock();
    return good;
}

// ---- reading

Status stored_open(const DataFile *file, int *fd, Error *err) {
    Status status = file_open(file->path, SIZE_MAX, fd, NULL, err);
    if (!status) status = file_stamp_check_open(file, *fd, err);
    if (status && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

void stored_announce(const EpisodeInfo *info, int fd, int first, int last) {
    uint64_t low = UINT64_MAX, high = 0, wanted = 0;
    for (int which = 0; which < (info->has_mask ? 3 : 2); which++) {
        for (size_t i = (size_t)first * (size_t)info->V; i < ((size_t)last + 1) * (size_t)info->V; i++) {
            const StoredPlace *place = place_of(info, (StoredArray)which, i);
            if (place->at < low) low = place->at;
            if (place->at + place->bytes > high) high = place->at + place->bytes;
            wanted += place->bytes;
        }
    }
    if (high > low && high - low <= 2 * wanted) posix_fadvise(fd, (off_t)low, (off_t)(high - low), POSIX_FADV_WILLNEED);
}

// What h5_chunk_unfilter needs to know of the array.
static H5Array array_of(const EpisodeInfo *info, StoredArray which) {
    const StoredImages *stored = info->stored;
    H5Array array = {.kind = which == STORED_RGB                          ? H5_U8
                             : which == STORED_MASK || info->depth_is_u16 ? H5_U16
                                                                          : H5_F32,
                     .rank = which == STORED_RGB ? 5 : 4,
                     .chunk = {1, 1, (hsize_t)info->H, (hsize_t)info->W, 3},
                     .filter_count = stored->filter_count[which]};
    for (int i = 0; i < array.filter_count; i++) array.filters[i] = stored->filters[which][i];
    snprintf(array.text, sizeof array.text, "%.300s:/episodes/%.80s/%s", info->file, info->name, NAMES[which]);
    return array;
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t at) {
    for (char *to = bytes; size;) {
        ssize_t got = pread(fd, to, size, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= (size_t)got;
        at += (uint64_t)got;
    }
    return true;
}

Status stored_read(const EpisodeInfo *info, int fd, StoredArray which, ChunkDecoder *decoder, int frame, int view,
                   uint8_t *out, Error *err) {
    const StoredPlace *place = place_of(info, which, (size_t)frame * (size_t)info->V + (size_t)view);
    H5Array array = array_of(info, which);
    const char *wrong = NULL;
    Status status = chunk_decoder_reserve(decoder, &array, err);
    if (status) return status;
    if (place->bytes > decoder->capacity) wrong = "takes more bytes than it may";
    else if (!read_at(fd, decoder->a, place->bytes, place->at)) wrong = "cannot be read";
    if (!wrong) wrong = h5_chunk_unfilter(&array, decoder, place->skipped, place->bytes);
    if (!wrong) memcpy(out, decoder->a, h5_chunk_bytes(&array));
    return wrong ? pixel_array_damaged(array.text, frame, view, wrong, err) : STATUS_OK;
}
