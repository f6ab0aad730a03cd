// SPDX-License-Identifier: Apache-2.0
#include "datasets/pack.h"

#include "datasets/pixels.h"

#include <stdlib.h>
#include <zlib.h>

// Byte 0 of all elements, then byte 1 of all, as HDF5's filter does.
static void shuffle(const uint8_t *in, size_t count, size_t width, uint8_t *out) {
    for (size_t k = 0; k < width; k++) {
        for (size_t i = 0; i < count; i++) out[k * count + i] = in[i * width + k];
    }
}

static void put_checksum(PackedBytes *out) {
    uint32_t sum = h5_fletcher32(out->bytes, out->size);
    for (int i = 0; i < 4; i++) out->bytes[out->size++] = (uint8_t)(sum >> 8 * i);
}

Status pack_bytes(const void *pixels, size_t count, size_t width, int level, PackedBytes *out, Error *err) {
    size_t bytes = count * width;
    uLongf size = compressBound(bytes);
    uint8_t *shuffled = width > 1 ? malloc(bytes) : NULL;
    *out = (PackedBytes){.bytes = malloc(size + 4)};
    bool good = out->bytes && (width == 1 || shuffled);
    if (good && shuffled) shuffle(pixels, count, width, shuffled);
    good = good && compress2(out->bytes, &size, shuffled ? shuffled : pixels, bytes, level) == Z_OK;
    free(shuffled);
    if (good) {
        out->size = size;
        put_checksum(out);
        return STATUS_OK;
    }
    free(out->bytes);
    *out = (PackedBytes){0};
    return error_set(err, STATUS_FAILED, "no memory to compress an image");
}
