// SPDX-License-Identifier: Apache-2.0
// Packs one image as a chunk of HDF5 (shuffle, deflate, fletcher32) without HDF5's lock, so that threads run in
// parallel.
#ifndef VPD_DATASETS_PACK_H
#define VPD_DATASETS_PACK_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct PackedBytes {
    uint8_t *bytes; // malloc'ed
    size_t size;
} PackedBytes;

// `count` elements of `width` bytes in little-endian order; level 1..9.
Status pack_bytes(const void *pixels, size_t count, size_t width, int level, PackedBytes *out, Error *err);

#endif
