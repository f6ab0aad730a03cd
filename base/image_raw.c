// SPDX-License-Identifier: Apache-2.0
// Pictures without compression: NumPy arrays (H,W[,C]), and COLMAP's float maps: "W&H&C&" in ASCII, then float32.
#include "base/image_codecs.h"
#include "base/npy.h"

#include <string.h>

// u8 and u16 stay; every other kind of number becomes float.
static PixelType type_of(const NpyHeader *header) {
    if (header->kind == 'u' && header->width == 1) return PIXEL_U8;
    if (header->kind == 'u' && header->width == 2) return PIXEL_U16;
    return PIXEL_F32;
}

static void copy_values(const NpyHeader *header, const unsigned char *bytes, Image *out) {
    if (out->type != PIXEL_F32 || (header->kind == 'f' && header->width == 4)) {
        memcpy(out->pixels, bytes + header->offset, image_bytes(out));
        return;
    }
    for (size_t i = 0; i < header->count; i++) ((float *)out->pixels)[i] = (float)npy_value(header, bytes, i);
}

Status image_decode_npy(const unsigned char *bytes, size_t size, Image *out, Error *err) {
    NpyHeader header;
    Status status = npy_parse(bytes, size, &header, err);
    if (status) return status;
    size_t H = header.rank >= 2 ? header.dims[0] : 0, W = header.rank >= 2 ? header.dims[1] : 0;
    size_t channels = header.rank == 3 ? header.dims[2] : 1;
    if (header.rank < 2 || header.rank > 3 || channels < 1 || channels > 4 || H > IMAGE_SIDE_MAX || W > IMAGE_SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT,
                         "expected an array (H,W) or (H,W,1..4) with sides of at most %d as a picture, found %d sides, "
                         "%zu x %zu",
                         IMAGE_SIDE_MAX, header.rank, H, W);
    status = image_create((int)H, (int)W, (int)channels, type_of(&header), out, err);
    if (!status) copy_values(&header, bytes, out);
    return status;
}

bool image_is_map(const unsigned char *bytes, size_t size) {
    size_t at = 0;
    while (at < size && at < 6 && bytes[at] >= '0' && bytes[at] <= '9') at++;
    return at > 0 && at < size && bytes[at] == '&';
}

Status image_decode_map(const unsigned char *bytes, size_t size, Image *out, Error *err) {
    int sides[3];
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        sides[i] = 0;
        while (at < size && bytes[at] >= '0' && bytes[at] <= '9' && sides[i] < 100000)
            sides[i] = 10 * sides[i] + (bytes[at++] - '0');
        if (at >= size || bytes[at++] != '&')
            return error_set(err, STATUS_BAD_INPUT,
                             "expected width&height&channels& of a COLMAP map, found another text");
    }
    if (sides[2] != 1)
        return error_set(err, STATUS_BAD_INPUT, "expected a COLMAP map of one channel, found %d", sides[2]);
    if ((size_t)sides[0] * (size_t)sides[1] * sizeof(float) != size - at)
        return error_set(err, STATUS_BAD_INPUT, "expected %d x %d floats in a COLMAP map, found %zu bytes", sides[0],
                         sides[1], size - at);
    Status status = image_create(sides[1], sides[0], 1, PIXEL_F32, out, err);
    if (!status) memcpy(out->pixels, bytes + at, size - at);
    return status;
}
