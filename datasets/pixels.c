// SPDX-License-Identifier: Apache-2.0
#include "datasets/pixels.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

enum { SLACK = 4096 };

void pixel_decoder_free(PixelDecoder *decoder) {
    free(decoder->a);
    free(decoder->b);
    if (decoder->stream_ready) inflateEnd(&decoder->stream);
    *decoder = (PixelDecoder){0};
}

void pixel_array_init(PixelArray *pixels, const H5Array *array) {
    *pixels = (PixelArray){.array = *array, .image_bytes = h5_kind_bytes(array->kind)};
    for (int i = 2; i < array->rank; i++) pixels->image_bytes *= (size_t)array->dims[i];
    pixels->direct = array->chunked && array->native_order && array->chunk[0] == 1 && array->chunk[1] == 1;
    for (int i = 2; i < array->rank; i++) {
        if (array->chunk[i] != array->dims[i]) pixels->direct = false;
    }
}

void pixel_array_close(PixelArray *pixels) { h5_array_close(&pixels->array); }

uint32_t pixel_fletcher32(const uint8_t *bytes, size_t size) {
    uint32_t sum1 = 0, sum2 = 0;
    size_t words = size / 2;
    while (words) {
        // 360 words are the most that cannot overflow 32 bits.
        size_t block = words > 360 ? 360 : words;
        words -= block;
        for (; block; block--, bytes += 2) {
            sum1 += (uint32_t)bytes[0] << 8 | bytes[1];
            sum2 += sum1;
        }
        sum1 = (sum1 & 0xFFFF) + (sum1 >> 16);
        sum2 = (sum2 & 0xFFFF) + (sum2 >> 16);
    }
    if (size & 1) {
        sum1 += (uint32_t)*bytes << 8;
        sum2 += sum1;
        sum1 = (sum1 & 0xFFFF) + (sum1 >> 16);
        sum2 = (sum2 & 0xFFFF) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xFFFF) + (sum1 >> 16);
    sum2 = (sum2 & 0xFFFF) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}

static Status damaged(const PixelArray *pixels, int frame, int view, const char *how, Error *err) {
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: the image of frame %d, view %d %s; the file is damaged or was never "
                     "finished",
                     pixels->array.text, frame, view, how);
}

static Status reserve(PixelDecoder *decoder, size_t bytes, const PixelArray *pixels, Error *err) {
    if (decoder->capacity < bytes) {
        free(decoder->a);
        free(decoder->b);
        decoder->a = malloc(bytes);
        decoder->b = malloc(bytes);
        decoder->capacity = decoder->a && decoder->b ? bytes : 0;
    }
    if (!decoder->stream_ready) decoder->stream_ready = inflateInit(&decoder->stream) == Z_OK;
    if (decoder->capacity >= bytes && decoder->stream_ready) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "%s: no memory to decode an image", pixels->array.text);
}

static bool inflate_all(PixelDecoder *decoder, const uint8_t *in, size_t size, uint8_t *out, size_t *out_size) {
    z_stream *stream = &decoder->stream;
    if (inflateReset(stream) != Z_OK) return false;
    stream->next_in = (Bytef *)(uintptr_t)in;
    stream->avail_in = (uInt)size;
    stream->next_out = out;
    stream->avail_out = (uInt)decoder->capacity;
    if (inflate(stream, Z_FINISH) != Z_STREAM_END) return false;
    *out_size = decoder->capacity - stream->avail_out;
    return true;
}

// Byte k of all elements, then byte k + 1 of all: back to whole elements. What is left over stands at the end as it
// was.
static void unshuffle(const uint8_t *in, size_t size, size_t width, uint8_t *out) {
    size_t count = size / width;
    for (size_t k = 0; k < width; k++) {
        for (size_t i = 0; i < count; i++) out[i * width + k] = in[k * count + i];
    }
    memcpy(out + count * width, in + count * width, size - count * width);
}

static bool fletcher_holds(const uint8_t *bytes, size_t *size) {
    if (*size < 4) return false;
    *size -= 4;
    const uint8_t *end = bytes + *size;
    uint32_t stored = (uint32_t)end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    return pixel_fletcher32(bytes, *size) == stored;
}

