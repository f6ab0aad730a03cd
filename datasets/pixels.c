// SPDX-License-Identifier: Apache-2.0
#include "datasets/pixels.h"

#include "base/check.h"

#include <string.h>

void pixel_array_init(PixelArray *pixels, const H5Array *array) {
    *pixels = (PixelArray){.array = *array, .image_bytes = h5_kind_bytes(array->kind)};
    for (int i = 2; i < array->rank; i++) pixels->image_bytes *= (size_t)array->dims[i];
    pixels->direct = array->chunked && array->native_order && array->chunk[0] == 1 && array->chunk[1] == 1;
    for (int i = 2; i < array->rank; i++) {
        if (array->chunk[i] != array->dims[i]) pixels->direct = false;
    }
}

void pixel_array_close(PixelArray *pixels) { h5_array_close(&pixels->array); }

Status pixel_array_damaged(const char *array, int frame, int view, const char *how, Error *err) {
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: the image of frame %d, view %d %s; the file is damaged or was never "
                     "finished",
                     array, frame, view, how);
}

static Status read_direct(const PixelArray *pixels, ChunkDecoder *decoder, int frame, int view, uint8_t *out,
                          Error *err) {
    hsize_t offset[H5_RANK_MAX] = {(hsize_t)frame, (hsize_t)view};
    uint32_t skipped = 0;
    size_t size;
    Status status = chunk_decoder_reserve(decoder, &pixels->array, err);
    if (status) return status;
    const char *wrong = h5_chunk_read(&pixels->array, decoder, offset, &skipped, &size);
    if (!wrong) wrong = h5_chunk_unfilter(&pixels->array, decoder, skipped, size);
    if (wrong) return pixel_array_damaged(pixels->array.text, frame, view, wrong, err);
    memcpy(out, decoder->a, pixels->image_bytes);
    return STATUS_OK;
}

static Status read_slab(PixelArray *pixels, int frame, int view, uint8_t *out, Error *err) {
    H5Array *array = &pixels->array;
    hsize_t start[H5_RANK_MAX] = {(hsize_t)frame, (hsize_t)view}, count[H5_RANK_MAX] = {1, 1};
    for (int i = 2; i < array->rank; i++) count[i] = array->dims[i];
    Status status = h5_array_read_block(array, start, count, array->kind, out, err);
    return status == STATUS_BAD_INPUT ? pixel_array_damaged(array->text, frame, view, "cannot be read", err) : status;
}

Status pixel_array_read(PixelArray *pixels, ChunkDecoder *decoder, int frame, int view, uint8_t *out, Error *err) {
    CHECK(frame >= 0 && (hsize_t)frame < pixels->array.dims[0] && view >= 0 && (hsize_t)view < pixels->array.dims[1]);
    return pixels->direct ? read_direct(pixels, decoder, frame, view, out, err)
                          : read_slab(pixels, frame, view, out, err);
}
