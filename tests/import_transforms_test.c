// SPDX-License-Identifier: Apache-2.0
// nerfstudio's and instant-ngp's transforms.json, with its traps: OpenGL axes, millimetres, distortion, units, times.
#include "base/lens.h"
#include "tests/import_scene.h"

static const char *const GLOBAL = "\"w\": 32, \"h\": 24, \"fl_x\": %.17g, \"fl_y\": %.17g, \"cx\": 16, \"cy\": 12";

static FILE *json_begin(const char *extra) {
    FILE *file = text_at("transforms.json");
    fprintf(file, "{%s%s\"frames\": [", extra, *extra ? ", " : "");
    return file;
}

static void json_global(char out[512], const char *more) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int used = snprintf(out, 512, GLOBAL, scene.K[0], scene.K[4]);
#pragma GCC diagnostic pop
    snprintf(out + used, 512 - (size_t)used, "%s", more);
}

// One frame; `more` as "\"time\": 0.5, ". Depth under `depth`, "" for none.
static void json_frame(FILE *file, bool first, const double *pose, const char *colour, const char *depth,
                       const char *more) {
    double gl[16];
    pose_flip_opengl(pose, gl);
    fprintf(file, "%s{%s\"file_path\": \"%s\", ", first ? "" : ",\n", more, colour);
    if (*depth) fprintf(file, "\"depth_file_path\": \"%s\", ", depth);
    fprintf(file, "\"transform_matrix\": ");
    write_json_rows(file, gl, 16, 4);
    fprintf(file, "}");
}

static void json_end(FILE *file) {
    fprintf(file, "]}\n");
    fclose(file);
}

static void test_millimetres_and_axes(void **state) {
    (void)state;
    char extra[512];
    json_global(extra, "");
    FILE *file = json_begin(extra);
    for (int v = 0; v < 9; v++) {
        char colour[64], depth[64];
        snprintf(colour, sizeof colour, "images/%d.png", v);
        snprintf(depth, sizeof depth, "depth/%d.png", v);
        write_colour(0, v, place(colour, 0, 0));
        write_depth(0, v, place(depth, 0, 0), 0.001, plain);
        json_frame(file, v == 0, scene_pose(0, v), colour, depth, "");
    }
    json_end(file);
    Dataset *dataset = import_good(usual());
    assert_true(dataset_episode(dataset, 0)->V == 9 && dataset_episode(dataset, 0)->F == 1);
    assert_true(dataset_episode(dataset, 0)->depth_is_u16);
    compare_images(dataset, NULL, 0.00051, 1e-12);
    dataset_close(dataset);
}

// camera_angle_x alone (Blender), names without an ending, float32 .npy in the unit that the file names, one picture
// without depth.
static void test_angle_npy_and_units(void **state) {
    (void)state;
    FILE *file = json_begin("\"camera_angle_x\": 1.0, \"depth_unit_scale_factor\": 0.01");
    for (int v = 0; v < 9; v++) {
        char colour[64], depth[64];
        float values[24 * 32];
        for (int i = 0; i < 24 * 32; i++) values[i] = 100 * scene.depth[v * 24 * 32 + i];
        if (v == 0) values[0] = NAN, scene.depth[0] = 0;
        snprintf(colour, sizeof colour, "./train/r_%d", v);
        snprintf(depth, sizeof depth, "train/d_%d.npy", v);
        write_colour(0, v, place("train/r_%d.png", v, 0));
        write_npy(place(depth, 0, 0), "<f4", "(24, 32)", values, sizeof values);
        json_frame(file, v == 0, scene_pose(0, v), colour, depth, "");
    }
    json_frame(file, false, scene_pose(0, 0), "train/r_0.png", "", "");
    json_end(file);
    Dataset *dataset = import_good(usual());
    assert_int_equal(dataset_episode(dataset, 0)->V, 9);
    assert_false(dataset_episode(dataset, 0)->depth_is_u16);
    compare_images(dataset, NULL, 1e-6, 1e-12);
    dataset_close(dataset);
}

