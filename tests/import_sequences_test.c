// SPDX-License-Identifier: Apache-2.0
// Recordings of one camera on its way: TUM RGB-D, ScanNet, BOP, Open3D, each with its traps.
#include "tests/import_scene.h"

// ---- TUM RGB-D

// q times the rotation by `angle` about the camera's x axis, with either sign: both are the same rotation.
static void turn(const double q[4], double angle, double out[4]) {
    double c = cos(0.5 * angle), s = sin(0.5 * angle), sign = angle > 0 ? -1 : 1;
    const double r[4] = {q[0] * c - q[1] * s, q[1] * c + q[0] * s, q[2] * c + q[3] * s, q[3] * c - q[2] * s};
    for (int i = 0; i < 4; i++) out[i] = sign * r[i];
}

static double tum_unit = 1; // seconds

static void write_tum(int frames) {
    FILE *rgb = text_at("rgb.txt"), *depth = text_at("depth.txt"), *poses = text_at("groundtruth.txt");
    fprintf(rgb, "# color images\n# timestamp filename\n");
    fprintf(depth, "# depth maps\n");
    fprintf(poses, "# timestamp tx ty tz qx qy qz qw\n");
    for (int f = 0; f < frames; f++) {
        double time = 1305031102.1758 + 0.03 * f, q[4], unit = tum_unit;
        const double *pose = scene_pose(0, f);
        write_colour(0, f, place("rgb/%d.png", f, 0));
        fprintf(rgb, "%.6f rgb/%d.png\n", time / unit, f);
        if (f != 3) { // no depth near
            write_depth(0, f, place("depth/%d.png", f, 0), 1.0 / 5000, plain);
            fprintf(depth, "%.6f depth/%d.png\n", (time + (f % 2 ? 0.012 : -0.012)) / unit, f);
        }
        quaternion_of(pose, q);
        // Tracking runs at another rate: the camera moves at 0.8 m/s and turns at 1 rad/s, and each picture lies
        // between two poses.
        for (int i = 0; i < 2 && f != 5; i++) {
            double dt = i ? 0.008 : -0.004, turned[4];
            turn(q, dt, turned);
            fprintf(poses, "%.6f %.12f %.12f %.12f %.12f %.12f %.12f %.12f\n", (time + dt) / unit, pose[3] + 0.8 * dt,
                    pose[7], pose[11], turned[1], turned[2], turned[3], turned[0]);
        }
    }
    fclose(rgb), fclose(depth), fclose(poses);
}

static ImportOptions with_intrinsics(void) {
    ImportOptions options = usual();
    memcpy(options.intrinsics, (double[]){scene.K[0], scene.K[4], scene.K[2] - 0.5, scene.K[5] - 0.5},
           4 * sizeof(double));
    options.has_intrinsics = true;
    return options;
}

static void test_tum(void **state) {
    (void)state;
    write_tum(9);
    ImportOptions options = with_intrinsics();
    options.gap = 0.0135;
    ImportLeftOut left_out = {0};
    options.left_out = &left_out;
    Dataset *dataset = import_good(options);
    assert_int_equal(dataset_episode(dataset, 0)->V, 7); // 3 has no depth and 5 no pose within the gap
    assert_true(left_out.pictures == 2 && left_out.moments == 0);
    dataset_close(dataset);
}

// Without poses it is a recording of this layout all the same, and the error says what is missing.
static void test_tum_without_poses(void **state) {
    (void)state;
    write_tum(3);
    assert_int_equal(unlink(place("groundtruth.txt", 0, 0)), 0);
    refuse(with_intrinsics(), "recording: expected groundtruth.txt beside rgb.txt and depth.txt, the camera's poses");
}

static void test_tum_as_video(void **state) {
    (void)state;
    write_tum(3);
    ImportOptions options = with_intrinsics();
    options.as = AS_VIDEO;
    Dataset *dataset = import_good(options);
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->F == 3 && info->V == 1 && info->moving_cameras && info->depth_is_u16);
    assert_close(info->time_step, 0.03, 1e-5, 0);
    compare_images(dataset, NULL, 0.00011, 1e-6); // times since 1970 are rounded to 0.2 us
    dataset_close(dataset);
    options.as = AS_RECORDED;
    dataset = import_good(options);
    assert_true(dataset_episode(dataset, 0)->F == 1 && dataset_episode(dataset, 0)->V == 3);
    compare_images(dataset, NULL, 0.00011, 1e-6);
    dataset_close(dataset);
}

