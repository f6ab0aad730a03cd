// SPDX-License-Identifier: Apache-2.0
// One plane and one ball through every format that "data import" knows and through several sizes: depth is held
// against the analytic surfaces, and "data check" must pass what came out.
#include "base/sort.h"
#include "datasets/convert.h"
#include "tests/import_codecs.h"
#include "tests/import_layouts.h"

enum { SCENE_H = 120, SCENE_W = 160 };
// What resampling may cost away from edges. Pixels of the scene are 12 mm wide on the ball, which linear interpolation
// in 1/z flattens by 0.06 mm in its middle; 16-bit depth adds 0.05 mm twice.
static const double MEDIAN_MAX = 0.2e-3, P99_MAX = 1e-3;

typedef struct Size {
    const char *name;
    int W, H;    // 0: as recorded
    int crop[4]; // of "data convert" before the size; width 0: "data import --size"
    int depth;   // depth pictures are so many times smaller than colour
} Size;

static const Size SIZES[] = {
    {"as recorded", 0, 0, {0}, 1},
    {"twice as large", 2 * SCENE_W, 2 * SCENE_H, {0}, 1},
    {"half as large", SCENE_W / 2, SCENE_H / 2, {0}, 1},
    {"odd", 139, 107, {0}, 1},
    {"another aspect", 130, 130, {0}, 1},
    {"depth half as large as colour", 0, 0, {0}, 2},
    {"cropped, another aspect", 100, 100, {25, 7, 112, 112}, 1},
    {"cropped, larger", 171, 169, {25, 7, 112, 111}, 1},
};

// Does another surface than that of (x, y) lie within `radius` pixels?
static bool near_edge(const uint16_t *surface, int H, int W, int x, int y, int radius) {
    for (int j = y - radius; j <= y + radius; j++) {
        for (int i = x - radius; i <= x + radius; i++) {
            if (i < 0 || j < 0 || i >= W || j >= H) continue;
            if (surface[j * W + i] != surface[y * W + x]) return true;
        }
    }
    return false;
}

typedef struct Errors {
    double *values;
    size_t count, missing;
} Errors;

// Depth of one picture against the surfaces that its own camera sees.
static void add_errors(const Frames *frames, size_t cell, const double *ball, Errors *out) {
    size_t pixels = (size_t)frames->H * (size_t)frames->W;
    const double *K = frames->intrinsics + 9 * (cell % (size_t)frames->V),
                 *pose = frames->world_from_camera + 16 * cell;
    uint16_t *surface = calloc(pixels, sizeof *surface); // 0 nothing, 1 plane, 2 ball
    float *exact = calloc(pixels, sizeof *exact);
    assert_true(surface && exact);
    for (size_t i = 0; i < pixels; i++) {
        uint8_t rgb[3];
        scene_shade(K, pose, ball, (int)i % frames->W, (int)i / frames->W, rgb, exact + i, surface + i);
        surface[i] = surface[i] ? 2 : exact[i] > 0;
    }
    // Three pixels of the coarsest pictures that this one is made of, and of its own.
    int radius = 1 + (int)ceil(3 * fmax(1, 2 * K[0] / scene.K[0]));
    for (size_t i = 0; i < pixels; i++) {
        if (!surface[i] || near_edge(surface, frames->H, frames->W, (int)i % frames->W, (int)i / frames->W, radius))
            continue;
        double depth = frames->depth[cell * pixels + i];
        if (depth > 0) out->values[out->count++] = fabs(depth - exact[i]);
        else out->missing++;
    }
    free(surface);
    free(exact);
}

static void check_surface(const Dataset *dataset, const char *format, const Size *size) {
    Error err = {0};
    Frames frames = {0};
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = info->F}, &frames, &err), err);
    size_t cells = (size_t)info->F * (size_t)info->V, pixels = (size_t)info->H * (size_t)info->W;
    Errors errors = {.values = malloc(cells * pixels * sizeof(double))};
    assert_non_null(errors.values);
    for (size_t c = 0; c < cells; c++) add_errors(&frames, c, scene.position + 3 * (c / (size_t)info->V), &errors);
    assert_true(errors.count > cells * pixels / 4);
    sort_doubles(errors.values, errors.count);
    double median = errors.values[errors.count / 2], p99 = errors.values[errors.count * 99 / 100];
    printf("%-11s %-30s median %.3f mm, p99 %.3f mm\n", format, size->name, 1e3 * median, 1e3 * p99);
    if (!(median <= MEDIAN_MAX && p99 <= P99_MAX) || errors.missing)
        fail_msg("%s, %s: median %.3f mm, p99 %.3f mm, %zu pixels without depth", format, size->name, 1e3 * median,
                 1e3 * p99, errors.missing);
    free(errors.values);
    frames_free(&frames);
}