// `times`: what each of two pictures of two cameras has for its time.
static void write_four(const char *const times[4]) {
    char extra[512];
    scene_replace(2, 2, 24, 32, SCENE_MOVING);
    json_global(extra, "");
    FILE *file = json_begin(extra);
    for (int i = 0; i < 4; i++) {
        char colour[64], depth[64], more[96];
        snprintf(colour, sizeof colour, "images/%d.png", i);
        snprintf(depth, sizeof depth, "depth/%d.png", i);
        snprintf(more, sizeof more, "%s\"camera_id\": %d, ", times[i], i % 2);
        write_colour(i / 2, i % 2, place(colour, 0, 0));
        write_depth(i / 2, i % 2, place(depth, 0, 0), 0.001, plain);
        json_frame(file, i == 0, scene_pose(i / 2, i % 2), colour, depth, more);
    }
    json_end(file);
}

static void test_without_time(void **state) {
    (void)state;
    char said[4096];
    write_four((const char *[]){"", "", "", ""});
    import_messages(usual(), said, sizeof said);
    assert_non_null(strstr(said, "warning: "));
    assert_non_null(strstr(said, "4 pictures of 2 cameras (camera_id) have no \"time\", so they are 4 views of one"));
    const char *stamp = "\"timestamp\": 0.5, ";
    write_four((const char *[]){stamp, stamp, stamp, stamp});
    import_messages(usual(), said, sizeof said);
    assert_non_null(strstr(said, "its frames have \"timestamp\" and no \"time\", so the 4 pictures are views of one"));
    assert_null(strstr(said, "(camera_id)"));
}

// The second moment of the one camera lies far from any of the other.
static void test_moment_left_out(void **state) {
    (void)state;
    char said[4096];
    ImportLeftOut left_out = {0};
    ImportOptions options = usual();
    options.left_out = &left_out;
    write_four((const char *[]){"\"time\": 0, ", "\"time\": 0.01, ", "\"time\": 0.5, ", "\"time\": 0.9, "});
    import_messages(options, said, sizeof said);
    assert_non_null(strstr(said, "1 of 2 moments are left out: not every camera has a picture within 0.25 s"));
    assert_true(left_out.moments == 1 && left_out.pictures == 0);
}

// Two cameras that are not in step: the slower one sets the moments, the nearest pictures are taken, one moment is
// lost.
static void test_times_and_cameras(void **state) {
    (void)state;
    char extra[512];
    scene_replace(6, 2, 24, 32, SCENE_MOVING);
    json_global(extra, "");
    FILE *file = json_begin(extra);
    static const double OFFSET[2] = {0, 0.01};
    bool first = true;
    for (int f = 5; f >= 0; f--) { // not in the order of time
        for (int v = 0; v < 2; v++) {
            char colour[64], depth[64], more[96];
            if (f == 3 && v == 0) continue; // dropped by camera 0
            if (f == 5 && v == 0) continue;
            snprintf(colour, sizeof colour, "images/%d_%d.png", f, v);
            snprintf(depth, sizeof depth, "depth/%d_%d.png", f, v);
            snprintf(more, sizeof more, "\"time\": %g, \"camera_id\": \"%s\", ", 0.1 * f + OFFSET[v],
                     v ? "left" : "right");
            write_colour(f, v, place(colour, 0, 0));
            write_depth(f, v, place(depth, 0, 0), 0.001, plain);
            json_frame(file, first, scene_pose(f, v), colour, depth, more);
            first = false;
        }
    }
    json_end(file);
    Dataset *dataset = import_good(usual());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->F == 4 && info->V == 2 && info->moving_cameras);
    // "left" came first in the file, so it is view 0; frames 0, 1, 2, 4 are in both.
    compare_images(dataset, (int[]){1, 0, 3, 2, 5, 4, 9, 8}, 0.00051, 1e-12);
    assert_close(info->time[3], 0.4, 1e-9, 0); // of the camera with fewer pictures
    dataset_close(dataset);
    char said[4096];
    ImportLeftOut left_out = {7, 7};
    ImportOptions options = usual();
    options.left_out = &left_out;
    import_messages(options, said, sizeof said);
    assert_non_null(strstr(said, "camera 1 has the fewest pictures, 4 where another has 6: its moments become frames"));
    assert_true(left_out.moments == 0 && left_out.pictures == 0);
    options.gap = 0.001;
    refuse(options, "expected moments that every camera saw within 0.001 s");
}

