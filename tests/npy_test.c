// SPDX-License-Identifier: Apache-2.0
// .npy arrays: every kind of number, and headers that lie.
#include "base/image.h"
#include "base/npy.h"
#include "tests/test.h"

// A file in memory: header text padded as numpy does, then `data`.
static size_t make(unsigned char *out, const char *header, const void *data, size_t bytes) {
    size_t length = strlen(header);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (unsigned char)length, out[9] = (unsigned char)(length >> 8);
    memcpy(out + 10, header, length);
    memcpy(out + 10 + length, data, bytes);
    return 10 + length + bytes;
}

static double value(const char *descr, const void *data, size_t width) {
    unsigned char file[256];
    char header[128];
    NpyHeader parsed;
    Error err = {0};
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }\n", descr);
    size_t size = make(file, header, data, width);
    assert_status_ok(npy_parse(file, size, &parsed, &err), err);
    assert_true(parsed.rank == 1 && parsed.count == 1 && parsed.width == (int)width);
    return npy_value(&parsed, file, 0);
}

static void test_kinds(void **state) {
    (void)state;
    int8_t i1 = -3;
    int16_t i2 = -300;
    int32_t i4 = -70000;
    int64_t i8 = -5000000000;
    uint16_t u2 = 65535;
    uint64_t u8 = (uint64_t)1 << 52;
    float f4 = 1.5f;
    double f8 = -1e300;
    uint8_t b1 = 1;
    assert_true(value("|i1", &i1, 1) == -3 && value("<i2", &i2, 2) == -300 && value("<i4", &i4, 4) == -70000);
    assert_true(value("<i8", &i8, 8) == -5e9 && value("<u2", &u2, 2) == 65535 &&
                value("<u8", &u8, 8) == 4503599627370496.0);
    assert_true(value("<f4", &f4, 4) == 1.5 && value("<f8", &f8, 8) == -1e300 && value("|b1", &b1, 1) == 1);
}

static void test_lies(void **state) {
    (void)state;
    static const struct {
        const char *header, *words;
    } cases[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "found Python objects (a pickle)"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "expected little-endian"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", "expected little-endian"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "expected little-endian"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "found Fortran order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "expected 2 numbers of 4 bytes, found 4 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "sides of a .npy array, found (-1"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967297), }", "sides of a .npy array"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615,), }", "found 4 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "at most 8 sides"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "sides of a .npy array"},
        {"{'descr': '<f4', 'fortran_order': False}", "expected the shape"},
        {"{'shape': (1,)}", "expected the type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char file[256];
        NpyHeader header;
        Error err = {0};
        float data = 1;
        size_t size = make(file, cases[i].header, &data, sizeof data);
        assert_status_error(npy_parse(file, size, &header, &err), STATUS_BAD_INPUT, err, cases[i].words);
    }
    unsigned char file[12] = "\x93NUMPY\1\0\xff\xff";
    NpyHeader header;
    Error err = {0};
    for (size_t size = 0; size < sizeof file; size++)
        assert_status_error(npy_parse(file, size, &header, &err), STATUS_BAD_INPUT, err, "damaged header");
}

// As pictures: u16 stays, doubles become float, three channels are colour.
static void test_pictures(void **state) {
    (void)state;
    unsigned char file[256];
    Image image;
    Error err = {0};
    uint16_t depth[2] = {1000, 65535};
    size_t size = make(file, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2), }\n", depth, sizeof depth);
    assert_status_ok(image_decode(file, size, "a", &image, &err), err);
    assert_true(image.H == 1 && image.W == 2 && image.type == PIXEL_U16 && ((uint16_t *)image.pixels)[1] == 65535);
    image_free(&image);
    double metres[2] = {0.25, 3};
    size = make(file, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1, 1), }\n", metres, sizeof metres);
    assert_status_ok(image_decode(file, size, "a", &image, &err), err);
    assert_true(image.H == 2 && image.W == 1 && image.type == PIXEL_F32 && ((float *)image.pixels)[1] == 3);
    image_free(&image);
    size = make(file, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", metres, sizeof metres);
    assert_status_error(image_decode(file, size, "a.npy", &image, &err), STATUS_BAD_INPUT, err,
                        "a.npy: expected an array (H,W)");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_lies),
                                       cmocka_unit_test(test_pictures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
