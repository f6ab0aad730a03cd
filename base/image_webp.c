// SPDX-License-Identifier: Apache-2.0
#include "base/image_codecs.h"

#include <string.h>
#include <webp/decode.h>

enum { WEBP_RATIO_MAX = 4096 }; // as of the other formats; lossless WebP itself has no bound

bool image_is_webp(const unsigned char *bytes, size_t size) {
    return size >= 16 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
}

bool image_webp_size(const unsigned char *bytes, size_t size, int *H, int *W) {
    return image_is_webp(bytes, size) && WebPGetInfo(bytes, size, W, H) && *W > 0 && *H > 0 && *W <= IMAGE_SIDE_MAX &&
           *H <= IMAGE_SIDE_MAX;
}

Status image_decode_webp(const unsigned char *bytes, size_t size, Image *out, Error *err) {
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(bytes, size, &features) != VP8_STATUS_OK)
        return error_set(err, STATUS_BAD_INPUT, "the WebP picture is damaged or cut short (header)");
    if (features.has_animation) return error_set(err, STATUS_BAD_INPUT, "expected a WebP picture, found an animation");
    size_t W = (size_t)features.width, H = (size_t)features.height;
    if (W * H / WEBP_RATIO_MAX > size)
        return error_set(err, STATUS_BAD_INPUT, "declares %zu x %zu pixels, more than its %zu bytes can hold", W, H,
                         size);
    int channels = features.has_alpha ? 4 : 3;
    Status status = image_create(features.height, features.width, channels, PIXEL_U8, out, err);
    if (status) return status;
    int stride = channels * features.width;
    uint8_t *done = channels == 4 ? WebPDecodeRGBAInto(bytes, size, out->pixels, image_bytes(out), stride)
                                  : WebPDecodeRGBInto(bytes, size, out->pixels, image_bytes(out), stride);
    return done ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "the WebP picture is damaged or cut short");
}
