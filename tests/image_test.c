// SPDX-License-Identifier: Apache-2.0
// Pictures: PNG round trips, every decoder against files that libpng, libjpeg and libtiff made, damaged and hostile
// files, resizing, drawing.
#include "base/draw.h"
#include "base/file.h"
#include "base/image.h"
#include "base/random.h"
#include "tests/test.h"

#include <jpeglib.h>
#include <png.h>
#include <tiffio.h>
#include <zlib.h>

static char folder[64], path[128];

static int set_up(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.bin", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_remove_folder(folder);
    return 0;
}

static Image noise(int H, int W, int channels, PixelType type) {
    Error err = {0};
    Image image;
    assert_status_ok(image_create(H, W, channels, type, &image, &err), err);
    uint8_t *bytes = image.pixels;
    for (int i = 0; i < H * W * channels * (int)type; i++)
        bytes[i] = (uint8_t)random4((RandomKey){5, RANDOM_TEST, 0, 0}, (uint64_t)i).v[0];
    return image;
}

static void test_png_round_trip(void **state) {
    (void)state;
    Error err = {0};
    for (int channels = 1; channels <= 4; channels++) {
        for (int type = 1; type <= 2; type++) {
            Image image = noise(5, 7, channels, (PixelType)type), back;
            assert_status_ok(image_write_png(&image, path, &err), err);
            assert_status_ok(image_read(path, &back, &err), err);
            assert_int_equal(back.H, 5);
            assert_int_equal(back.W, 7);
            assert_int_equal(back.channels, channels);
            assert_int_equal(back.type, type);
            assert_memory_equal(back.pixels, image.pixels, (size_t)(5 * 7 * channels * type));
            image_free(&image);
            image_free(&back);
        }
    }
}

// Palette, one bit and interlaced files, written by libpng itself.
static void write_png(int depth, int colour, bool interlaced) {
    FILE *file = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_color palette[2] = {{10, 20, 30}, {200, 100, 50}};
    png_byte row[1] = {0xA0}; // 1 0 1 in one bit a pixel
    png_bytep rows[2] = {row, row};
    png_init_io(png, file);
    png_set_IHDR(png, info, 3, 2, depth, colour, interlaced, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (colour == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 2);
    png_write_info(png, info);
    png_write_image(png, rows);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

static void test_png_kinds(void **state) {
    (void)state;
    Error err = {0};
    Image image;
    for (int interlaced = 0; interlaced <= 1; interlaced++) {
        write_png(1, PNG_COLOR_TYPE_PALETTE, interlaced);
        assert_status_ok(image_read(path, &image, &err), err);
        assert_int_equal(image.channels, 3);
        assert_memory_equal(image.pixels, "\xc8\x64\x32\x0a\x14\x1e\xc8\x64\x32", 9);
        image_free(&image);
        write_png(1, PNG_COLOR_TYPE_GRAY, interlaced);
        assert_status_ok(image_read(path, &image, &err), err);
        assert_int_equal(image.channels, 1);
        assert_memory_equal(image.pixels, "\xff\x00\xff\xff\x00\xff", 6);
        image_free(&image);
    }
}

static void write_jpeg(void) {
    FILE *file = fopen(path, "wb");
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    JSAMPLE row[3 * 32];
    JSAMPROW rows[1] = {row};
    for (int i = 0; i < 32; i++) row[3 * i] = 200, row[3 * i + 1] = 100, row[3 * i + 2] = 50;
    jpeg.err = jpeg_std_error(&manager);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = 32, jpeg.image_height = 24, jpeg.input_components = 3, jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < 24) jpeg_write_scanlines(&jpeg, rows, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(file);
}

static void test_jpeg(void **state) {
    (void)state;
    Error err = {0};
    Image image;
    write_jpeg();
    assert_status_ok(image_read(path, &image, &err), err);
    assert_true(image.H == 24 && image.W == 32 && image.channels == 3 && image.type == PIXEL_U8);
    const uint8_t *pixels = image.pixels;
    assert_true(abs(pixels[0] - 200) < 4 && abs(pixels[1] - 100) < 4 && abs(pixels[2] - 50) < 4); // lossy
    image_free(&image);
    int H = 0, W = 0;
    assert_int_equal(truncate(path, 300), 0); // the size stands before the pixels
    assert_status_ok(image_read_size(path, &H, &W, &err), err);
    assert_true(H == 24 && W == 32);
    assert_int_equal(truncate(path, 30), 0);
    assert_int_equal(image_read_size(path, &H, &W, &err), STATUS_BAD_INPUT);
}

static void write_tiff(int format, int bits, int compression, const void *row) {
    TIFF *tiff = TIFFOpen(path, "w");
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 4);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 3);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, format);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 2);
    for (uint32_t y = 0; y < 3; y++) TIFFWriteScanline(tiff, (void *)(uintptr_t)row, y, 0);
    TIFFClose(tiff);
}

