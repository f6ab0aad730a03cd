// SPDX-License-Identifier: Apache-2.0
// Converting: cropped, resized and boxed pictures still agree with their cameras, units are kept or refused, files are
// merged, splits given anew; and the pictures of vpd data show.
#include "base/image.h"
#include "datasets/check.h"
#include "datasets/convert.h"
#include "datasets/show.h"
#include "tests/dataset_scene.h"

static char folder[64], path[128], out[128];
static Dataset *dataset;

static void write_scene(int F, int V, int H, int W, int count) {
    Error err = {0};
    Scene scene = scene_make(F, V, H, W, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, count, &err), err);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    scene_free(&scene);
}

static int set_up(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.h5", folder);
    snprintf(out, sizeof out, "%s/b.h5", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    dataset_close(dataset);
    dataset = NULL;
    test_remove_folder(folder);
    return 0;
}

static ConvertOptions everything(void) { return (ConvertOptions){.episodes = {-1, -1, -1}}; }

static Dataset *convert(ConvertOptions options) {
    Error err = {0};
    Dataset *result;
    assert_status_ok(dataset_convert(&dataset, 1, &options, out, NULL, &err), err);
    assert_status_ok(dataset_open(out, &result, &err), err);
    return result;
}

static void refuse(ConvertOptions options, const char *words) {
    Error err = {0};
    unlink(out);
    assert_status_error(dataset_convert(&dataset, 1, &options, out, NULL, &err), STATUS_BAD_INPUT, err, words);
    assert_int_not_equal(access(out, F_OK), 0);
}

// Nothing asked for: nothing but the generator changes.
static void test_same(void **state) {
    (void)state;
    Error err = {0};
    Frames a = {0}, b = {0};
    write_scene(3, 2, 12, 16, 2);
    Dataset *same = convert(everything());
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 3}, &a, &err), err);
    assert_status_ok(dataset_read_frames(same, (FrameRequest){.count = 3}, &b, &err), err);
    assert_memory_equal(a.rgb, b.rgb, 6 * 12 * 16 * 3);
    assert_memory_equal(a.depth, b.depth, 6 * 12 * 16 * sizeof(float));
    assert_memory_equal(a.mask, b.mask, 6 * 12 * 16 * sizeof(uint16_t));
    assert_memory_equal(a.intrinsics, b.intrinsics, 18 * sizeof(double));
    assert_memory_equal(a.object_quaternion, b.object_quaternion, 12 * sizeof(double));
    assert_memory_equal(a.actions, b.actions, 6 * sizeof(float));
    assert_false(dataset_episode(same, 0)->moving_cameras);
    frames_free(&a), frames_free(&b);
    dataset_close(same);
}

static void test_crop_and_resize(void **state) {
    (void)state;
    Error err = {0};
    CheckReport report;
    write_scene(2, 4, 96, 128, 1);
    ConvertOptions options = everything();
    memcpy(options.crop, (int[]){20, 10, 96, 80}, sizeof options.crop);
    options.W = 48, options.H = 40;
    Dataset *small = convert(options);
    const EpisodeInfo *info = dataset_episode(small, 0), *from = dataset_episode(dataset, 0);
    assert_true(info->W == 48 && info->H == 40 && info->has_mask);
    assert_close(info->intrinsics[0], from->intrinsics[0] / 2, 1e-9, 0);
    assert_close(info->intrinsics[2], (64 - 20) / 2.0, 1e-9, 0);
    assert_close(info->intrinsics[5], (48 - 10) / 2.0, 1e-9, 0);
    assert_status_ok(dataset_check(small, NULL, &report, &err), err);
    assert_true(!check_report_fails(&report) && report.all.tested > 1000);
    check_report_free(&report);
    dataset_close(small);
    options.crop[0] = 33;
    refuse(options, "expected a crop within 128 x 96 pixels, asked for 96 x 80 at (33, 10)");
}

static void test_box_and_units(void **state) {
    (void)state;
    Error err = {0};
    Frames frames = {0};
    write_scene(1, 2, 24, 32, 1);
    ConvertOptions options = everything();
    memcpy(options.box, (double[]){-0.5, -0.5, -0.1, 0.5, 0.5, 1}, sizeof options.box);
    options.has_box = true;
    options.depth = DEPTH_AS_U16;
    options.unit = 0.0005;
    Dataset *boxed = convert(options);
    const EpisodeInfo *info = dataset_episode(boxed, 0);
    assert_true(info->depth_is_u16 && info->depth_scale == 0.0005 && info->bounds[3] == 0.5);
    assert_true(dataset_info(dataset)->missing_depth == MISSING_SKY &&
                dataset_info(boxed)->missing_depth == MISSING_UNKNOWN);
    assert_status_ok(dataset_read_frames(boxed, (FrameRequest){.count = 1}, &frames, &err), err);
    size_t kept = 0;
    for (size_t i = 0; i < 2 * 24 * 32; i++) {
        size_t v = i / (24 * 32), at = i % (24 * 32);
        double point[3];
        if (frames.depth[i] == 0) continue;
        camera_unproject_world(frames.intrinsics + 9 * v, frames.world_from_camera + 16 * v, (double)(at % 32) + 0.5,
                               (double)(at / 32) + 0.5, frames.depth[i], point);
        for (int c = 0; c < 3; c++)
            assert_true(point[c] > options.box[c] - 0.001 && point[c] < options.box[3 + c] + 0.001);
        kept++;
    }
    assert_true(kept > 50 && kept < 24 * 32);
    frames_free(&frames);
    dataset_close(boxed);
    options.unit = 1e-5; // 0.65 m at most
    refuse(options, "give a larger --unit");
    options = everything();
    options.depth = DEPTH_AS_F32;
    dataset_close(convert(options));
}

