// SPDX-License-Identifier: Apache-2.0
// Pictures in memory and in files. Rows of pixels, channel-last: pixels (H,W,channels) of u8, u16 or f32.
// image_read is the guarded way to open an untrusted picture: PNG (1-16 bit), JPEG (8 bit), TIFF (8/16 bit,
// float32), WebP, OpenEXR, NumPy arrays (.npy, .npz) and COLMAP's maps; regular files only, size and dimensions capped,
// recognised by content, not by name. Palette and 1/2/4 bit become u8; no gamma or colour profile is applied; alpha
// stays a channel.
#ifndef VPD_BASE_IMAGE_H
#define VPD_BASE_IMAGE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { IMAGE_SIDE_MAX = 16384 };
#define IMAGE_PIXELS_MAX ((size_t)1 << 26) // 8192 x 8192
#define IMAGE_FILE_MAX ((size_t)1 << 29)   // bytes of a picture's file

typedef enum PixelType { PIXEL_U8 = 1, PIXEL_U16 = 2, PIXEL_F32 = 4 } PixelType; // value = bytes

typedef struct Image {
    int H, W, channels; // channels 1 (grey), 2 (grey + alpha), 3 (rgb), 4 (rgb + alpha)
    PixelType type;
    void *pixels; // (H,W,channels), malloc'ed
} Image;

void image_free(Image *image);
// An error for an empty picture and for one beyond these limits.
Status image_check_size(int64_t H, int64_t W, Error *err);
// Zeroed pixels.
Status image_create(int H, int W, int channels, PixelType type, Image *out, Error *err);

Status image_read(const char *path, Image *out, Error *err);
// A picture of labels: palette indices are kept.
Status image_read_labels(const char *path, Image *out, Error *err);
// The size of a picture; for most PNGs and JPEGs without decoding them.
Status image_read_size(const char *path, int *H, int *W, Error *err);
Status image_decode(const void *bytes, size_t size, const char *name, Image *out, Error *err);

// 8 or 16 bit PNG (PIXEL_U8, PIXEL_U16). image_encode_png gives malloc'ed bytes; image_write_png replaces the file at
// once.
Status image_encode_png(const Image *image, unsigned char **bytes, size_t *size, Error *err);
Status image_write_png(const Image *image, const char *path, Error *err);

// To 8-bit RGB: grey is repeated, alpha dropped, 16 bit divided by 257. Floats are refused.
Status image_to_rgb8(const Image *image, Image *out, Error *err);

// Colour: area average when smaller, bilinear when larger, with pixel centres at halves; any u8 image.
Status image_resize(const Image *image, int H, int W, Image *out, Error *err);
// The position in the old picture of a position in the new one.
typedef struct PixelMap {
    void (*at)(const void *owner, double x, double y, double out[2]);
    const void *owner;
} PixelMap;

// Depth (u16 or f32, one channel, 0 = missing), never a mixture of two surfaces. A sample is linear in 1/z where the
// four pixels around it show one surface, which is exact on a plane, else the nearest pixel. A new pixel that covers
// several old ones is the median of as many samples, and missing when fewer than half of them are known.
Status image_map_depth(const Image *image, int H, int W, PixelMap map, Image *out, Error *err);
Status image_resize_depth(const Image *image, int H, int W, Image *out, Error *err);

#endif