static void test_tiff(void **state) {
    (void)state;
    Error err = {0};
    Image image;
    const float metres[4] = {0.5f, 1.25f, 0, 7};
    const uint16_t units[4] = {1, 2, 40000, 65535};
    const int compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS};
    for (size_t i = 0; i < 4; i++) {
        write_tiff(SAMPLEFORMAT_IEEEFP, 32, compressions[i], metres);
        assert_status_ok(image_read(path, &image, &err), err);
        assert_true(image.H == 3 && image.W == 4 && image.channels == 1 && image.type == PIXEL_F32);
        assert_memory_equal((const float *)image.pixels + 8, metres, sizeof metres);
        image_free(&image);
        write_tiff(SAMPLEFORMAT_UINT, 16, compressions[i], units);
        assert_status_ok(image_read(path, &image, &err), err);
        assert_true(image.type == PIXEL_U16);
        assert_memory_equal((const uint16_t *)image.pixels + 4, units, sizeof units);
        image_free(&image);
    }
    write_tiff(SAMPLEFORMAT_INT, 16, COMPRESSION_NONE, units);
    assert_status_error(image_read(path, &image, &err), STATUS_BAD_INPUT, err, "expected a TIFF in strips");
}

static void put_bytes(const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

// Gives a PNG another width and height, four bytes each.
static void claim_size(unsigned char *png, const char *width_and_height) {
    memcpy(png + 16, width_and_height, 8);
    uint32_t crc = (uint32_t)crc32(0, png + 12, 17);
    for (int i = 0; i < 4; i++) png[29 + i] = (unsigned char)(crc >> (24 - 8 * i));
}

static void test_foreign(void **state) {
    (void)state;
    Error err = {0};
    Image image;
    assert_status_error(image_read("/nonexistent.png", &image, &err), STATUS_BAD_INPUT, err, "/nonexistent.png");
    assert_status_error(image_read(folder, &image, &err), STATUS_BAD_INPUT, err, folder);
    put_bytes("GIF89a", 6);
    assert_status_error(image_read(path, &image, &err), STATUS_BAD_INPUT, err,
                        "a.bin: expected a PNG, JPEG, TIFF, WebP or EXR");
    // A PNG header that claims 16384 x 4096 pixels and holds none of them.
    unsigned char *bytes;
    size_t size;
    Image small = noise(4, 4, 1, PIXEL_U8);
    assert_status_ok(image_encode_png(&small, &bytes, &size, &err), err);
    claim_size(bytes, "\0\0\x40\0\0\0\x10\0");
    assert_status_error(image_decode(bytes, size, "claim.png", &image, &err), STATUS_BAD_INPUT, err, "more than its");
    // One of 20000 x 64 is too large, and not damaged.
    claim_size(bytes, "\0\0\x4e\x20\0\0\0\x40");
    assert_status_error(image_decode(bytes, size, "wide.png", &image, &err), STATUS_BAD_INPUT, err,
                        "wide.png: expected a picture with sides of 1 to 16384 and at most 67108864 pixels, found "
                        "20000 x 64; make it smaller");
    put_bytes(bytes, size);
    int H, W;
    assert_status_error(image_read_size(path, &H, &W, &err), STATUS_BAD_INPUT, err, "found 20000 x 64");
    free(bytes);
    image_free(&small);
    assert_null(image.pixels);
}

static void refuse_bytes(const unsigned char *bytes, size_t size, const char *name, const char *words) {
    Error err = {0};
    Image image;
    assert_status_error(image_decode(bytes, size, name, &image, &err), STATUS_BAD_INPUT, err, words);
    assert_null(image.pixels);
}

// Small files that claim 16000 x 4000 pixels: refused before any memory is asked for.
static void test_enormous(void **state) {
    (void)state;
    static const unsigned char SIZE[5] = {8, 4000 >> 8, 4000 & 255, 16000 >> 8, 16000 & 255}; // bits, height, width
    unsigned char bytes[4096];
    size_t size, at = 2;
    write_jpeg();
    FILE *file = fopen(path, "rb");
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    while (bytes[at + 1] != 0xc0) at += 2 + ((size_t)bytes[at + 2] << 8 | bytes[at + 3]); // the frame's segment
    memcpy(bytes + at + 4, SIZE, sizeof SIZE);
    refuse_bytes(bytes, size, "claim.jpg", "declares 16000 x 4000 pixels, more than its");

    TIFF *tiff = TIFFOpen(path, "w");
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 16000), TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 4000);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8), TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 4000), TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFWriteRawStrip(tiff, 0, bytes, 8);
    TIFFClose(tiff);
    file = fopen(path, "rb");
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    refuse_bytes(bytes, size, "claim.tif", "declares 16000 x 4000 pixels");

    refuse_bytes((const unsigned char *)"16000&4000&1&abcd", 17, "claim.bin", "expected 16000 x 4000 floats");
}