// Said only where nothing tells whether the scene stands still.
static void test_tum_note(void **state) {
    (void)state;
    const char *words = "taken as 3 views of a still scene; --as video makes frames of a scene that moves";
    char said[4096];
    write_tum(3);
    ImportOptions options = with_intrinsics();
    import_messages(options, said, sizeof said);
    assert_non_null(strstr(said, words));
    options.holdout = 2;
    import_messages(options, said, sizeof said);
    assert_null(strstr(said, "still scene"));
    options = with_intrinsics();
    options.window = 2;
    import_messages(options, said, sizeof said);
    assert_null(strstr(said, "still scene"));
    options = with_intrinsics();
    options.as = AS_STILL;
    import_messages(options, said, sizeof said);
    assert_null(strstr(said, "still scene"));
    write_tum(1);
    import_messages(with_intrinsics(), said, sizeof said);
    assert_null(strstr(said, "still scene"));
}

// Nanoseconds, as ROS has them: told from the step of 30 million, or said.
static void test_tum_time_unit(void **state) {
    (void)state;
    tum_unit = 1e-9;
    write_tum(3);
    tum_unit = 1;
    ImportOptions options = with_intrinsics();
    options.as = AS_VIDEO;
    for (int said = 0; said < 2; said++) {
        options.time_unit = said ? 1e-9 : 0;
        Dataset *dataset = import_good(options);
        assert_close(dataset_episode(dataset, 0)->time_step, 0.03, 1e-5, 0);
        compare_images(dataset, NULL, 0.00011, 1e-5); // 256 ns are the smallest step of such numbers
        dataset_close(dataset);
    }
    options.time_unit = 1; // wrong: nothing lies within 20 ms
    refuse(options, "are the clocks the same?");
}

static void test_tum_wrong(void **state) {
    (void)state;
    write_tum(3);
    replace_text("depth.txt", "1305031100.0 depth/0.png\n");
    refuse(with_intrinsics(),
           "expected depth within 0.02 s of a colour picture and poses at most 0.04 s apart around it, found none");
    replace_text("depth.txt", "1305031102.3 depth/0.png\n1305031102.2 depth/1.png\n");
    refuse(with_intrinsics(), "depth.txt:2: expected increasing times");
    replace_text("depth.txt", "1305031102.2\n");
    refuse(with_intrinsics(), "depth.txt:1: expected a time and a file");
    replace_text("depth.txt", "1305031102.1758 ../../../etc/passwd\n");
    refuse(with_intrinsics(), "passwd");
    replace_text("groundtruth.txt", "1 2 3\n");
    refuse(with_intrinsics(), "groundtruth.txt:1: expected 8 numbers, found 3");
    replace_text("groundtruth.txt", "# nothing\n");
    refuse(with_intrinsics(), "groundtruth.txt: expected lines with times, found none");
}

// ---- ScanNet

static void write_matrix(const char *path, const double *values) {
    FILE *file = file_at(path);
    write_numbers(file, values, 16, 4);
    fclose(file);
}

// 4x4 intrinsics with whole-number centres, for a picture `scale` times the scene's size and cut by `left` pixels.
static void write_lens(const char *name, double scale, double left) {
    const double *K = scene.K;
    double out[16] = {
        K[0] * scale, 0, K[2] * scale - left - 0.5, 0, 0, K[4] * scale, K[5] * scale - 0.5, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    write_matrix(place(name, 0, 0), out);
}

// Depth at half the size, from a lens that sees 4 of its pixels less on the left and shows as many more on the right.
static void write_small_depth(int v) {
    Scene large = scene;
    double K[9];
    memcpy(K, scene.K, sizeof K);
    for (int i = 0; i < 6; i++) K[i] *= 0.5;
    K[2] -= 4;
    Error err = {0};
    Image words;
    assert_status_ok(image_create(48, 64, 1, PIXEL_U16, &words, &err), err);
    for (int i = 0; i < 48 * 64; i++) {
        uint8_t rgb[3];
        uint16_t mask;
        float depth;
        scene_shade(K, scene_pose(0, v), large.position, i % 64, i / 64, rgb, &depth, &mask);
        ((uint16_t *)words.pixels)[i] = (uint16_t)lrint(1000 * depth);
    }
    assert_status_ok(file_make_parent(place("depth/%d.png", v, 0), &err), err);
    assert_status_ok(image_write_png(&words, place("depth/%d.png", v, 0), &err), err);
    image_free(&words);
}

static void write_scannet(void) {
    scene_replace(1, 5, 96, 128, 0);
    write_lens("intrinsic/intrinsic_color.txt", 1, 0);
    write_lens("intrinsic/intrinsic_depth.txt", 0.5, 4);
    for (int v = 0; v < 5; v++) {
        double pose[16];
        memcpy(pose, scene_pose(0, v), sizeof pose);
        if (v == 2) {
            for (int i = 0; i < 16; i++) pose[i] = -INFINITY;
        }
        write_colour(0, v, place("color/%d.png", v, 0));
        write_small_depth(v);
        write_matrix(place("pose/%d.txt", v, 0), pose);
    }
}

static void test_scannet(void **state) {
    (void)state;
    write_scannet();
    Dataset *dataset = import_good(usual());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->V == 4 && info->H == 96 && info->W == 128); // the lost one is left out
    for (int i = 0; i < 9; i++) assert_close(info->intrinsics[i], scene.K[i], 1e-9, 0);
    Frames frames = {0};
    Error err = {0};
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), err);
    size_t near = 0, known = 0, missing = 0;
    for (size_t i = 0; i < scene_pixels(); i++) {
        bool left = i % 128 < 8; // what the depth camera did not see
        missing += left && frames.depth[i] == 0;
        if (left || frames.depth[i] == 0 || scene.depth[i] == 0) continue;
        known++;
        near += test_close(frames.depth[i], scene.depth[i], 0.002, 0);
    }
    assert_true(missing == 96 * 8 && known > 4000);
    // On the far floor neighbouring depths differ by more than 5 %, and the nearest is taken.
    assert_true((double)near > 0.8 * (double)known);
    frames_free(&frames);
    dataset_close(dataset);
}

