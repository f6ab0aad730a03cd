// SPDX-License-Identifier: Apache-2.0
// Importers against small recordings made here in the foreign layouts: what was seen comes back in metres, OpenCV axes
// and pixel centres at halves; wrong folders are refused with a sentence and leave no file.
#include "base/threads.h"
#include "tests/import_scene.h"

static uint16_t rotated(uint16_t word) { return (uint16_t)(word << 3 | word >> 13); }

static void write_pictures(int v, const char *colour, const char *depth, double unit, CodeWord *code) {
    write_colour(0, v, place(colour, 0, 0));
    write_depth(0, v, place(depth, 0, 0), unit, code);
}

static void whole_pixel_centres(double K[9]) {
    memcpy(K, scene.K, 9 * sizeof *K);
    K[2] -= 0.5;
    K[5] -= 0.5;
}

static void write_hololens(void) {
    double K[9];
    folder_at("images");
    folder_at("depth");
    whole_pixel_centres(K);
    FILE *intrinsics = text_at("K.txt"), *poses = text_at("poses.txt"), *frames = text_at("frames.txt");
    write_numbers(intrinsics, K, 9, 3);
    for (int v = 0; v < scene.info.V; v++) {
        char colour[64], depth[64];
        snprintf(colour, sizeof colour, "images/%05d.png", 99 - v); // not in the order of the names
        snprintf(depth, sizeof depth, "depth/%05d.png", 99 - v);
        write_pictures(v, colour, depth, 0.001, plain);
        write_numbers(poses, scene.poses + 16 * v, 16, 16);
        fprintf(frames, "%05d.png\r\n\n", 99 - v);
    }
    fclose(intrinsics), fclose(poses), fclose(frames);
}

static void write_apc(void) {
    double K[9];
    folder_at("scene-0000");
    whole_pixel_centres(K);
    FILE *info = text_at("scene-0000/cam.info.txt");
    fprintf(info, "# Environment: test\n\n# Color camera intrinsic matrix\n");
    write_numbers(info, K, 9, 3);
    fprintf(info, "\n# Depth camera intrinsic matrix\n1 0 0\n0 1 0\n0 0 1\n");
    for (int v = 0; v < scene.info.V; v++) {
        char colour[64], depth[64];
        snprintf(colour, sizeof colour, "scene-0000/frame-%06d.color.png", v);
        snprintf(depth, sizeof depth, "scene-0000/frame-%06d.depth.png", v);
        write_pictures(v, colour, depth, 0.0001, rotated);
        fprintf(info, "\n# Camera-to-world extrinsic matrix (camera pose) for frame-%06d\n", v);
        write_numbers(info, scene.poses + 16 * v, 16, 4);
    }
    fclose(info);
}

static void compare(const Dataset *dataset, double unit) {
    assert_int_equal(dataset_episode_count(dataset), 1);
    assert_int_equal(dataset_episode(dataset, 0)->V, 9);
    compare_images(dataset, NULL, 0.51 * unit, 1e-14);
}

static void test_hololens(void **state) {
    (void)state;
    ImportOptions options = usual();
    write_hololens();
    options.holdout = 4;
    options.split = SPLIT_TEST;
    Dataset *dataset = import_good(options);
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    compare(dataset, 0.001);
    assert_true(info->heldout_count == 3 && info->heldout_views[1] == 4 && info->split == SPLIT_TEST && info->F == 1);
    assert_string_equal(dataset_info(dataset)->name, "recording");
    assert_string_equal(dataset_info(dataset)->generator, "vpd 0.1.0 data import hololens");
    dataset_close(dataset);
}

// 9 views in windows of 4: remaining views join the last; held-out views are counted through the whole recording.
static void test_windows(void **state) {
    (void)state;
    Error err = {0};
    Frames frames = {0};
    ImportOptions options = usual();
    write_hololens();
    options.window = 4;
    options.holdout = 3;
    options.holdout_first = 2;
    options.has_bounds = true;
    memcpy(options.bounds, (double[]){-1, -2, -3, 1, 2, 3}, sizeof options.bounds);
    Dataset *dataset = import_good(options);
    size_t pixels = 24 * 32;
    assert_int_equal(dataset_episode_count(dataset), 2);
    for (int e = 0; e < 2; e++) {
        const EpisodeInfo *info = dataset_episode(dataset, e);
        assert_int_equal(info->V, e ? 5 : 4);
        assert_memory_equal(info->bounds, options.bounds, sizeof options.bounds);
        assert_int_equal(info->heldout_count, e ? 2 : 1); // 2 | 5 and 8
        assert_int_equal(info->heldout_views[0], e ? 1 : 2);
        if (e) assert_int_equal(info->heldout_views[1], 4);
        assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.episode = e, .count = 1}, &frames, &err), err);
        assert_memory_equal(frames.rgb, scene.rgb + 3 * 4 * pixels * (size_t)e, 3 * (size_t)info->V * pixels);
        for (int i = 0; i < 16 * info->V; i++)
            assert_close(frames.world_from_camera[i], scene.poses[16 * 4 * e + i], 1e-15, 1e-15);
    }
    frames_free(&frames);
    dataset_close(dataset);
    options.window = 1; // every third episode would have no input
    assert_int_equal(dataset_import(source, &options, target, NULL, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "expected at least 2 views to hold some of them out, found 1"));
}

