// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5_chunk.h"

#include <stdlib.h>
#include <string.h>

enum { SLACK = 4096 };

// What h5_chunks_check keeps between two blocks of an array.
struct H5Look {
    ChunkDecoder decoder;
    bool any;
    hsize_t first[H5_RANK_MAX], last[H5_RANK_MAX]; // chunks of the block before, counted in chunks
};

void chunk_decoder_free(ChunkDecoder *decoder) {
    free(decoder->a);
    free(decoder->b);
    if (decoder->stream_ready) inflateEnd(&decoder->stream);
    *decoder = (ChunkDecoder){0};
}

size_t h5_chunk_bytes(const H5Array *array) {
    size_t bytes = h5_kind_bytes(array->kind);
    for (int i = 0; i < array->rank; i++) bytes *= (size_t)array->chunk[i];
    return bytes;
}

Status chunk_decoder_reserve(ChunkDecoder *decoder, const H5Array *array, Error *err) {
    size_t bytes = h5_chunk_bytes(array);
    bytes += bytes / 256 + SLACK; // room for what deflate adds to incompressible data, and for checksums
    if (decoder->capacity < bytes) {
        free(decoder->a);
        free(decoder->b);
        decoder->a = malloc(bytes);
        decoder->b = malloc(bytes);
        decoder->capacity = decoder->a && decoder->b ? bytes : 0;
    }
    if (!decoder->stream_ready) decoder->stream_ready = inflateInit(&decoder->stream) == Z_OK;
    if (decoder->capacity >= bytes && decoder->stream_ready) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "%s: no memory to decode a chunk of %zu bytes", array->text,
                     h5_chunk_bytes(array));
}

uint32_t h5_fletcher32(const uint8_t *bytes, size_t size) {
    uint32_t sum1 = 0, sum2 = 0;
    size_t words = size / 2;
    while (words) {
        // Up to 360 words cannot overflow 32 bits.
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

static bool inflate_all(ChunkDecoder *decoder, const uint8_t *in, size_t size, uint8_t *out, size_t *out_size) {
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

// Undoes the shuffle filter: byte k of all elements, then byte k + 1. Remaining bytes stand unchanged at the end.
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
    return h5_fletcher32(bytes, *size) == stored;
}

static void swap(ChunkDecoder *decoder) {
    uint8_t *other = decoder->a;
    decoder->a = decoder->b;
    decoder->b = other;
}

const char *h5_chunk_unfilter(const H5Array *array, ChunkDecoder *decoder, uint32_t skipped, size_t size) {
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
    return size == h5_chunk_bytes(array) ? NULL : "has the wrong number of bytes";
}

const char *h5_chunk_read(const H5Array *array, ChunkDecoder *decoder, const hsize_t *offset, uint32_t *skipped,
                          size_t *size) {
    hsize_t stored = 0;
    const char *wrong = NULL;
    h5_lock();
    herr_t rc = H5Dget_chunk_storage_size(array->id, offset, &stored);
    if (rc < 0 || stored == 0) wrong = "is not there";
    else if (stored > decoder->capacity) wrong = "takes more bytes than it may";
    else if (H5Dread_chunk(array->id, H5P_DEFAULT, offset, skipped, decoder->a) < 0) wrong = "cannot be read";
    h5_unlock();
    *size = (size_t)stored;
    return wrong;
}

// ---- before the library reads

// A chunk that reaches beyond the array's end may be stored without filters.
static bool is_plain(const H5Array *array, const hsize_t *offset) {
    bool edge = false;
    for (int i = 0; i < array->rank; i++) edge |= array->chunk[i] > array->dims[i] - offset[i];
    return array->filter_count == 0 || (array->plain_edges && edge);
}

static const char *check_chunk(const H5Array *array, ChunkDecoder *decoder, const hsize_t *offset) {
    hsize_t stored = 0;
    uint32_t skipped = 0;
    size_t size;
    if (H5Dget_chunk_storage_size(array->id, offset, &stored) < 0 || stored == 0) return NULL; // the fill value
    if (is_plain(array, offset)) return stored == h5_chunk_bytes(array) ? NULL : "has the wrong number of bytes";
    const char *wrong = h5_chunk_read(array, decoder, offset, &skipped, &size);
    return wrong ? wrong : h5_chunk_unfilter(array, decoder, skipped, size);
}

// The next chunk of first..last, the last dimension fastest; false after the last one.
static bool next_chunk(const H5Array *array, const struct H5Look *look, hsize_t *at) {
    for (int i = array->rank - 1; i >= 0; i--) {
        if (at[i]++ < look->last[i]) return true;
        at[i] = look->first[i];
    }
    return false;
}

// False: those of the block before.
static bool new_range(const H5Array *array, struct H5Look *look, const hsize_t *start, const hsize_t *count) {
    bool same = look->any;
    for (int i = 0; i < array->rank; i++) {
        hsize_t first = start[i] / array->chunk[i], last = (start[i] + count[i] - 1) / array->chunk[i];
        same = same && first == look->first[i] && last == look->last[i];
        look->first[i] = first;
        look->last[i] = last;
    }
    return !same;
}

Status h5_chunks_check(H5Array *array, const hsize_t *start, const hsize_t *count, Error *err) {
    if (!array->look) array->look = calloc(1, sizeof *array->look);
    struct H5Look *look = array->look;
    hsize_t at[H5_RANK_MAX], offset[H5_RANK_MAX];
    const char *wrong = NULL;
    Status status = look ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: no memory to read it", array->text);
    if (look && new_range(array, look, start, count)) {
        look->any = false;
        status = chunk_decoder_reserve(&look->decoder, array, err);
        memcpy(at, look->first, sizeof at);
        do {
            for (int i = 0; i < array->rank; i++) offset[i] = at[i] * array->chunk[i];
            if (!status) wrong = check_chunk(array, &look->decoder, offset);
        } while (!status && !wrong && next_chunk(array, look, at));
        look->any = !status && !wrong;
    }
    if (wrong) status = error_set(err, STATUS_BAD_INPUT, "%s: a chunk %s; the file is damaged", array->text, wrong);
    return status;
}

void h5_chunks_forget(H5Array *array) {
    if (array->look) chunk_decoder_free(&array->look->decoder);
    free(array->look);
    array->look = NULL;
}