static void test_scannet_wrong(void **state) {
    (void)state;
    write_scannet();
    replace_text("pose/1.txt", "1 0 0\n");
    refuse(usual(), "pose/1.txt:1: expected 4 numbers, found 3");
    write_scannet();
    assert_int_equal(unlink(place("depth/3.png", 0, 0)), 0);
    refuse(usual(), "depth/3.png");
    write_scannet();
    for (int v = 0; v < 5; v++)
        replace_text(place("pose/%d.txt", v, 0) + strlen(source) + 1,
                     "-inf -inf -inf -inf\n-inf -inf -inf -inf\n-inf -inf -inf -inf\n-inf -inf -inf -inf\n");
    refuse(usual(), "expected finite poses, found none in 5 pictures");
    write_lens("intrinsic/extrinsic_color.txt", 1, 0);
    write_lens("intrinsic/extrinsic_depth.txt", 2, 0);
    refuse(usual(), "found a depth camera at another place");
}

// ---- BOP

static void write_bop(const char *with_poses) {
    for (int s = 1; s <= 2; s++) {
        FILE *file = file_at(place("%06d/scene_camera.json", s, 0));
        fprintf(file, "{");
        for (int v = 0; v < 9; v++) {
            double inverse[16], R[9];
            double K[9] = {scene.K[0], 0, 15.5, 0, scene.K[4], 11.5, 0, 0, 1};
            pose_inverse(scene_pose(0, v), inverse);
            for (int i = 0; i < 9; i++) R[i] = inverse[4 * (i / 3) + i % 3];
            fprintf(file, "%s\"%d\": {\"cam_K\": ", v ? ", " : "", 3 * v);
            write_json_rows(file, K, 9, 9);
            fprintf(file, ", \"depth_scale\": %g, \"cam_R_w2c%s\": ", v == 1 ? 0.2 : 0.1, with_poses);
            write_json_rows(file, R, 9, 9);
            fprintf(file, ", \"cam_t_w2c\": [%.17g, %.17g, %.17g]}", 1000 * inverse[3], 1000 * inverse[7],
                    1000 * inverse[11]);
            write_colour(0, v, place("%06d/rgb/%06d.png", s, 3 * v));
            write_depth(0, v, place("%06d/depth/%06d.png", s, 3 * v), v == 1 ? 0.0002 : 0.0001, plain);
        }
        fprintf(file, "}");
        fclose(file);
    }
}

static void test_bop(void **state) {
    (void)state;
    write_bop("");
    Dataset *dataset = import_good(usual());
    assert_int_equal(dataset_episode_count(dataset), 2);
    assert_string_equal(dataset_episode(dataset, 1)->scene, "000002");
    compare_images(dataset, NULL, 0.00011, 1e-9);
    dataset_close(dataset);
    write_bop("_none");
    refuse(usual(), "expected cam_R_w2c and cam_t_w2c, found none");
    replace_text("000001/scene_camera.json", "{\"0\": {}}");
    refuse(usual(), "image \"0\"");
    replace_text("000001/scene_camera.json", "{}");
    refuse(usual(), "expected a camera \"0\" for 000000.png");
}

static void write_mask(int image, int object, const Image *picture) {
    Error err = {0};
    const char *path = place("000001/mask_visib/%06d_%06d.png", image, object);
    assert_status_ok(file_make_parent(path, &err), err);
    assert_status_ok(image_write_png(picture, path, &err), err);
}

