// SPDX-License-Identifier: Apache-2.0
// Pictures of the scene in formats that the program only reads: WebP, OpenEXR and .npz.
#ifndef VPD_TESTS_IMPORT_CODECS_H
#define VPD_TESTS_IMPORT_CODECS_H

#include "tests/import_scene.h"

#include <webp/encode.h>
#include <zlib.h>

static inline void write_webp(int f, int v, const char *path) {
    uint8_t *bytes = NULL;
    size_t size = WebPEncodeLosslessRGB(scene.rgb + 3 * scene_cell(f, v) * scene_pixels(), scene.info.W, scene.info.H,
                                        3 * scene.info.W, &bytes);
    FILE *file = file_at(path);
    assert_true(size > 0 && fwrite(bytes, 1, size, file) == size);
    fclose(file);
    WebPFree(bytes);
}

static inline void put_little(FILE *file, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) fputc(i < 8 ? (int)(value >> (8 * i) & 255) : 0, file);
}

static inline void exr_attribute(FILE *file, const char *name, const char *type, int size) {
    fwrite(name, 1, strlen(name) + 1, file);
    fwrite(type, 1, strlen(type) + 1, file);
    put_little(file, (uint64_t)size, 4);
}

static inline void exr_window(FILE *file, const char *name) {
    exr_attribute(file, name, "box2i", 16);
    put_little(file, 0, 8);
    put_little(file, (uint64_t)scene.info.W - 1, 4), put_little(file, (uint64_t)scene.info.H - 1, 4);
}

// One float channel Z without compression: metres.
static inline void write_exr(int f, int v, const char *path) {
    FILE *file = file_at(path);
    const float one = 1;
    size_t W = (size_t)scene.info.W, H = (size_t)scene.info.H, row = 8 + 4 * W;
    put_little(file, 20000630, 4), put_little(file, 2, 4);
    exr_attribute(file, "channels", "chlist", 19);
    fwrite("Z\0\2\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0", 1, 19, file);
    exr_attribute(file, "compression", "compression", 1), fputc(0, file);
    exr_window(file, "dataWindow"), exr_window(file, "displayWindow");
    exr_attribute(file, "lineOrder", "lineOrder", 1), fputc(0, file);
    exr_attribute(file, "pixelAspectRatio", "float", 4), fwrite(&one, 4, 1, file);
    exr_attribute(file, "screenWindowCenter", "v2f", 8), put_little(file, 0, 8);
    exr_attribute(file, "screenWindowWidth", "float", 4), fwrite(&one, 4, 1, file);
    fputc(0, file);
    uint64_t first = (uint64_t)ftell(file) + 8 * H;
    for (size_t y = 0; y < H; y++) put_little(file, first + y * row, 8);
    for (size_t y = 0; y < H; y++) {
        put_little(file, y, 4), put_little(file, 4 * W, 4);
        fwrite(scene.depth + scene_cell(f, v) * H * W + y * W, 4, W, file);
    }
    fclose(file);
}

// A stored float32 array of depth / unit.
static inline void write_npz(int f, int v, const char *path, double unit) {
    Error err = {0};
    char shape[64], *array;
    size_t size, pixels = scene_pixels();
    float *values = malloc(pixels * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < pixels; i++) values[i] = (float)(scene.depth[scene_cell(f, v) * pixels + i] / unit);
    snprintf(shape, sizeof shape, "(%d, %d)", scene.info.H, scene.info.W);
    write_npy(path, "<f4", shape, values, pixels * sizeof *values);
    free(values);
    assert_status_ok(file_read_all(path, (size_t)1 << 28, &array, &size, &err), err);
    FILE *file = file_at(path);
    for (int part = 0; part < 2; part++) { // before the array, and in the directory behind it
        put_little(file, part ? 0x02014b50 : 0x04034b50, 4);
        put_little(file, 20, part ? 4 : 2);
        put_little(file, 0, 8); // flags, method 0, time, date
        put_little(file, crc32_z(0, (unsigned char *)array, size), 4);
        put_little(file, size, 4), put_little(file, size, 4);
        put_little(file, 9, 2);
        put_little(file, 0, part ? 16 : 2);
        fwrite("depth.npy", 1, 9, file);
        if (!part) fwrite(array, 1, size, file);
    }
    put_little(file, 0x06054b50, 4), put_little(file, 0, 4);
    put_little(file, 1, 2), put_little(file, 1, 2);
    put_little(file, 46 + 9, 4), put_little(file, 30 + 9 + size, 4), put_little(file, 0, 2);
    fclose(file);
    free(array);
}

#endif