// Every cut and many flips end with a picture or a sentence; a cut never passes for whole.
static void batter(const char *name) {
    Error err = {0};
    Image image;
    FILE *file = fopen(path, "rb");
    unsigned char whole[20000], bytes[20000];
    size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (size_t cut = 0; cut < size - 16; cut += 7)
        assert_int_equal(image_decode(whole, cut, name, &image, &err), STATUS_BAD_INPUT);
    for (uint64_t i = 0; i < 2000; i++) {
        Random4 r = random4((RandomKey){9, RANDOM_TEST, 0, 0}, i);
        memcpy(bytes, whole, size);
        for (uint32_t n = 0; n <= r.v[0] % 3; n++)
            bytes[(r.v[1] + n * 977) % size] ^= (unsigned char)(1 + r.v[2] % 255);
        Status status = image_decode(bytes, size, name, &image, &err);
        assert_true(status == STATUS_OK || (err.text[0] && !image.pixels));
        image_free(&image);
    }
}

static void test_damaged(void **state) {
    (void)state;
    Error err = {0};
    Image image = noise(9, 11, 3, PIXEL_U16);
    const float row[4] = {1, 2, 3, 4};
    assert_status_ok(image_write_png(&image, path, &err), err);
    batter("a.png");
    write_jpeg();
    batter("a.jpg");
    write_tiff(SAMPLEFORMAT_IEEEFP, 32, COMPRESSION_LZW, row);
    batter("a.tif");
    image_free(&image);
}