static void swap(PixelDecoder *decoder) {
    uint8_t *other = decoder->a;
    decoder->a = decoder->b;
    decoder->b = other;
}

// Undoes the filters, last first; the bytes start and end in decoder->a. Returns what is wrong, or NULL.
static const char *unfilter(const PixelArray *pixels, PixelDecoder *decoder, uint32_t skipped, size_t size) {
    const H5Array *array = &pixels->array;
    for (int i = array->filter_count - 1; i >= 0; i--) {
        if (skipped >> i & 1) continue;
        if (array->filters[i] == H5Z_FILTER_FLETCHER32) {
            if (!fletcher_holds(decoder->a, &size)) return "does not match its checksum";
        } else if (array->filters[i] == H5Z_FILTER_DEFLATE) {
            if (!inflate_all(decoder, decoder->a, size, decoder->b, &size)) return "cannot be inflated";
            swap(decoder);
        } else if (h5_kind_bytes(array->kind) > 1) {
            unshuffle(decoder->a, size, h5_kind_bytes(array->kind), decoder->b);
            swap(decoder);
        }
    }
    return size == pixels->image_bytes ? NULL : "has the wrong number of bytes";
}

// The chunk as stored, into decoder->a.
static const char *read_raw(const PixelArray *pixels, const PixelDecoder *decoder, const hsize_t *offset,
                            uint32_t *skipped, size_t *size) {
    hsize_t stored = 0;
    const char *wrong = NULL;
    h5_lock();
    herr_t rc = H5Dget_chunk_storage_size(pixels->array.id, offset, &stored);
    if (rc < 0 || stored == 0) wrong = "is not there";
    else if (stored > decoder->capacity) wrong = "takes more bytes than an image may";
    else if (H5Dread_chunk(pixels->array.id, H5P_DEFAULT, offset, skipped, decoder->a) < 0) wrong = "cannot be read";
    h5_unlock();
    *size = (size_t)stored;
    return wrong;
}

static Status read_direct(const PixelArray *pixels, PixelDecoder *decoder, int frame, int view, uint8_t *out,
                          Error *err) {
    hsize_t offset[H5_RANK_MAX] = {(hsize_t)frame, (hsize_t)view};
    uint32_t skipped = 0;
    size_t size;
    // Room for what deflate adds to noise, and for checksums.
    Status status = reserve(decoder, pixels->image_bytes + pixels->image_bytes / 256 + SLACK, pixels, err);
    if (status) return status;
    const char *wrong = read_raw(pixels, decoder, offset, &skipped, &size);
    if (!wrong) wrong = unfilter(pixels, decoder, skipped, size);
    if (wrong) return damaged(pixels, frame, view, wrong, err);
    memcpy(out, decoder->a, pixels->image_bytes);
    return STATUS_OK;
}

static Status read_slab(const PixelArray *pixels, int frame, int view, uint8_t *out, Error *err) {
    const H5Array *array = &pixels->array;
    hsize_t start[H5_RANK_MAX] = {(hsize_t)frame, (hsize_t)view}, count[H5_RANK_MAX] = {1, 1};
    for (int i = 2; i < array->rank; i++) count[i] = array->dims[i];
    h5_lock();
    hid_t file_space = H5Dget_space(array->id), memory_space = H5Screate_simple(array->rank, count, NULL);
    bool good = file_space >= 0 && memory_space >= 0 &&
                H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dread(array->id, h5_kind_memory_type(array->kind), memory_space, file_space, H5P_DEFAULT, out) >= 0;
    if (file_space >= 0) H5Sclose(file_space);
    if (memory_space >= 0) H5Sclose(memory_space);
    h5_unlock();
    return good ? STATUS_OK : damaged(pixels, frame, view, "cannot be read", err);
}

Status pixel_array_read(const PixelArray *pixels, PixelDecoder *decoder, int frame, int view, uint8_t *out,
                        Error *err) {
    CHECK(frame >= 0 && (hsize_t)frame < pixels->array.dims[0] && view >= 0 && (hsize_t)view < pixels->array.dims[1]);
    return pixels->direct ? read_direct(pixels, decoder, frame, view, out, err)
                          : read_slab(pixels, frame, view, out, err);
}