static void test_apc(void **state) {
    (void)state;
    ImportOptions options = usual();
    write_apc();
    Dataset *dataset = import_good(options);
    compare(dataset, 0.0001);
    dataset_close(dataset);
    options.near = 1.5; // what is nearer is dropped
    dataset = import_good(options);
    Error err = {0};
    Frames frames = {0};
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), err);
    size_t dropped = 0;
    for (size_t i = 0; i < 9 * 24 * 32; i++) {
        dropped += frames.depth[i] == 0 && scene.depth[i] > 0;
        assert_true(frames.depth[i] == 0 || frames.depth[i] > 1.499);
    }
    assert_true(dropped > 100);
    frames_free(&frames);
    dataset_close(dataset);
}

// Neither layout has times: a video takes them from the frames per second that are given.
static void test_video_without_times(void **state) {
    (void)state;
    void (*const layouts[])(void) = {write_hololens, write_apc};
    for (int i = 0; i < 2; i++) {
        ImportOptions options = usual();
        layouts[i]();
        options.format = i ? "apc" : "hololens";
        options.as = AS_VIDEO;
        refuse(options, "--as video needs --fps N (pictures a second), since the recording has no times; if its "
                        "pictures are not evenly apart, give each its time: ");
        options.fps = 20;
        Dataset *dataset = import_good(options);
        assert_true(dataset_episode(dataset, 0)->F == 9 && dataset_episode(dataset, 0)->V == 1);
        assert_close(dataset_episode(dataset, 0)->time_step, 0.05, 1e-12, 0);
        dataset_close(dataset);
    }
}

// A smaller, thinned result still agrees with itself: K was scaled with the pictures.
static void test_resize(void **state) {
    (void)state;
    Error err = {0};
    CheckReport report;
    ImportOptions options = usual();
    scene_free(&scene);
    scene = scene_make(1, 9, 96, 128, 0);
    scene_finish(&scene);
    write_hololens();
    options.W = 64;
    options.H = 32; // not the same shape
    options.every = 2;
    Dataset *dataset = import_good(options);
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->V == 5 && info->H == 32 && info->W == 64);
    assert_close(info->intrinsics[0], scene.K[0] / 2, 1e-9, 0);
    assert_close(info->intrinsics[4], scene.K[4] / 3, 1e-9, 0);
    assert_close(info->intrinsics[5], 16, 1e-9, 0);
    assert_memory_equal(episode_pose(info, 0, 1), scene.poses + 16 * 2, 12 * sizeof(double));
    assert_status_ok(dataset_check(dataset, NULL, &report, &err), err);
    assert_true(!check_report_fails(&report) && report.all.tested > 1000);
    assert_true(report.all.median < 0.01); // metres; half a recorded pixel on the floor is 8 mm
    check_report_free(&report);
    dataset_close(dataset);
}

// Colour and depth of different size: depth is brought to the colour's.
static void test_depth_of_other_size(void **state) {
    (void)state;
    Error err = {0};
    char path[256];
    write_hololens();
    for (int v = 0; v < 9; v++) {
        Image depth, large;
        snprintf(path, sizeof path, "%s/depth/%05d.png", source, 99 - v);
        assert_status_ok(image_read(path, &depth, &err), err);
        assert_status_ok(image_create(48, 64, 1, PIXEL_U16, &large, &err), err);
        for (size_t i = 0; i < 48 * 64; i++) // every pixel four times
            ((uint16_t *)large.pixels)[i] = ((uint16_t *)depth.pixels)[i / 128 * 32 + i % 64 / 2];
        assert_status_ok(image_write_png(&large, path, &err), err);
        image_free(&depth);
        image_free(&large);
    }
    Dataset *dataset = import_good(usual());
    compare(dataset, 0.001);
    dataset_close(dataset);
}