// Object 7 is the ball, object 3 the floor: every other image lists them the other way round. Image 0 has one more
// object 7, which is hidden.
static void write_masks(void) {
    uint8_t pixels[24 * 32];
    const Image picture = {24, 32, 1, PIXEL_U8, pixels};
    FILE *file = text_at("000001/scene_gt.json");
    for (int v = 0; v < 9; v++) {
        static const char *const LISTS[2] = {"[{\"obj_id\": 7}, {\"obj_id\": 3}", "[{\"obj_id\": 3}, {\"obj_id\": 7}"};
        fprintf(file, "%s\"%d\": %s%s]", v ? ", " : "{", 3 * v, LISTS[v % 2], v ? "" : ", {\"obj_id\": 7}");
        for (int object = 0; object < (v ? 2 : 3); object++) {
            bool ball = object == v % 2;
            for (size_t i = 0; i < sizeof pixels; i++) {
                size_t at = scene_cell(0, v) * scene_pixels() + i;
                pixels[i] = object == 2 ? 0
                            : ball      ? 255 * (scene.mask[at] == 1)
                                        : 255 * (scene.mask[at] == 0 && scene.depth[at] > 0);
            }
            write_mask(3 * v, object, &picture);
        }
    }
    fprintf(file, "}");
    fclose(file);
}

static void test_bop_masks(void **state) {
    (void)state;
    Error err = {0};
    Frames frames = {0};
    write_bop("");
    write_masks();
    Dataset *dataset = import_good(usual());
    assert_true(dataset_episode(dataset, 0)->has_mask && !dataset_episode(dataset, 1)->has_mask);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), err);
    for (size_t i = 0; i < 9 * scene_pixels(); i++)
        assert_int_equal(frames.mask[i], scene.mask[i] == 1 ? 2 : scene.depth[i] > 0);
    frames_free(&frames);
    dataset_close(dataset);

    uint8_t pixels[12] = {0};
    write_mask(3, 1, &(Image){3, 4, 1, PIXEL_U8, pixels});
    refuse(usual(), "000003_000001.png: expected a mask of one channel, 8 bit, 32 x 24, found 1 channels, 4 x 3");
    assert_int_equal(unlink(place("000001/mask_visib/%06d_%06d.png", 3, 1)), 0);
    refuse(usual(), "mask_visib/000003_000001.png");
    replace_text("000001/scene_gt.json", "{\"0\": [{\"obj_id\": 7}], \"3\": [{\"id\": 7}]}");
    refuse(usual(), "image \"3\": expected a whole number \"obj_id\" of object 0");
    replace_text("000001/scene_gt.json", "{\"0\": [{\"obj_id\": 7}]}");
    refuse(usual(), "expected the objects of image \"3\", found none; without mask_visib/");
}

// ---- Open3D

static void write_open3d(const char *intrinsics) {
    FILE *log = text_at("odometry.log");
    for (int v = 8; v >= 0; v--) {                       // poses may come in any order
        write_colour(0, v, place("color/%d.png", v, 0)); // 10.png would sort before 2.png by letters
        write_depth(0, v, place("depth/frame-%06d.png", v, 0), 0.001, plain);
        fprintf(log, "%d %d %d\n", v, v, v + 1);
        write_numbers(log, scene_pose(0, v), 16, 4);
    }
    fclose(log);
    replace_text("camera_intrinsic.json", intrinsics);
}

static void test_open3d(void **state) {
    (void)state;
    char intrinsics[256];
    snprintf(intrinsics, sizeof intrinsics,
             "{\"width\": 32, \"height\": 24, \"intrinsic_matrix\": [%.17g, 0, 0, 0, %.17g, 0, 15.5, 11.5, 1]}",
             scene.K[0], scene.K[4]);
    write_open3d(intrinsics);
    Dataset *dataset = import_good(usual());
    compare_images(dataset, (int[]){8, 7, 6, 5, 4, 3, 2, 1, 0}, 0.00051, 1e-9);
    dataset_close(dataset);
    write_open3d("{\"intrinsic_matrix\": [[30, 0, 15.5]]}");
    refuse(usual(), "\"intrinsic_matrix\": expected 9 numbers, found 3");
    assert_int_equal(unlink(place("camera_intrinsic.json", 0, 0)), 0);
    refuse(usual(), "give --intrinsics fx,fy,cx,cy");
    dataset = import_good(with_intrinsics());
    compare_images(dataset, (int[]){8, 7, 6, 5, 4, 3, 2, 1, 0}, 0.00051, 1e-9);
    dataset_close(dataset);
    replace_text("odometry.log", "9 9 10\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    refuse(with_intrinsics(), "expected a pose of one of 9 pictures, found number 9");
    assert_int_equal(unlink(place("depth/frame-%06d.png", 4, 0)), 0);
    refuse(with_intrinsics(), "expected as many depth as colour pictures, found 8 and 9");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_tum),      TEST(test_tum_without_poses), TEST(test_tum_as_video), TEST(test_tum_time_unit),
        TEST(test_tum_note), TEST(test_tum_wrong),         TEST(test_scannet),      TEST(test_scannet_wrong),
        TEST(test_bop),      TEST(test_bop_masks),         TEST(test_open3d),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