static void check_passes(const Dataset *dataset, const char *format, const Size *size) {
    Error err = {0};
    CheckReport report;
    assert_status_ok(dataset_check(dataset, NULL, &report, &err), err);
    if (check_report_fails(&report) || report.all.tested < 1000)
        fail_msg("%s, %s: \"data check\" finds %.3f mm in %zu points", format, size->name, 1e3 * report.all.median,
                 report.all.tested);
    check_report_free(&report);
}

// "data convert --crop --size" of what was imported, in place of it.
static Dataset *cropped(Dataset *dataset, const Size *size) {
    Error err = {0};
    char path[256];
    ConvertOptions options = {.episodes = {-1, -1, -1}, .H = size->H, .W = size->W};
    memcpy(options.crop, size->crop, sizeof options.crop);
    snprintf(path, sizeof path, "%s/cropped.h5", folder);
    assert_status_ok(dataset_convert(&dataset, 1, &options, path, NULL, &err), err);
    dataset_close(dataset);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    return dataset;
}

static void check_size(const Layout *layout, const Size *size) {
    ImportOptions options = usual();
    options.format = layout->format;
    options.fps = 10;
    options.level = 1;
    if (strcmp(layout->format, "kubric") != 0 && strcmp(layout->format, "colmap") != 0)
        options.depth_unit = LAYOUT_UNIT; // the others write whole numbers
    if (strcmp(layout->format, "tum") == 0) {
        double K[9];
        layout_lens(K);
        memcpy(options.intrinsics, (double[]){K[0], K[4], K[2], K[5]}, 4 * sizeof *K);
        options.has_intrinsics = true;
    }
    if (!size->crop[2]) options.H = size->H, options.W = size->W;
    Dataset *dataset = import_good(options);
    if (size->crop[2]) dataset = cropped(dataset, size);
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_int_equal(info->W, size->W ? size->W : SCENE_W);
    assert_int_equal(info->V, scene.info.V);
    check_surface(dataset, layout->format, size);
    check_passes(dataset, layout->format, size);
    dataset_close(dataset);
}

static void clear_source(void) {
    char path[100];
    snprintf(path, sizeof path, "%.60s/recording", folder);
    test_remove_folder(path);
    assert_int_equal(mkdir(source, 0700), 0);
}

#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 4 }; // sizes: each format in two of them, a minute less
#else
enum { EVERY = 1 };
#endif

static void test_every_format_and_size(void **state) {
    (void)state;
    scene_replace(2, 3, SCENE_H, SCENE_W, 0);
    layout_depth = scene_make(2, 3, SCENE_H / 2, SCENE_W / 2, 0);
    scene_finish(&layout_depth);
    for (size_t i = 0; i < LAYOUT_COUNT; i++) {
        int written = 0; // depth of the recording
        for (size_t s = i % EVERY; s < sizeof SIZES / sizeof *SIZES; s += EVERY) {
            if (SIZES[s].depth != written) {
                written = SIZES[s].depth;
                layout_has_depth = written == 2;
                clear_source();
                LAYOUTS[i].write();
            }
            check_size(&LAYOUTS[i], &SIZES[s]);
        }
    }
    layout_has_depth = false;
    scene_free(&layout_depth);
}

// The same in WebP, with depth in OpenEXR (metres, whatever the layout's unit) and in .npz (millimetres).
static void test_other_picture_formats(void **state) {
    (void)state;
    static const Size SAME = {"WebP, EXR and npz", 0, 0, {0}, 1};
    scene_replace(1, 3, SCENE_H, SCENE_W, 0);
    double K[9];
    FILE *log = text_at("odometry.log"), *lens = text_at("camera_intrinsic.json");
    layout_lens(K);
    fprintf(lens, "{\"intrinsic_matrix\": [%.17g, 0, 0, 0, %.17g, 0, %.17g, %.17g, 1]}", K[0], K[4], K[2], K[5]);
    for (int v = 0; v < 3; v++) {
        write_webp(0, v, place("color/%06d.webp", v, 0));
        if (v == 1) write_npz(0, v, place("depth/%06d.npz", v, 0), 0.001);
        else write_exr(0, v, place("depth/%06d.exr", v, 0));
        fprintf(log, "%d %d %d\n", v, v, v + 1);
        write_numbers(log, scene_pose(0, v), 16, 4);
    }
    fclose(log), fclose(lens);
    Dataset *dataset = import_good(usual());
    compare_images(dataset, NULL, 1e-6, 1e-9);
    check_surface(dataset, "open3d", &SAME);
    check_passes(dataset, "open3d", &SAME);
    dataset_close(dataset);
}

// A format that nobody added here is not proven.
static void test_no_format_is_missing(void **state) {
    (void)state;
    for (size_t i = 0; importers[i]; i++) {
        size_t at = 0;
        while (at < LAYOUT_COUNT && strcmp(LAYOUTS[at].format, importers[i]->name) != 0) at++;
        if (at == LAYOUT_COUNT) fail_msg("\"%s\" has no layout in tests/import_layouts.h", importers[i]->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_no_format_is_missing), TEST(test_every_format_and_size),
                                       TEST(test_other_picture_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