// Colour and depth as a bent lens sees the scene: every pixel looks along the ray that the lens bends to it.
static void bend(const Lens *lens, int v) {
    size_t W = (size_t)scene.info.W, pixels = scene_pixels();
    for (size_t i = 0; i < pixels; i++) {
        double xy[2] = {(double)(i % W) + 0.5, (double)(i / W) + 0.5}, at[2] = {xy[0], xy[1]}, seen[2];
        for (int step = 0; step < 100; step++) { // the inverse of lens_map by fixed-point iteration
            lens_map(lens, lens->K, at, seen);
            at[0] += xy[0] - seen[0];
            at[1] += xy[1] - seen[1];
        }
        uint16_t mask;
        double K[9]; // shifted so that the pixel's centre looks where `at` does
        memcpy(K, lens->K, sizeof K);
        K[2] += xy[0] - at[0];
        K[5] += xy[1] - at[1];
        size_t cell = (size_t)v * pixels + i;
        scene_shade(K, scene_pose(0, v), scene.position, (int)(i % W), (int)(i / W), scene.rgb + 3 * cell,
                    scene.depth + cell, &mask);
    }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// How far the result's depth lies from what a camera without distortion sees: 90th percentile, metres.
static double against_straight(const Dataset *dataset, const Lens *lens) {
    Error err = {0};
    Frames frames = {0};
    size_t pixels = scene_pixels(), count = 0;
    double *errors = calloc(5 * pixels, sizeof *errors);
    assert_non_null(errors);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), err);
    for (size_t i = 0; i < 5 * pixels; i++) {
        uint8_t rgb[3];
        float depth;
        uint16_t mask;
        size_t at = i % pixels, W = (size_t)scene.info.W;
        scene_shade(lens->K, scene_pose(0, (int)(i / pixels)), scene.position, (int)(at % W), (int)(at / W), rgb,
                    &depth, &mask);
        if (depth > 0 && frames.depth[i] > 0) errors[count++] = fabs(depth - frames.depth[i]);
    }
    assert_true(count > 5 * pixels / 4);
    qsort(errors, count, sizeof *errors, by_size);
    double error = errors[count * 9 / 10];
    free(errors);
    frames_free(&frames);
    return error;
}

static double import_bent(const Lens *lens, const char *words) {
    char extra[512];
    scene_replace(1, 5, 96, 128, 0);
    for (int v = 0; v < 5; v++) bend(lens, v);
    snprintf(extra, sizeof extra, "\"fl_x\": %.17g, \"fl_y\": %.17g, \"cx\": %.17g, \"cy\": %.17g%s", lens->K[0],
             lens->K[4], lens->K[2], lens->K[5], words);
    FILE *file = json_begin(extra);
    for (int v = 0; v < 5; v++) {
        char colour[64], depth[64];
        snprintf(colour, sizeof colour, "images/%d.png", v);
        snprintf(depth, sizeof depth, "depth/%d.png", v);
        write_colour(0, v, place(colour, 0, 0));
        write_depth(0, v, place(depth, 0, 0), 0.0001, plain);
        json_frame(file, v == 0, scene_pose(0, v), colour, depth, "");
    }
    json_end(file);
    Dataset *dataset = import_good(usual());
    double error = against_straight(dataset, lens);
    dataset_close(dataset);
    return error;
}

// Depth is interpolated in 1/z, exact on the floor but for the unit of 0.1 mm; without the lens it is off by several
// pixels in the corners, some centimetres of a floor seen at a slant.
static void test_distortion(void **state) {
    (void)state;
    Lens lens = lens_of(80, 80, 66, 46);
    lens.H = 96, lens.W = 128;
    memcpy(lens.radial, (double[]){-0.25, 0.1, 0.01, 0.01}, sizeof lens.radial);
    memcpy(lens.tangential, (double[]){0.01, -0.015}, sizeof lens.tangential);
    const char *units = ", \"depth_unit_scale_factor\": 0.0001";
    char words[200];
    snprintf(words, sizeof words,
             "%s, \"k1\": -0.25, \"k2\": 0.1, \"k3\": 0.01, \"k4\": 0.01, \"p1\": 0.01, \"p2\": -0.015", units);
    double right = import_bent(&lens, words), wrong = import_bent(&lens, units);
    if (!(right < 0.0005 && wrong > 0.03)) fail_msg("%g m with the lens, %g m without", right, wrong);
    Lens fisheye = lens_of(80, 80, 64, 48);
    fisheye.H = 96, fisheye.W = 128;
    fisheye.fisheye = true;
    fisheye.radial[0] = -0.1;
    snprintf(words, sizeof words, "%s, \"camera_model\": \"OPENCV_FISHEYE\", \"k1\": -0.1", units);
    right = import_bent(&fisheye, words);
    wrong = import_bent(&fisheye, units);
    if (!(right < 0.0005 && wrong > 0.03)) fail_msg("%g m with the lens, %g m without", right, wrong);
}

