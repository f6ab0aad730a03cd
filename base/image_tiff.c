// SPDX-License-Identifier: Apache-2.0
#include "base/image_codecs.h"

#include <stdbool.h>
#include <string.h>
#include <tiffio.h>

enum { TIFF_RATIO_MAX = 4096 }; // LZW reaches about 1400 : 1, deflate 1032 : 1

typedef struct TiffFile {
    const unsigned char *bytes;
    size_t size, at;
} TiffFile;

static tmsize_t read_some(thandle_t handle, void *out, tmsize_t count) {
    TiffFile *file = handle;
    size_t left = file->size - file->at, take = (size_t)count < left ? (size_t)count : left;
    memcpy(out, file->bytes + file->at, take);
    file->at += take;
    return (tmsize_t)take;
}

static tmsize_t write_nothing(thandle_t handle, void *in, tmsize_t count) {
    (void)handle;
    (void)in;
    (void)count;
    return 0;
}

static toff_t seek_to(thandle_t handle, toff_t offset, int whence) {
    TiffFile *file = handle;
    toff_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->at : file->size;
    if (offset > file->size || base + offset > file->size) return (toff_t)-1;
    return file->at = (size_t)(base + offset);
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle) { return ((TiffFile *)handle)->size; }

static int say_nothing(TIFF *tiff, void *owner, const char *module, const char *format, va_list arguments) {
    (void)tiff;
    (void)owner;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

static TIFF *open_memory(TiffFile *file) {
#if TIFFLIB_VERSION >= 20221213
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, say_nothing, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, say_nothing, NULL);
    TIFF *tiff = TIFFClientOpenExt("picture", "rm", file, read_some, write_nothing, seek_to, close_nothing, size_of,
                                   NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
#else
    (void)say_nothing;
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    return TIFFClientOpen("picture", "rm", file, read_some, write_nothing, seek_to, close_nothing, size_of, NULL, NULL);
#endif
}

static Status read_shape(TIFF *tiff, size_t size, Image *shape, Error *err) {
    uint32_t W = 0, H = 0;
    uint16_t bits = 1, samples = 1, format = SAMPLEFORMAT_UINT, planar = PLANARCONFIG_CONTIG, compression = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &W);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &H);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    bool is_float = format == SAMPLEFORMAT_IEEEFP && bits == 32,
         is_uint = format == SAMPLEFORMAT_UINT && (bits == 8 || bits == 16);
    // Few codecs: others would enlarge the attack surface.
    bool packed = compression == COMPRESSION_NONE || compression == COMPRESSION_LZW ||
                  compression == COMPRESSION_PACKBITS || compression == COMPRESSION_ADOBE_DEFLATE ||
                  compression == COMPRESSION_DEFLATE;
    if ((!is_float && !is_uint) || samples < 1 || samples > 4 || planar != PLANARCONFIG_CONTIG || !packed ||
        TIFFIsTiled(tiff))
        return error_set(err, STATUS_BAD_INPUT,
                         "expected a TIFF in strips, interleaved, of 8 or 16 bit or float32, plain, "
                         "LZW, deflate or packbits; found %u bit, %u samples, compression %u%s",
                         bits, samples, compression, TIFFIsTiled(tiff) ? ", tiles" : "");
    Status status = image_check_size(H, W, err);
    if (status) return status;
    if ((size_t)W * H / TIFF_RATIO_MAX > size)
        return error_set(err, STATUS_BAD_INPUT, "declares %u x %u pixels, more than its %zu bytes can hold", W, H,
                         size);
    *shape = (Image){(int)H, (int)W, samples, is_float ? PIXEL_F32 : bits == 16 ? PIXEL_U16 : PIXEL_U8, NULL};
    return STATUS_OK;
}

static Status decode(TIFF *tiff, size_t size, Image *out, Error *err) {
    Image shape = {0};
    Status status = read_shape(tiff, size, &shape, err);
    if (!status) status = image_create(shape.H, shape.W, shape.channels, shape.type, out, err);
    if (status) return status;
    size_t stride = image_bytes(out) / (size_t)out->H;
    if ((size_t)TIFFScanlineSize(tiff) != stride)
        return error_set(err, STATUS_BAD_INPUT, "the TIFF is damaged (row length)");
    for (int y = 0; y < out->H; y++) {
        if (TIFFReadScanline(tiff, (char *)out->pixels + (size_t)y * stride, (uint32_t)y, 0) != 1)
            return error_set(err, STATUS_BAD_INPUT, "the TIFF is damaged or cut short at row %d", y);
    }
    return STATUS_OK;
}

Status image_decode_tiff(const unsigned char *bytes, size_t size, Image *out, Error *err) {
    TiffFile file = {bytes, size, 0};
    TIFF *tiff = open_memory(&file);
    if (!tiff) return error_set(err, STATUS_BAD_INPUT, "the TIFF is damaged (no directory)");
    Status status = decode(tiff, size, out, err);
    TIFFClose(tiff);
    return status;
}
