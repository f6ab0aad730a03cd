// SPDX-License-Identifier: Apache-2.0
// Reads single images out of rgb, depth and mask arrays. An array whose chunks are images is read raw under the HDF5
// lock and decoded outside it, so that threads run in parallel; any other layout goes through H5Dread under the lock.
//   in: open array (F,V,H,W[,3]), frame, view      out: the image's bytes as stored, in native order
#ifndef VPD_DATASETS_PIXELS_H
#define VPD_DATASETS_PIXELS_H

#include "datasets/h5_chunk.h"

typedef struct PixelArray {
    H5Array array;
    size_t image_bytes;
    bool direct; // chunk = one image in native order
} PixelArray;

// The array is one that h5_open_array checked; `pixels` takes ownership.
void pixel_array_init(PixelArray *pixels, const H5Array *array);
void pixel_array_close(PixelArray *pixels); // accepts {0}

Status pixel_array_read(PixelArray *pixels, ChunkDecoder *decoder, int frame, int view, uint8_t *out, Error *err);

// The error for an image that `how` cannot be had: "cannot be read".
Status pixel_array_damaged(const char *array, int frame, int view, const char *how, Error *err);

#endif