static void test_to_rgb8(void **state) {
    (void)state;
    Error err = {0};
    uint16_t grey[2] = {0, 65535};
    Image image = {1, 2, 1, PIXEL_U16, grey}, rgb;
    assert_status_ok(image_to_rgb8(&image, &rgb, &err), err);
    assert_memory_equal(rgb.pixels, "\0\0\0\xff\xff\xff", 6);
    image_free(&rgb);
    uint8_t rgba[4] = {1, 2, 3, 200};
    image = (Image){1, 1, 4, PIXEL_U8, rgba};
    assert_status_ok(image_to_rgb8(&image, &rgb, &err), err);
    assert_memory_equal(rgb.pixels, "\1\2\3", 3);
    image_free(&rgb);
    image.type = PIXEL_F32;
    assert_status_error(image_to_rgb8(&image, &rgb, &err), STATUS_BAD_INPUT, err, "32-bit floats");
}

static void test_resize(void **state) {
    (void)state;
    Error err = {0};
    uint8_t ramp[8] = {0, 10, 20, 30, 40, 50, 60, 70};
    Image image = {1, 8, 1, PIXEL_U8, ramp}, out;
    assert_status_ok(image_resize(&image, 1, 4, &out, &err), err);
    assert_memory_equal(out.pixels, "\5\x19\x2d\x41", 4); // means of pairs
    image_free(&out);
    assert_status_ok(image_resize(&image, 1, 3, &out, &err), err);
    // 8/3 pixels each: (0 + 10 + 2/3 20) / (8/3) = 8.75 and so on, symmetric around 35
    assert_memory_equal(out.pixels, "\x09\x23\x3d", 3);
    image_free(&out);
    assert_status_ok(image_resize(&image, 2, 16, &out, &err), err);
    const uint8_t *wide = out.pixels;
    assert_true(wide[0] == 0 && wide[1] == 3 && wide[2] == 8 && wide[15] == 70 &&
                wide[16] == 0); // quarters between centres
    image_free(&out);
}

static void test_resize_depth(void **state) {
    (void)state;
    Error err = {0};
    uint16_t step[16] = {100, 100, 900, 900, 100, 0, 900, 0, 0, 0, 500, 500, 0, 7, 500, 900};
    Image image = {4, 4, 1, PIXEL_U16, step}, out;
    assert_status_ok(image_resize_depth(&image, 2, 2, &out, &err), err);
    const uint16_t *half = out.pixels;
    assert_true(half[0] == 100 && half[1] == 900); // never 500, which lies on neither side of the step
    assert_true(half[2] == 0 && half[3] == 500);   // one valid of four is too few
    image_free(&out);
    assert_status_ok(image_resize_depth(&image, 8, 8, &out, &err), err);
    const uint16_t *twice = out.pixels;
    assert_true(twice[0] == 100 && twice[1] == 100 && twice[3] == 100 && twice[4] == 900);
    image_free(&out);
}

// A plane seen at a slant, whose neighbouring pixels differ by 10 to 25 % of depth, beside a wall.
static void test_resize_steep_depth(void **state) {
    (void)state;
    Error err = {0};
    float row[8] = {1 / 1.0F, 1 / 0.9F, 1 / 0.8F, 1 / 0.7F, 1 / 0.6F, 1 / 0.5F, 0.3F, 0.3F};
    Image image = {1, 8, 1, PIXEL_F32, row}, out;
    assert_status_ok(image_resize_depth(&image, 1, 16, &out, &err), err);
    const float *twice = out.pixels;
    for (int x = 0; x < 11; x++) assert_close(1 / twice[x], 1 - 0.1 * (0.5 * x - 0.25), 1e-6, 0); // also at the border
    assert_true(twice[11] == row[5] && twice[12] == row[6]); // never between plane and wall
    image_free(&out);
    assert_status_ok(image_resize_depth(&image, 1, 5, &out, &err), err); // 1.6 pixels become one
    for (int x = 0; x < 3; x++) assert_close(1 / ((float *)out.pixels)[x], 1 - 0.1 * (1.6 * (x + 0.5) - 0.5), 1e-6, 0);
    image_free(&out);
}

