// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/image_codecs.h"
#include "base/stop.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFLATE_RATIO_MAX = 1040, ANCILLARY_BYTES_MAX = 1 << 24 };

// What libpng's callbacks share; `rows` and the picture are freed by whoever called setjmp.
typedef struct PngJob {
    const unsigned char *bytes;
    size_t size, at;
    bool labels;
    char message[128];
    png_bytep *rows;
} PngJob;

static void take_error(png_structp png, png_const_charp message) {
    PngJob *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", message);
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void read_bytes(png_structp png, png_bytep out, size_t count) {
    PngJob *job = png_get_io_ptr(png);
    if (count > job->size - job->at) png_error(png, "the file is cut short");
    memcpy(out, job->bytes + job->at, count);
    job->at += count;
}

// Asks for whole bytes in native order and reads the size of the result.
static Status prepare(png_structp png, png_infop info, PngJob *job, Image *out, Error *err) {
    png_read_info(png, info);
    Status status = image_check_size(png_get_image_height(png, info), png_get_image_width(png, info), err);
    if (status) return status;
    int depth = png_get_bit_depth(png, info), colour = png_get_color_type(png, info);
    if (colour == PNG_COLOR_TYPE_PALETTE && job->labels) png_set_packing(png);
    else if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (colour == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    if (depth == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    int H = (int)png_get_image_height(png, info), W = (int)png_get_image_width(png, info);
    PixelType type = png_get_bit_depth(png, info) == 16 ? PIXEL_U16 : PIXEL_U8;
    Image shape = {H, W, png_get_channels(png, info), type, NULL};
    if (image_bytes(&shape) / DEFLATE_RATIO_MAX > job->size)
        return error_set(err, STATUS_BAD_INPUT, "declares %d x %d pixels, more than its %zu bytes can hold", W, H,
                         job->size);
    status = image_create(H, W, shape.channels, type, out, err);
    if (status) return status;
    if (png_get_rowbytes(png, info) != image_bytes(out) / (size_t)H)
        return error_set(err, STATUS_BAD_INPUT, "expected a PNG of whole bytes, found %d bits a sample", depth);
    job->rows = malloc((size_t)H * sizeof *job->rows);
    if (!job->rows) return error_set(err, STATUS_FAILED, "no memory for a picture of %d x %d", W, H);
    for (int y = 0; y < H; y++) job->rows[y] = (png_bytep)out->pixels + (size_t)y * (image_bytes(out) / (size_t)H);
    return STATUS_OK;
}

static Status decode(png_structp png, png_infop info, PngJob *job, Image *out, Error *err) {
    if (setjmp(png_jmpbuf(png))) return error_set(err, STATUS_BAD_INPUT, "the PNG is damaged (%s)", job->message);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); // prepare has its own, which it tells
    png_set_chunk_malloc_max(png, ANCILLARY_BYTES_MAX);
    png_set_read_fn(png, job, read_bytes);
    Status status = prepare(png, info, job, out, err);
    if (status) return status;
    png_read_image(png, job->rows);
    png_read_end(png, NULL);
    return STATUS_OK;
}

Status image_decode_png(const unsigned char *bytes, size_t size, bool labels, Image *out, Error *err) {
    PngJob job = {.bytes = bytes, .size = size, .labels = labels};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, take_error, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    Status status = info ? decode(png, info, &job, out, err) : error_set(err, STATUS_FAILED, "no memory for libpng");
    png_destroy_read_struct(&png, &info, NULL);
    free(job.rows);
    return status;
}

typedef struct PngBuffer {
    unsigned char *bytes;
    size_t size, capacity;
    char message[128];
} PngBuffer;

static void take_write_error(png_structp png, png_const_charp message) {
    PngBuffer *buffer = png_get_error_ptr(png);
    snprintf(buffer->message, sizeof buffer->message, "%s", message);
    png_longjmp(png, 1);
}

static void write_bytes(png_structp png, png_bytep bytes, size_t count) {
    PngBuffer *buffer = png_get_io_ptr(png);
    if (buffer->capacity - buffer->size < count) {
        size_t capacity = 2 * buffer->capacity + count + 4096;
        unsigned char *grown = realloc(buffer->bytes, capacity);
        if (!grown) png_error(png, "no memory");
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->size, bytes, count);
    buffer->size += count;
}

static void flush_nothing(png_structp png) { (void)png; }

static Status encode(png_structp png, png_infop info, const Image *image, PngBuffer *buffer, Error *err) {
    static const int COLOURS[5] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                   PNG_COLOR_TYPE_RGBA};
    if (setjmp(png_jmpbuf(png)))
        return error_set(err, STATUS_FAILED, "a picture of %d x %d cannot be encoded (%s)", image->W, image->H,
                         buffer->message);
    png_set_write_fn(png, buffer, write_bytes, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32)image->W, (png_uint_32)image->H, 8 * (int)image->type,
                 COLOURS[image->channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (image->type == PIXEL_U16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(png);
    size_t stride = image_bytes(image) / (size_t)image->H;
    for (int y = 0; y < image->H && !stop_requested(); y++)
        png_write_row(png, (png_const_bytep)image->pixels + (size_t)y * stride);
    if (stop_requested()) return stop_error(err);
    png_write_end(png, info);
    return STATUS_OK;
}

Status image_encode_png(const Image *image, unsigned char **bytes, size_t *size, Error *err) {
    CHECK(image->type == PIXEL_U8 || image->type == PIXEL_U16);
    CHECK(image->channels >= 1 && image->channels <= 4 && image->H > 0 && image->W > 0);
    PngBuffer buffer = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &buffer, take_write_error, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    Status status =
        info ? encode(png, info, image, &buffer, err) : error_set(err, STATUS_FAILED, "no memory for libpng");
    png_destroy_write_struct(&png, &info);
    if (status) free(buffer.bytes);
    *bytes = status ? NULL : buffer.bytes;
    *size = status ? 0 : buffer.size;
    return status;
}
