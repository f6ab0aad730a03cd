// SPDX-License-Identifier: Apache-2.0
// Shared by the image*.c files alone: one decoder per format, from bytes in memory; errors do not name the file.
#ifndef VPD_BASE_IMAGE_CODECS_H
#define VPD_BASE_IMAGE_CODECS_H

#include "base/image.h"

#include <stdbool.h>

size_t image_bytes(const Image *image);
// `labels`: palette indices are kept instead of being converted to colours.
Status image_decode_png(const unsigned char *bytes, size_t size, bool labels, Image *out, Error *err);
Status image_decode_jpeg(const unsigned char *bytes, size_t size, Image *out, Error *err);
Status image_decode_tiff(const unsigned char *bytes, size_t size, Image *out, Error *err);
Status image_decode_npy(const unsigned char *bytes, size_t size, Image *out, Error *err);
bool image_is_webp(const unsigned char *bytes, size_t size);
bool image_webp_size(const unsigned char *bytes, size_t size, int *H, int *W); // from its head; false: not there
Status image_decode_webp(const unsigned char *bytes, size_t size, Image *out, Error *err);
bool image_is_exr(const unsigned char *bytes, size_t size);
Status image_decode_exr(const unsigned char *bytes, size_t size, Image *out, Error *err);
bool image_is_zip(const unsigned char *bytes, size_t size);
Status image_decode_npz(const unsigned char *bytes, size_t size, Image *out, Error *err); // its one array
bool image_is_map(const unsigned char *bytes, size_t size);                               // COLMAP's "W&H&C&"
Status image_decode_map(const unsigned char *bytes, size_t size, Image *out, Error *err);

#endif