// The formulas themselves against numbers worked out by hand.
static void test_lens(void **state) {
    (void)state;
    Lens lens = lens_of(100, 100, 50, 50);
    double out[2];
    memcpy(lens.radial, (double[]){0.1, 0.01, 0.001, 0.0001}, sizeof lens.radial);
    memcpy(lens.tangential, (double[]){0.02, 0.03}, sizeof lens.tangential);
    lens_distort(&lens, 1, 2, out); // r2 = 5, s = 1.9375
    assert_close(out[0], 1.9375 + 2 * 0.02 * 2 + 0.03 * (5 + 2), 1e-12, 0);
    assert_close(out[1], 2 * 1.9375 + 0.02 * (5 + 8) + 2 * 0.03 * 2, 1e-12, 0);
    lens = lens_of(100, 100, 50, 50);
    lens.fisheye = true;
    lens_distort(&lens, 1, 0, out);
    assert_close(out[0], 0.78539816339744828, 1e-12, 0); // 45 degrees
}

// Cameras of different size become one size, each with its K scaled; the first picture's size stands.
static void test_sizes(void **state) {
    (void)state;
    FILE *file = json_begin("");
    for (int v = 0; v < 2; v++) {
        char colour[64], depth[64], more[300];
        Error err = {0};
        snprintf(colour, sizeof colour, "%d.png", v);
        snprintf(depth, sizeof depth, "d%d.png", v);
        write_colour(0, v, place(colour, 0, 0));
        write_depth(0, v, place(depth, 0, 0), 0.001, plain);
        if (v == 1) { // twice as wide and high
            Image image = {0}, large = {0};
            assert_status_ok(image_read(place(colour, 0, 0), &image, &err), err);
            assert_status_ok(image_resize(&image, 48, 64, &large, &err), err);
            assert_status_ok(image_write_png(&large, place(colour, 0, 0), &err), err);
            image_free(&image), image_free(&large);
        }
        snprintf(more, sizeof more, "\"w\": %d, \"h\": %d, \"fl_x\": %.17g, \"fl_y\": %.17g, ", 32 << v, 24 << v,
                 scene.K[0] * (1 << v), scene.K[4] * (1 << v));
        json_frame(file, v == 0, scene_pose(0, v), colour, depth, more);
    }
    json_end(file);
    Dataset *dataset = import_good(usual());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->V == 2 && info->W == 32 && info->H == 24);
    for (int i = 0; i < 9; i++) assert_close(info->intrinsics[9 + i], scene.K[i], 1e-9, 0);
    dataset_close(dataset);
}

static void one_frame(const char *extra, const char *colour, const char *depth, const char *matrix) {
    FILE *file = text_at("transforms.json");
    fprintf(file, "{%s \"frames\": [{\"file_path\": \"%s\", \"depth_file_path\": \"%s\", \"transform_matrix\": %s}]}",
            extra, colour, depth, matrix);
    fclose(file);
}

// The same intrinsics for pictures of 32 x 24, and for 24 x 32, which scales fx and fy apart.
static void test_other_shape(void **state) {
    (void)state;
    const char *unit = "[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]";
    char said[600];
    write_colour(0, 0, place("a.png", 0, 0));
    write_depth(0, 0, place("b.png", 0, 0), 0.001, plain);
    one_frame("\"fl_x\": 60, \"w\": 64, \"h\": 48,", "a.png", "b.png", unit);
    import_messages(usual(), said, sizeof said);
    assert_null(strstr(said, "exchanged"));
    one_frame("\"fl_x\": 30, \"w\": 24, \"h\": 32,", "a.png", "b.png", unit);
    import_messages(usual(), said, sizeof said);
    assert_non_null(
        strstr(said, "a.png: has 32 x 24 pixels, and its intrinsics are for 24 x 32: are width and height"));
}