static void shrink(const char *path, int H, int W) {
    Error err = {0};
    Image image, small;
    assert_status_ok(image_read(path, &image, &err), err);
    assert_status_ok(image_resize(&image, H, W, &small, &err), err);
    assert_status_ok(image_write_png(&small, path, &err), err);
    image_free(&image);
    image_free(&small);
}

// One colour picture at half the size: it is named, unless the user gave a size.
static void test_pictures_of_other_size(void **state) {
    (void)state;
    char said[4096];
    ImportOptions options = usual();
    write_hololens();
    import_messages(options, said, sizeof said);
    assert_null(strstr(said, "another size"));
    shrink(place("images/%05d.png", 96, 0), 12, 16);
    import_messages(options, said, sizeof said);
    assert_non_null(strstr(said, "1 of 9 pictures have another size than the first, 32 x 24: "));
    assert_non_null(strstr(said, "images/00096.png has 16 x 12; all are resampled to that of the first (--size WxH"));
    options.H = 24;
    options.W = 32;
    import_messages(options, said, sizeof said);
    assert_null(strstr(said, "another size"));
    assert_int_equal(truncate(place("images/%05d.png", 95, 0), 10), 0);
    refuse(options, "images/00095.png: the PNG is damaged (the file is cut short); --skip-bad");
}

// An EXR picture that is too wide is not called damaged.
static void test_exr_too_large(void **state) {
    (void)state;
    static const char MARK[] = "dataWindow\0box2i";
    char *bytes;
    size_t size;
    Error err = {0};
    Image image;
    const int32_t right = 19999;
    assert_status_ok(file_read_all("tests/fuzz/corpus/image/depth_zip.exr", 1 << 20, &bytes, &size, &err), err);
    char *window = memmem(bytes, size, MARK, sizeof MARK);
    assert_non_null(window);
    memcpy(window + sizeof MARK + 4 + 8, &right, sizeof right); // behind the length, min.x and min.y
    assert_status_error(image_decode((unsigned char *)bytes, size, "wide.exr", &image, &err), STATUS_BAD_INPUT, err,
                        "wide.exr: expected a picture with sides of 1 to 16384 and at most 67108864 pixels, found "
                        "20000 x 20; make it smaller");
    free(bytes);
}

static void test_lost_pose(void **state) {
    (void)state;
    write_hololens();
    FILE *poses = text_at("poses.txt");
    for (int v = 0; v < 9; v++) {
        double pose[16];
        memcpy(pose, scene.poses + 16 * v, sizeof pose);
        if (v == 3) pose[3] = INFINITY;
        write_numbers(poses, pose, 16, 16);
    }
    fclose(poses);
    ImportLeftOut left_out = {0};
    ImportOptions options = usual();
    options.left_out = &left_out;
    Dataset *dataset = import_good(options);
    assert_int_equal(dataset_episode(dataset, 0)->V, 8);
    assert_int_equal(left_out.pictures, 1);
    dataset_close(dataset);
}

// Two pictures that cannot be read, one that is missing: an error that says what leads past them, or six views.
static void test_skip_bad(void **state) {
    (void)state;
    ImportReport report = {0};
    ImportOptions options = usual();
    write_hololens();
    assert_int_equal(truncate(place("depth/%05d.png", 99, 0), 300), 0);
    refuse(options, "depth/00099.png: ");
    refuse(options, "; --skip-bad leaves such pictures out");
    replace_text("images/00097.png", "no picture");
    refuse(options, "images/00097.png: expected a PNG, JPEG, TIFF, WebP or EXR");
    refuse(options, "; --skip-bad leaves such pictures out");
    assert_int_equal(unlink(place("depth/%05d.png", 95, 0)), 0);
    refuse(options, "depth/00095.png: cannot open: No such file or directory; --skip-bad");
    options.report = &report;
    Dataset *dataset = import_good(options);
    assert_int_equal(dataset_episode(dataset, 0)->V, 6);
    const int left[6] = {1, 3, 5, 6, 7, 8};
    compare_images(dataset, left, 0.00051, 1e-14);
    assert_true(report.pictures == 9 && report.bad == 3 && report.left_out == 3);
    assert_non_null(strstr(report.why[0], "00099.png"));
    assert_non_null(strstr(report.why[1], "00097.png"));
    assert_non_null(strstr(report.why[2], "00095.png"));
    dataset_close(dataset);
    import_report_free(&report);
    for (int v = 0; v < 9; v++) replace_text(place("images/%05d.png", 99 - v, 0) + strlen(source) + 1, "");
    refuse(options, "none of the 9 pictures is usable; the first: ");
    import_report_free(&report);
}

