// SPDX-License-Identifier: Apache-2.0
#include "base/image.h"

#include "base/check.h"
#include "base/image_codecs.h"

#include <stdlib.h>

void image_free(Image *image) {
    free(image->pixels);
    *image = (Image){0};
}

size_t image_bytes(const Image *image) {
    return (size_t)image->H * (size_t)image->W * (size_t)image->channels * (size_t)image->type;
}

Status image_check_size(int64_t H, int64_t W, Error *err) {
    bool sides = H >= 1 && W >= 1 && H <= IMAGE_SIDE_MAX && W <= IMAGE_SIDE_MAX;
    if (sides && (size_t)H * (size_t)W <= IMAGE_PIXELS_MAX) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "expected a picture with sides of 1 to %d and at most %zu pixels, found %lld x %lld; make it "
                     "smaller",
                     IMAGE_SIDE_MAX, IMAGE_PIXELS_MAX, (long long)W, (long long)H);
}

Status image_create(int H, int W, int channels, PixelType type, Image *out, Error *err) {
    CHECK(channels >= 1 && channels <= 4);
    *out = (Image){0};
    Status status = image_check_size(H, W, err);
    if (status) return status;
    Image image = {H, W, channels, type, NULL};
    image.pixels = calloc(1, image_bytes(&image));
    if (!image.pixels) return error_set(err, STATUS_FAILED, "no memory for a picture of %d x %d", W, H);
    *out = image;
    return STATUS_OK;
}

static uint8_t sample_to_u8(const Image *image, size_t index) {
    if (image->type == PIXEL_U8) return ((const uint8_t *)image->pixels)[index];
    return (uint8_t)((((const uint16_t *)image->pixels)[index] + 128) / 257);
}

Status image_to_rgb8(const Image *image, Image *out, Error *err) {
    *out = (Image){0};
    if (image->type == PIXEL_F32)
        return error_set(err, STATUS_BAD_INPUT, "expected a colour picture, found 32-bit floats");
    Status status = image_create(image->H, image->W, 3, PIXEL_U8, out, err);
    if (status) return status;
    uint8_t *rgb = out->pixels;
    size_t count = (size_t)image->H * (size_t)image->W, channels = (size_t)image->channels;
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < 3; c++) rgb[3 * i + c] = sample_to_u8(image, i * channels + (channels >= 3 ? c : 0));
    }
    return STATUS_OK;
}