static void test_merge_and_assign(void **state) {
    (void)state;
    Error err = {0};
    write_scene(2, 2, 12, 16, 4); // train, val, test, train
    ConvertOptions options = everything();
    options.assign = true;
    memcpy(options.assigned, (int[]){5, 2, 1}, sizeof options.assigned);
    Dataset *both[2] = {dataset, dataset}, *merged;
    assert_status_ok(dataset_convert(both, 2, &options, out, NULL, &err), err);
    assert_status_ok(dataset_open(out, &merged, &err), err);
    assert_int_equal(dataset_episode_count(merged), 8);
    assert_true(dataset_info(merged)->split_count[SPLIT_TRAIN] == 5 &&
                dataset_info(merged)->split_count[SPLIT_VAL] == 2);
    assert_true(dataset_episode(merged, 4)->split == SPLIT_TRAIN && dataset_episode(merged, 7)->split == SPLIT_TEST);
    assert_string_equal(dataset_info(merged)->licence, "CC0-1.0");
    assert_string_equal(dataset_info(merged)->name, "b"); // of b.h5, and not the first one's
    dataset_close(merged);
    Dataset *alone = convert(everything());
    assert_string_equal(dataset_info(alone)->name, "scene");
    dataset_close(alone);
    refuse(options, "--assign: expected numbers that add up to the 4 kept episodes, found 5 + 2 + 1");
    options = everything();
    options.count = 3;
    refuse(options, "expected at most 2 frames from 0 on in steps of 1, asked for 3");
}

// Every file's origin is told, each once.
static void test_merge_tells_origins(void **state) {
    (void)state;
    Error err = {0};
    char third[128];
    Dataset *merged;
    write_scene(2, 2, 12, 16, 2);
    Dataset *other = convert(everything());
    Dataset *all[3] = {dataset, dataset, other};
    ConvertOptions options = everything();
    snprintf(third, sizeof third, "%s/c.h5", folder);
    assert_status_ok(dataset_convert(all, 3, &options, third, NULL, &err), err);
    assert_status_ok(dataset_open(third, &merged, &err), err);
    assert_string_equal(dataset_info(other)->generator, "vpd 0.1.0 data convert; vpd");
    assert_string_equal(dataset_info(merged)->generator, "vpd 0.1.0 data convert; vpd; vpd 0.1.0 data convert; vpd");
    dataset_close(merged);
    dataset_close(other);
}

static void test_show(void **state) {
    (void)state;
    Error err = {0};
    Image sheet;
    char png[128], gif[128];
    snprintf(png, sizeof png, "%s/sheet.png", folder);
    snprintf(gif, sizeof gif, "%s/film.gif", folder);
    write_scene(5, 3, 24, 32, 1);
    ShowOptions options = {.columns = 4, .width = 64, .depth = true, .view = -1};
    assert_status_ok(dataset_show_sheet(dataset, &options, png, &err), err);
    assert_status_ok(image_read(png, &sheet, &err), err);
    assert_true(sheet.W == 4 + 4 * 68 && sheet.H == 16 + 3 * (12 + 2 * 48 + 4));
    size_t ball = 0, unknown = 0;
    for (size_t i = 0; i < (size_t)sheet.H * (size_t)sheet.W; i++) {
        const uint8_t *p = (const uint8_t *)sheet.pixels + 3 * i;
        ball += p[0] == 220 && p[1] == 40;
        unknown += p[0] == 110 && p[1] == 16;
    }
    assert_true(ball > 12 * 20 && unknown > 100);
    image_free(&sheet);
    assert_status_ok(dataset_show_gif(dataset, &options, 1, gif, &err), err);
    FILE *file = fopen(gif, "rb");
    char head[6];
    assert_non_null(file);
    assert_int_equal(fread(head, 1, 6, file), 6);
    fclose(file);
    assert_memory_equal(head, "GIF89a", 6);
    dataset_close(dataset);
    write_scene(1, 3, 24, 32, 1);
    assert_status_error(dataset_show_gif(dataset, &options, 1, gif, &err), STATUS_BAD_INPUT, err,
                        "a sheet (.png) shows a still scene");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_same),
        TEST(test_crop_and_resize),
        TEST(test_box_and_units),
        TEST(test_merge_and_assign),
        TEST(test_merge_tells_origins),
        TEST(test_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