// Limits that leave nothing; the box of all points is named where bounds miss it.
static void test_nothing_left(void **state) {
    (void)state;
    ImportOptions options = usual();
    write_hololens();
    options.near = 1000;
    refuse(options, "no pixel has depth between --near and --far");
    options = usual();
    options.has_bounds = true;
    memcpy(options.bounds, (double[]){50, 50, 50, 51, 51, 51}, sizeof options.bounds);
    refuse(options, "no point lies within --bounds; all points lie from -");
}

static void test_wrong_folders(void **state) {
    (void)state;
    char path[256];
    ImportOptions options = usual();
    refuse(options, "found none of them: hololens, apc");
    options.format = "apc";
    refuse(options, "expected the layout of apc");
    options.format = "kinect";
    refuse(options, "--format: expected one of hololens");
    options = usual();
    write_hololens();
    replace_text("K.txt", "500 0 16\n0 500\n0 0 1\n");
    refuse(options, "K.txt:2: expected 3 numbers, found 2");
    replace_text("K.txt", "500 0 16\n0 500 12 7\n");
    refuse(options, "K.txt:2: expected 3 numbers, found more");
    replace_text("K.txt", "500 0 16\n");
    refuse(options, "K.txt: expected 3 rows of 3 numbers, found the end of the file after 1");
    replace_text("K.txt", "-500 0 16\n0 500 12\n0 0 1\n");
    refuse(options, "expected positive focal lengths");
    replace_text("K.txt", "500 0 16\n0 500 12\n0 0 1\n");
    replace_text("frames.txt", "00099.png\n");
    refuse(options, "poses.txt: expected a pose for each of the 1 pictures, found more");
    replace_text("frames.txt", "00099.png\n../../../../etc/passwd\n");
    refuse(options, "etc/passwd");
    replace_text("poses.txt", "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1\n");
    replace_text("frames.txt", "00099.png\n00098.png\n");
    refuse(options, "poses.txt: expected a pose for each of the 2 pictures, found 1");
    replace_text("poses.txt", "1 0 0 0 0 2 0 0 0 0 1 0 0 0 0 1\n");
    replace_text("frames.txt", "00099.png\n");
    refuse(options, "expected finite [R t; 0 0 0 1] with R orthonormal");
    replace_text("poses.txt", "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1\n");
    replace_text("depth/00099.png", "no picture");
    refuse(options, "00099.png: expected a PNG, JPEG, TIFF, WebP or EXR");
    snprintf(path, sizeof path, "%s/images/00099.png", source);
    assert_int_equal(unlink(path), 0);
    refuse(options, "images/00099.png");
}

static char *bytes_of(size_t *size) {
    Error err = {0};
    char *bytes;
    assert_status_ok(file_read_all(target, (size_t)1 << 30, &bytes, size, &err), err);
    return bytes;
}

// The same file, byte for byte, whatever the number of threads.
static void test_threads(void **state) {
    (void)state;
    char *files[2];
    size_t sizes[2];
    write_hololens();
    setenv("SOURCE_DATE_EPOCH", "1763683200", 1);
    for (int i = 0; i < 2; i++) {
        threads_use(i ? 4 : 1);
        dataset_close(import_good(usual()));
        files[i] = bytes_of(&sizes[i]);
    }
    threads_use(0);
    unsetenv("SOURCE_DATE_EPOCH");
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(files[0], files[1], sizes[0]);
    free(files[0]);
    free(files[1]);
}

// The comparison that proves the importers right must see depth that is off by one unit.
static void test_planted_error(void **state) {
    (void)state;
    assert_false(test_close(1.001, 1.0, 0.51 * 0.001, 0));
    assert_true(rotated(0x2345) != 0x2345);
    uint16_t word = rotated(0x2345);
    assert_int_equal((uint16_t)(word << 13 | word >> 3), 0x2345);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_hololens),
        TEST(test_windows),
        TEST(test_apc),
        TEST(test_video_without_times),
        TEST(test_resize),
        TEST(test_depth_of_other_size),
        TEST(test_pictures_of_other_size),
        TEST(test_exr_too_large),
        TEST(test_lost_pose),
        TEST(test_skip_bad),
        TEST(test_wrong_folders),
        TEST(test_nothing_left),
        TEST(test_threads),
        TEST(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
