// SPDX-License-Identifier: Apache-2.0
// A ZIP archive with one NumPy array, as numpy.savez and savez_compressed write it. The directory at the archive's end
// gives the place of the array; of its local header only the length of the name is used.
#include "base/image_codecs.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, COMMENT_MAX = 65535, STORED = 0, DEFLATED = 8 };
enum { DEFLATE_RATIO_MAX = 1032 };

typedef struct Entry {
    const unsigned char *name;
    size_t name_length, packed, size, local;
    int method;
    unsigned long checksum;
} Entry;

static size_t little(const unsigned char *b, int count) {
    size_t value = 0;
    for (int i = count - 1; i >= 0; i--) value = value << 8 | b[i];
    return value;
}

bool image_is_zip(const unsigned char *bytes, size_t size) { return size >= 4 && memcmp(bytes, "PK\3\4", 4) == 0; }

static Status damaged(const char *what, Error *err) {
    return error_set(err, STATUS_BAD_INPUT, "the .npz archive is damaged or cut short (%s)", what);
}

// The record at the end, behind which there is nothing but a comment.
static const unsigned char *find_end(const unsigned char *b, size_t size) {
    for (size_t back = END_BYTES; back <= size && back <= END_BYTES + (size_t)COMMENT_MAX; back++)
        if (memcmp(b + size - back, "PK\5\6", 4) == 0) return b + size - back;
    return NULL;
}

static bool is_array(const Entry *entry) {
    return entry->name_length > 4 && memcmp(entry->name + entry->name_length - 4, ".npy", 4) == 0;
}

// The one array of the archive.
static Status find_array(const unsigned char *b, size_t size, Entry *out, Error *err) {
    const unsigned char *end = find_end(b, size);
    size_t count = end ? little(end + 10, 2) : 0, at = end ? little(end + 16, 4) : 0;
    int arrays = 0;
    if (!end) return damaged("no directory", err);
    for (size_t i = 0; i < count; i++) {
        if (at > size || size - at < ENTRY_BYTES || memcmp(b + at, "PK\1\2", 4) != 0) return damaged("directory", err);
        Entry entry = {b + at + ENTRY_BYTES,   little(b + at + 28, 2), little(b + at + 20, 4),
                       little(b + at + 24, 4), little(b + at + 42, 4), (int)little(b + at + 10, 2),
                       little(b + at + 16, 4)};
        size_t more = entry.name_length + little(b + at + 30, 2) + little(b + at + 32, 2);
        if (size - at - ENTRY_BYTES < more) return damaged("directory", err);
        if (is_array(&entry)) *out = entry, arrays++;
        at += ENTRY_BYTES + more;
    }
    return arrays == 1
               ? STATUS_OK
               : error_set(err, STATUS_BAD_INPUT,
                           "expected one array in a .npz archive, found %d; save each array in a file of its own",
                           arrays);
}

static Status inflate_array(const Entry *entry, const unsigned char *packed, unsigned char *out, Error *err) {
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)packed,
                       .avail_in = (uInt)entry->packed,
                       .next_out = out,
                       .avail_out = (uInt)entry->size};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return error_set(err, STATUS_FAILED, "no memory to inflate it");
    int code = inflate(&stream, Z_FINISH);
    bool good = code == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return good ? STATUS_OK : damaged("compressed data", err);
}

static Status read_array(const Entry *entry, const unsigned char *array, Image *out, Error *err) {
    if (crc32_z(0, array, entry->size) != entry->checksum) return damaged("checksum", err);
    return image_decode_npy(array, entry->size, out, err);
}

Status image_decode_npz(const unsigned char *bytes, size_t size, Image *out, Error *err) {
    Entry entry = {0};
    Status status = find_array(bytes, size, &entry, err);
    if (status) return status;
    if (entry.local > size || size - entry.local < LOCAL_BYTES || memcmp(bytes + entry.local, "PK\3\4", 4) != 0)
        return damaged("place of the array", err);
    size_t start =
        entry.local + LOCAL_BYTES + little(bytes + entry.local + 26, 2) + little(bytes + entry.local + 28, 2);
    if (start > size || size - start < entry.packed) return damaged("length of the array", err);
    if (entry.method == STORED && entry.size == entry.packed) return read_array(&entry, bytes + start, out, err);
    if (entry.method != DEFLATED)
        return error_set(err, STATUS_BAD_INPUT, "expected a .npz array that is stored or deflated, found method %d",
                         entry.method);
    if (entry.size > IMAGE_FILE_MAX || entry.size / DEFLATE_RATIO_MAX > entry.packed + 1)
        return error_set(err, STATUS_BAD_INPUT, "declares an array of %zu bytes, more than its %zu bytes can hold",
                         entry.size, entry.packed);
    unsigned char *array = malloc(entry.size + 1);
    if (!array) return error_set(err, STATUS_FAILED, "no memory for an array of %zu bytes", entry.size);
    status = inflate_array(&entry, bytes + start, array, err);
    if (!status) status = read_array(&entry, array, out, err);
    free(array);
    return status;
}