// Folders of recordings are no episodes of one, so the sentence tells what to do with them.
static void test_recordings_in_folders(void **state) {
    (void)state;
    replace_text("b/transforms.json", "{}");
    refuse(usual(),
           "recording: expected one recording, found 1 in folders of it, in the layout of nerfstudio; import ");
    replace_text("a/transforms.json", "{}");
    folder_at("c");
    ImportOptions options = usual();
    for (int named = 0; named < 2; named++) {
        options.format = named ? "nerfstudio" : NULL;
        refuse(options, "found 2 in folders of it, in the layout of nerfstudio; import ");
        refuse(options, "recording/a, and the others, then put all together with \"vpd data convert A.h5 B.h5 ..");
    }
    options.format = "tum";
    refuse(options, "expected the layout of tum");
}

static void test_wrong_files(void **state) {
    (void)state;
    const char *fine = "\"fl_x\": 30,", *unit = "[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]";
    write_colour(0, 0, place("a.png", 0, 0));
    write_depth(0, 0, place("b.png", 0, 0), 0.001, plain);
    write_depth(0, 0, (snprintf(target, sizeof target, "%s/outside.png", folder), target), 0.001, plain);
    snprintf(target, sizeof target, "%s/out.h5", folder);
    replace_text("transforms.json", "{\"frames\": [");
    refuse(usual(), "transforms.json:1:");
    replace_text("transforms.json", "{\"frames\": {}}");
    refuse(usual(), "\"frames\": expected a list, found an object");
    one_frame("", "a.png", "b.png", unit);
    refuse(usual(), "expected \"fl_x\" or \"camera_angle_x\"");
    one_frame(fine, "a.png", "../outside.png", unit);
    refuse(usual(), "../outside.png: expected a file beneath");
    one_frame(fine, "/etc/passwd", "b.png", unit);
    refuse(usual(), "/etc/passwd: expected a file beneath");
    one_frame(fine, "a.png", "none.png", unit);
    refuse(usual(), "none.png");
    one_frame(fine, "a.png", "b.png", "[[1,0,0],[0,1,0]]");
    refuse(usual(), "\"transform_matrix\": expected 16 numbers, found 6");
    one_frame(fine, "a.png", "b.png", "[[2,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]");
    refuse(usual(), "a.png: expected finite [R t; 0 0 0 1] with R orthonormal");
    one_frame("\"camera_angle_x\": 49.1,", "a.png", "b.png", unit);
    refuse(usual(), "expected \"camera_angle_x\" in radians, from 0 to pi, found 49.1; are those degrees?");
    one_frame("\"fl_x\": -30,", "a.png", "b.png", unit);
    refuse(usual(), "expected positive focal lengths");
    one_frame("\"fl_x\": 30, \"camera_model\": \"EQUIRECTANGULAR\",", "a.png", "b.png", unit);
    refuse(usual(), "\"camera_model\": expected OPENCV");
    replace_text("transforms.json",
                 "{\"fl_x\": 30, \"frames\": [{\"file_path\": \"a.png\", \"transform_matrix\": []}]}");
    refuse(usual(), "expected \"depth_file_path\" in its frames");
    one_frame(fine, "a.png", "huge.npy", unit);
    FILE *file = text_at("huge.npy");
    fwrite("\x93NUMPY\1\0\x50\0{'descr': '<f4', 'fortran_order': False, 'shape': (16000, 16000), }               \n", 1,
           90, file);
    fclose(file);
    refuse(usual(), "huge.npy: expected 256000000 numbers of 4 bytes, found");
    one_frame(fine, "a.png", "a.png", unit);
    refuse(usual(), "a.png: expected depth of one channel");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_millimetres_and_axes),
        TEST(test_angle_npy_and_units),
        TEST(test_without_time),
        TEST(test_moment_left_out),
        TEST(test_times_and_cameras),
        TEST(test_distortion),
        TEST(test_lens),
        TEST(test_sizes),
        TEST(test_other_shape),
        TEST(test_recordings_in_folders),
        TEST(test_wrong_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
