// SPDX-License-Identifier: Apache-2.0
// What the tests of importers share: an analytic scene, a folder to write it to in a foreign layout, the import of it,
// and the comparison of what came out with what was seen.
#ifndef VPD_TESTS_IMPORT_SCENE_H
#define VPD_TESTS_IMPORT_SCENE_H

#include "base/file.h"
#include "base/image.h"
#include "datasets/check.h"
#include "datasets/import/import.h"
#include "tests/dataset_scene.h"

#include <sys/stat.h>
#include <tiffio.h>

static char folder[64], source[128], target[128];
static Scene scene;

// source/name, with %d for up to two numbers.
static inline const char *place(const char *name, int a, int b) {
    static char path[512];
    char part[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(part, sizeof part, name, a, b);
#pragma GCC diagnostic pop
    snprintf(path, sizeof path, "%s/%s", source, part);
    return path;
}

static inline void folder_at(const char *name) {
    Error err = {0};
    assert_status_ok(file_make_folders(place(name, 0, 0), &err), err);
}

static inline FILE *file_at(const char *path) {
    Error err = {0};
    assert_status_ok(file_make_parent(path, &err), err);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    return file;
}

static inline FILE *text_at(const char *name) { return file_at(place(name, 0, 0)); }

static inline void replace_text(const char *name, const char *text) {
    FILE *file = text_at(name);
    fputs(text, file);
    fclose(file);
}

static inline void write_numbers(FILE *file, const double *values, int count, int row) {
    for (int i = 0; i < count; i++) fprintf(file, "%.17g%s", values[i], (i + 1) % row ? " " : "\n");
}

// "[[a, b], [c, d]]" with rows of `row` numbers.
static inline void write_json_rows(FILE *file, const double *values, int count, int row) {
    for (int i = 0; i < count; i++)
        fprintf(file, "%s%s%.17g%s", i == 0 ? "[" : "", i % row == 0 ? "[" : "", values[i],
                i + 1 == count       ? "]]"
                : (i + 1) % row == 0 ? "], "
                                     : ", ");
}

static inline size_t scene_pixels(void) { return (size_t)scene.info.H * (size_t)scene.info.W; }
static inline size_t scene_cell(int f, int v) { return (size_t)f * (size_t)scene.info.V + (size_t)v; }
static inline const double *scene_pose(int f, int v) { return episode_pose(&scene.info, f, v); }

static inline void write_colour(int f, int v, const char *path) {
    Error err = {0};
    Image rgb = {scene.info.H, scene.info.W, 3, PIXEL_U8, scene.rgb + 3 * scene_cell(f, v) * scene_pixels()};
    assert_status_ok(file_make_parent(path, &err), err);
    assert_status_ok(image_write_png(&rgb, path, &err), err);
}

typedef uint16_t CodeWord(uint16_t word);
static inline uint16_t plain(uint16_t word) { return word; }

// 16-bit depth in units of `unit` metres, each word passed through `code`.
static inline void write_depth(int f, int v, const char *path, double unit, CodeWord *code) {
    Error err = {0};
    Image words;
    const float *depth = scene.depth + scene_cell(f, v) * scene_pixels();
    assert_status_ok(image_create(scene.info.H, scene.info.W, 1, PIXEL_U16, &words, &err), err);
    for (size_t i = 0; i < scene_pixels(); i++) ((uint16_t *)words.pixels)[i] = code((uint16_t)lrint(depth[i] / unit));
    assert_status_ok(file_make_parent(path, &err), err);
    assert_status_ok(image_write_png(&words, path, &err), err);
    image_free(&words);
}

// A .npy array of any kind: descr as "<f4".
static inline void write_npy(const char *path, const char *descr, const char *shape, const void *data, size_t bytes) {
    FILE *file = file_at(path);
    char header[256];
    int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    while ((10 + length + 1) % 64) header[length++] = ' ';
    header[length++] = '\n';
    fwrite("\x93NUMPY\1\0", 1, 8, file);
    fputc(length & 255, file), fputc(length >> 8, file);
    fwrite(header, 1, (size_t)length, file);
    fwrite(data, 1, bytes, file);
    fclose(file);
}

// float32 TIFF of values[i] = function of depth.
static inline void write_tiff(const char *path, const float *values) {
    Error err = {0};
    uint32_t W = (uint32_t)scene.info.W, H = (uint32_t)scene.info.H;
    assert_status_ok(file_make_parent(path, &err), err);
    TIFF *tiff = TIFFOpen(path, "w");
    assert_non_null(tiff);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, W), TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, H);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 32), TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, H);
    for (uint32_t y = 0; y < H; y++)
        assert_int_equal(TIFFWriteScanline(tiff, (void *)(uintptr_t)(values + y * W), y, 0), 1);
    TIFFClose(tiff);
}

// Length of the ray through pixel i per metre of depth.
static inline double ray_length(const double *K, size_t i) {
    double ray[3];
    camera_unproject(K, (double)(i % (size_t)scene.info.W) + 0.5, (double)(i / (size_t)scene.info.W) + 0.5, 1, ray);
    return sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1);
}

