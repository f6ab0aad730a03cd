// SPDX-License-Identifier: Apache-2.0
// Shared by the image*.c files alone: one decoder per format, from bytes in memory; errors do not name the file.
#ifndef VPD_BASE_IMAGE_CODECS_H
#define VPD_BASE_IMAGE_CODECS_H

#include "base/image.h"

size_t image_bytes(const Image *image);
Status image_decode_png(const unsigned char *bytes, size_t size, Image *out, Error *err);
Status image_decode_jpeg(const unsigned char *bytes, size_t size, Image *out, Error *err);
Status image_decode_tiff(const unsigned char *bytes, size_t size, Image *out, Error *err);

#endif
