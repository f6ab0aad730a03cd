// SPDX-License-Identifier: Apache-2.0
// Reads stored chunks and undoes their filters. Shared by the files of datasets/ alone.
#ifndef VPD_DATASETS_H5_CHUNK_H
#define VPD_DATASETS_H5_CHUNK_H

#include "datasets/h5.h"

#include <stdint.h>
#include <zlib.h>

// Scratch of one thread; starts as {0}, grows and stays.
typedef struct ChunkDecoder {
    uint8_t *a, *b;
    size_t capacity;
    z_stream stream;
    bool stream_ready;
} ChunkDecoder;

void chunk_decoder_free(ChunkDecoder *decoder);
Status chunk_decoder_reserve(ChunkDecoder *decoder, const H5Array *array, Error *err);

// Bytes of a whole chunk.
size_t h5_chunk_bytes(const H5Array *array);

// The chunk at `offset` as stored, into decoder->a, under the lock. These two return what is wrong, or NULL.
const char *h5_chunk_read(const H5Array *array, ChunkDecoder *decoder, const hsize_t *offset, uint32_t *skipped,
                          size_t *size);
// Undoes the filters, last first, in decoder->a; the result must be a whole chunk. Without the lock.
const char *h5_chunk_unfilter(const H5Array *array, ChunkDecoder *decoder, uint32_t skipped, size_t size);

// HDF5's Fletcher checksum of `size` bytes.
uint32_t h5_fletcher32(const uint8_t *bytes, size_t size);

// HDF5 before 2.2 does not check that a decoded chunk has its full size, and reads beyond its end otherwise. So the
// chunks of a block are decoded and counted before HDF5 reads them; those of the last block are remembered. The lock is
// held by the caller.
Status h5_chunks_check(H5Array *array, const hsize_t *start, const hsize_t *count, Error *err);
void h5_chunks_forget(H5Array *array); // when it is closed; accepts {0}

#endif
