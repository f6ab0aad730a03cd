// SPDX-License-Identifier: Apache-2.0
// Reads and writes files of pictures: a file's first bytes say which codec.
#include "base/file.h"
#include "base/image_codecs.h"
#include "base/stop.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 1 << 15 }; // holds the size of most pictures

static bool is_png(const void *bytes, size_t size) { return size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0; }

static Status decode(const void *bytes, size_t size, bool labels, const char *name, Image *out, Error *err) {
    const unsigned char *b = bytes;
    Status status;
    *out = (Image){0};
    if (is_png(b, size)) status = image_decode_png(b, size, labels, out, err);
    else if (size >= 3 && memcmp(b, "\xff\xd8\xff", 3) == 0) status = image_decode_jpeg(b, size, out, err);
    else if (size >= 4 && (memcmp(b, "II*\0", 4) == 0 || memcmp(b, "MM\0*", 4) == 0))
        status = image_decode_tiff(b, size, out, err);
    else if (size >= 6 && memcmp(b, "\x93NUMPY", 6) == 0) status = image_decode_npy(b, size, out, err);
    else if (image_is_webp(b, size)) status = image_decode_webp(b, size, out, err);
    else if (image_is_exr(b, size)) status = image_decode_exr(b, size, out, err);
    else if (image_is_zip(b, size)) status = image_decode_npz(b, size, out, err);
    else if (image_is_map(b, size)) status = image_decode_map(b, size, out, err);
    else
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: expected a PNG, JPEG, TIFF, WebP or EXR picture or a .npy or .npz array, found another format", name);
    if (status) {
        image_free(out);
        error_prefix(err, "%s", name);
    }
    return status;
}

Status image_decode(const void *bytes, size_t size, const char *name, Image *out, Error *err) {
    return decode(bytes, size, false, name, out, err);
}

static Status read_picture(const char *path, bool labels, Image *out, Error *err) {
    char *bytes = NULL;
    size_t size = 0;
    *out = (Image){0};
    if (stop_requested()) return stop_error(err);
    Status status = file_read_all(path, IMAGE_FILE_MAX, &bytes, &size, err);
    if (!status) status = decode(bytes, size, labels, path, out, err);
    free(bytes);
    return status;
}

Status image_read(const char *path, Image *out, Error *err) { return read_picture(path, false, out, err); }
Status image_read_labels(const char *path, Image *out, Error *err) { return read_picture(path, true, out, err); }

static int big_endian(const unsigned char *b, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value = value << 8 | b[i];
    return value <= IMAGE_SIDE_MAX ? (int)value : 0;
}

// Walks from segment to segment of a JPEG up to the one that starts the frame; false when it does not lie in `size`
// bytes.
static bool jpeg_size(const unsigned char *b, size_t size, int *H, int *W) {
    for (size_t at = 2; at + 9 <= size && b[at] == 0xff;) {
        unsigned char kind = b[at + 1];
        bool start = kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc;
        if (start) {
            *H = big_endian(b + at + 5, 2);
            *W = big_endian(b + at + 7, 2);
            return *H > 0 && *W > 0;
        }
        at += 2 + ((size_t)b[at + 2] << 8 | b[at + 3]);
    }
    return false;
}

static bool size_from_head(const unsigned char *b, size_t size, int *H, int *W) {
    if (size >= 3 && memcmp(b, "\xff\xd8\xff", 3) == 0) return jpeg_size(b, size, H, W);
    if (image_is_webp(b, size)) return image_webp_size(b, size, H, W);
    if (!is_png(b, size) || size < 24) return false;
    *W = big_endian(b + 16, 4);
    *H = big_endian(b + 20, 4);
    return *H > 0 && *W > 0;
}

Status image_read_size(const char *path, int *H, int *W, Error *err) {
    unsigned char head[HEAD_BYTES];
    Image image = {0};
    int fd;
    if (stop_requested()) return stop_error(err);
    Status status = file_open(path, IMAGE_FILE_MAX, &fd, NULL, err);
    if (status) return status;
    ssize_t size = read(fd, head, sizeof head);
    close(fd);
    if (size > 0 && size_from_head(head, (size_t)size, H, W)) return STATUS_OK;
    status = image_read(path, &image, err);
    *H = image.H;
    *W = image.W;
    image_free(&image);
    return status;
}

Status image_write_png(const Image *image, const char *path, Error *err) {
    unsigned char *bytes = NULL;
    size_t size;
    Status status = image_encode_png(image, &bytes, &size, err);
    if (!status) status = file_write_bytes(path, bytes, size, err);
    free(bytes);
    return status;
}