// Quaternion (w first) of the rotation of a pose.
static inline void quaternion_of(const double pose[16], double q[4]) {
    double best = -1;
    // The component with the largest square is found first, the others follow from it.
    const double s[4] = {1 + pose[0] + pose[5] + pose[10], 1 + pose[0] - pose[5] - pose[10],
                         1 - pose[0] + pose[5] - pose[10], 1 - pose[0] - pose[5] + pose[10]};
    int at = 0;
    for (int i = 0; i < 4; i++) {
        if (s[i] > best) best = s[i], at = i;
    }
    double d = 2 * sqrt(best), wx = pose[9] - pose[6], wy = pose[2] - pose[8], wz = pose[4] - pose[1];
    double xy = pose[1] + pose[4], xz = pose[2] + pose[8], yz = pose[6] + pose[9];
    const double table[4][4] = {
        {d * d / 4, wx, wy, wz}, {wx, d * d / 4, xy, xz}, {wy, xy, d * d / 4, yz}, {wz, xz, yz, d * d / 4}};
    for (int i = 0; i < 4; i++) q[i] = table[at][i] / d;
}

static inline void scene_replace(int F, int V, int H, int W, int flags) {
    scene_free(&scene);
    scene = scene_make(F, V, H, W, flags);
    scene_finish(&scene);
}

static inline int set_up(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(source, sizeof source, "%s/recording", folder);
    snprintf(target, sizeof target, "%s/out.h5", folder);
    assert_int_equal(mkdir(source, 0700), 0);
    scene = scene_make(1, 9, 24, 32, 0);
    scene_finish(&scene);
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    scene_free(&scene);
    test_remove_folder(folder);
    return 0;
}

static inline ImportOptions usual(void) { return (ImportOptions){.near = NAN, .far = NAN}; }

static inline Dataset *import_good(ImportOptions options) {
    Error err = {0};
    Dataset *dataset;
    assert_status_ok(dataset_import(source, &options, target, NULL, &err), err);
    assert_status_ok(dataset_open(target, &dataset, &err), err);
    return dataset;
}

// What an import that goes well says: notes and warnings.
static inline void import_messages(ImportOptions options, char *out, size_t size) {
    Error err = {0};
    memset(out, 0, size);
    FILE *file = fmemopen(out, size, "w");
    Log log = {.out = file};
    assert_status_ok(dataset_import(source, &options, target, &log, &err), err);
    fclose(file);
}

static inline void refuse(ImportOptions options, const char *words) {
    Error err = {0};
    FileList left = {0};
    unlink(target); // of an import before
    assert_status_error(dataset_import(source, &options, target, NULL, &err), STATUS_BAD_INPUT, err, words);
    assert_null(strchr(err.text, '\n'));
    assert_status_ok(file_list(folder, &left, &err), err);
    for (size_t i = 0; i < left.count; i++) assert_false(strncmp(left.names[i], "out.h5", 6) == 0);
    file_list_free(&left);
}

// Image i of the result is image order[i] of the scene (NULL: the same): colour exactly, depth within `depth` metres,
// poses and intrinsics within `camera`.
static inline void compare_images(const Dataset *dataset, const int *order, double depth, double camera) {
    Error err = {0};
    Frames frames = {0};
    size_t pixels = scene_pixels(), wrong = 0;
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = info->F}, &frames, &err), err);
    assert_true(frames.H == scene.info.H && frames.W == scene.info.W);
    for (size_t i = 0; i < (size_t)info->F * (size_t)info->V; i++) {
        size_t from = order ? (size_t)order[i] : i;
        const double *pose = scene_pose((int)from / scene.info.V, (int)from % scene.info.V);
        assert_memory_equal(frames.rgb + 3 * i * pixels, scene.rgb + 3 * from * pixels, 3 * pixels);
        for (size_t p = 0; p < pixels; p++)
            wrong += !test_close(frames.depth[i * pixels + p], scene.depth[from * pixels + p], depth, 0);
        for (int k = 0; k < 16; k++) assert_close(frames.world_from_camera[16 * i + (size_t)k], pose[k], camera, 0);
        for (int k = 0; k < 9; k++)
            assert_close(frames.intrinsics[9 * (i % (size_t)info->V) + (size_t)k],
                         scene.K[9 * (from % (size_t)scene.info.V) + (size_t)k], 32 * camera, 0);
    }
    if (wrong) fail_msg("%zu pixels of depth are off by more than %g m", wrong, depth);
    frames_free(&frames);
}

// The result agrees with itself across views: median reprojection error in metres.
static inline double own_error(const Dataset *dataset) {
    Error err = {0};
    CheckReport report;
    assert_status_ok(dataset_check(dataset, NULL, &report, &err), err);
    assert_true(report.all.tested > 500);
    double median = report.all.median;
    check_report_free(&report);
    return median;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