// Files that OpenEXR 3.5, libwebp (by Pillow 13) and NumPy 2.4 made: depth 1 + x/4 + y/2, colour (20 x, 10 y, 255 - x -
// y), light (x/16, y/32, 1.5), 12 x 20 pixels.
static Image made_elsewhere(const char *name, int channels, PixelType type) {
    char file[128];
    Error err = {0};
    Image image;
    int H, W;
    snprintf(file, sizeof file, "tests/fuzz/corpus/image/%s", name);
    assert_status_ok(image_read(file, &image, &err), err);
    assert_true(image.H == 20 && image.W == 12 && image.channels == channels && image.type == type);
    assert_status_ok(image_read_size(file, &H, &W, &err), err);
    assert_true(H == 20 && W == 12);
    return image;
}

static void refuse_file(const char *name, const char *words) {
    char file[128];
    Error err = {0};
    Image image;
    snprintf(file, sizeof file, "tests/fuzz/corpus/image/%s", name);
    assert_status_error(image_read(file, &image, &err), STATUS_BAD_INPUT, err, words);
    assert_null(image.pixels);
}

static void test_exr_and_npz(void **state) {
    (void)state;
    static const struct {
        const char *name;
        PixelType type;
        double unit;
    } DEPTH[] = {{"depth_zip.exr", PIXEL_F32, 1},
                 {"half_zips.exr", PIXEL_F32, 1},
                 {"u32_none.exr", PIXEL_F32, 1000},
                 {"stored.npz", PIXEL_F32, 1},
                 {"deflated.npz", PIXEL_U16, 1000}};
    for (size_t i = 0; i < sizeof DEPTH / sizeof *DEPTH; i++) {
        Image image = made_elsewhere(DEPTH[i].name, 1, DEPTH[i].type);
        for (int p = 0; p < 240; p++) {
            double z = image.type == PIXEL_F32 ? ((float *)image.pixels)[p] : ((uint16_t *)image.pixels)[p];
            assert_close(z, DEPTH[i].unit * (1 + 0.25 * (p % 12) + 0.5 * (p / 12)), 1e-6, 0); // exact in half floats
        }
        image_free(&image);
    }
    Image light = made_elsewhere("rgb_rle.exr", 3, PIXEL_U8);
    const uint8_t *rgb = light.pixels;
    assert_true(rgb[0] == 0 && rgb[2] == 255);                // black; beyond white
    assert_int_equal(rgb[3 * 8], 188);                        // half of the light in sRGB
    assert_int_equal(rgb[3 * (16 * 12 + 8) + 1], 188);        // and along y
    assert_true(rgb[3 * 4] == 137 && rgb[3 * (8 * 12)] == 0); // a quarter
    image_free(&light);
    refuse_file("depth_piz.exr", "found number 4; save it with ZIP");
    refuse_file("two.npz", "expected one array in a .npz archive, found 2");
}

static void test_webp(void **state) {
    (void)state;
    static const char *const NAMES[3] = {"lossless.webp", "alpha.webp", "lossy.webp"};
    for (int i = 0; i < 3; i++) {
        Image image = made_elsewhere(NAMES[i], i == 1 ? 4 : 3, PIXEL_U8);
        size_t channels = (size_t)image.channels;
        for (size_t p = 0; p < 240; p++) {
            const uint8_t *at = (uint8_t *)image.pixels + channels * p;
            const double want[3] = {20.0 * (double)(p % 12), 10.0 * (double)(p / 12),
                                    255.0 - (double)(p % 12 + p / 12)};
            for (int c = 0; c < 3; c++) assert_close(at[c], want[c], i == 2 ? 24 : 0, 0); // colour at half resolution
            if (i == 1) assert_int_equal(at[3], p % 12 > 3 ? 255 : 0);
        }
        image_free(&image);
    }
    refuse_file("animation.webp", "expected a WebP picture, found an animation");
}

// Every cut of each of these files is refused, or gives a picture of the promised size; and so do changed bytes.
static void test_new_formats_damaged(void **state) {
    (void)state;
    static const char *const NAMES[] = {"depth_zip.exr", "half_zips.exr", "rgb_rle.exr", "u32_none.exr",
                                        "lossless.webp", "lossy.webp",    "stored.npz",  "deflated.npz"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char file[128], *bytes;
        size_t size;
        Error err = {0};
        snprintf(file, sizeof file, "tests/fuzz/corpus/image/%s", NAMES[i]);
        assert_status_ok(file_read_all(file, 1 << 20, &bytes, &size, &err), err);
        for (size_t cut = 0; cut < 2 * size; cut++) {
            Image image;
            size_t kept = cut < size ? cut : size;
            char *copy = malloc(kept + 1); // of its own size, so that a sanitizer sees what reads on
            assert_non_null(copy);
            memcpy(copy, bytes, kept);
            if (cut >= size) copy[cut - size] = (char)(copy[cut - size] ^ (1 << cut % 8));
            Status status = image_decode(copy, kept, "cut", &image, &err);
            assert_true(status ? !image.pixels && err.text[0] : image.H > 0 && image.W > 0);
            assert_true(status == STATUS_OK || cut >= size || !image.pixels);
            image_free(&image);
            free(copy);
        }
        free(bytes);
    }
}

static void test_draw(void **state) {
    (void)state;
    Error err = {0};
    Canvas canvas;
    const Colour red = {255, 0, 0}, green = {0, 255, 0};
    assert_status_ok(canvas_create(20, 30, (Colour){0, 0, 0}, &canvas, &err), err);
    draw_point(&canvas, 10, 10, 2, 1, red);
    draw_point(&canvas, 10, 10, 3, 1, green); // behind
    assert_int_equal(canvas.rgb[3 * (10 * 30 + 10)], 255);
    draw_point(&canvas, -5, NAN, 1, 3, red); // outside and nowhere
    draw_line(&canvas, (double[]){-1e6, 5, 0}, (double[]){1e6, 5, 0}, 1, green);
    assert_int_equal(canvas.rgb[3 * (5 * 30) + 1], 255);
    assert_int_equal(canvas.rgb[3 * (5 * 30 + 29) + 1], 255);
    draw_line(&canvas, (double[]){NAN, 0, 0}, (double[]){INFINITY, 3, 0}, 1, green);
    draw_rectangle(&canvas, 25, 15, 100, 100, red);
    assert_int_equal(canvas.rgb[3 * (19 * 30 + 29)], 255);
    assert_int_equal(draw_text(&canvas, 2, 2, 1, red, "A\x80"), 2 + 2 * DRAW_FONT_W);
    assert_status_ok(canvas_write_png(&canvas, path, &err), err);
    canvas_free(&canvas);
    assert_status_error(canvas_create(0, 5, red, &canvas, &err), STATUS_BAD_INPUT, err, "sides of 1");
}

// The decoder's tests compare bytes: one that differs must show.
static void test_planted_error(void **state) {
    (void)state;
    Error err = {0};
    Image image = noise(5, 7, 3, PIXEL_U8), back;
    assert_status_ok(image_write_png(&image, path, &err), err);
    ((uint8_t *)image.pixels)[50] ^= 1;
    assert_status_ok(image_read(path, &back, &err), err);
    assert_memory_not_equal(back.pixels, image.pixels, 5 * 7 * 3);
    image_free(&image);
    image_free(&back);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_png_round_trip), TEST(test_png_kinds),
        TEST(test_jpeg),           TEST(test_tiff),
        TEST(test_foreign),        TEST(test_exr_and_npz),
        TEST(test_webp),           TEST(test_new_formats_damaged),
        TEST(test_enormous),       TEST(test_damaged),
        TEST(test_to_rgb8),        TEST(test_resize),
        TEST(test_resize_depth),   TEST(test_resize_steep_depth),
        TEST(test_draw),           TEST(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
