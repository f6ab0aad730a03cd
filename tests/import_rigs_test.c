// SPDX-License-Identifier: Apache-2.0
// COLMAP models, and rigs of fixed cameras: PGND and PhysTwin, each with its traps.
#include "tests/import_scene.h"

// ---- COLMAP

static void camera_from_world(int v, double q[4], double t[3]) {
    double inverse[16];
    pose_inverse(scene_pose(0, v), inverse);
    quaternion_of(inverse, q);
    for (int i = 0; i < 3; i++) t[i] = inverse[4 * i + 3];
}

// "W&H&C&" and floats, as COLMAP writes them.
static void write_map(int v, const char *path) {
    FILE *file = file_at(path);
    fprintf(file, "%d&%d&1&", scene.info.W, scene.info.H);
    fwrite(scene.depth + scene_cell(0, v) * scene_pixels(), sizeof(float), scene_pixels(), file);
    fclose(file);
}

static void write_colmap_text(const char *camera) {
    FILE *cameras = text_at("sparse/0/cameras.txt"), *images = text_at("sparse/0/images.txt");
    fprintf(cameras, "# Camera list\n%s\n", camera);
    fprintf(images, "# Image list with two lines of data per image:\n");
    for (int v = 8; v >= 0; v--) {
        double q[4], t[3];
        camera_from_world(v, q, t);
        fprintf(images, "%d %.15g %.15g %.15g %.15g %.15g %.15g %.15g 7 left/%d.png\n", v + 1, q[0], q[1], q[2], q[3],
                t[0], t[1], t[2], v);
        fprintf(images, v % 2 ? "\n" : "12.5 3.5 -1 4 4 17\n"); // an image without points has an empty line
        write_colour(0, v, place("images/left/%d.png", v, 0));
        write_map(v, place("stereo/depth_maps/left/%d.png.geometric.bin", v, 0));
    }
    fclose(cameras), fclose(images);
}

static void test_colmap_text(void **state) {
    (void)state;
    char camera[128];
    snprintf(camera, sizeof camera, "7 PINHOLE 32 24 %.17g %.17g 16 12", scene.K[0], scene.K[4]);
    write_colmap_text(camera);
    Dataset *dataset = import_good(usual());
    assert_int_equal(dataset_episode(dataset, 0)->V, 9);
    compare_images(dataset, NULL, 1e-6, 1e-9);
    dataset_close(dataset);
    snprintf(camera, sizeof camera, "7 PINHOLE 32 24 1 1 16 12\n3 PINHOLE 32 24 1 1 16 12\n7 PINHOLE 32 24 2 2 16 12");
    write_colmap_text(camera);
    refuse(usual(), "cameras.txt: expected each camera once, found two of number 7");
    // One lens after the other: those without distortion give the same.
    snprintf(camera, sizeof camera, "7 SIMPLE_RADIAL 32 24 %.17g 16 12 0", scene.K[0]);
    write_colmap_text(camera);
    dataset = import_good(usual());
    compare_images(dataset, NULL, 1e-6, 1e-9);
    dataset_close(dataset);
    snprintf(camera, sizeof camera, "7 OPENCV 32 24 %.17g %.17g 16 12 0.1 0 0 0", scene.K[0], scene.K[4]);
    write_colmap_text(camera);
    dataset = import_good(usual());
    Frames frames = {0};
    Error err = {0};
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), err);
    assert_true(memcmp(frames.rgb, scene.rgb, 3 * scene_pixels()) != 0); // undistorted
    frames_free(&frames);
    dataset_close(dataset);
}

static void put_u64(FILE *file, uint64_t value) { fwrite(&value, sizeof value, 1, file); }
static void put_u32(FILE *file, uint32_t value) { fwrite(&value, sizeof value, 1, file); }

static void write_colmap_binary(uint32_t model) {
    FILE *cameras = text_at("dense/sparse/cameras.bin"), *images = text_at("dense/sparse/images.bin");
    double lens[8] = {scene.K[0], 16, 12, 0, 0};
    put_u64(cameras, 1);
    put_u32(cameras, 3), put_u32(cameras, model), put_u64(cameras, 32), put_u64(cameras, 24);
    fwrite(lens, sizeof *lens, 5, cameras);
    put_u64(images, 9);
    for (int v = 0; v < 9; v++) {
        double q[4], t[3], point[3] = {1, 2, 3};
        char name[32];
        camera_from_world(v, q, t);
        put_u32(images, (uint32_t)v + 1);
        fwrite(q, sizeof q, 1, images), fwrite(t, sizeof t, 1, images);
        put_u32(images, 3);
        int length = snprintf(name, sizeof name, "%d.png", v);
        fwrite(name, 1, (size_t)length + 1, images);
        put_u64(images, 1);
        fwrite(point, sizeof point, 1, images);
        write_colour(0, v, place("dense/images/%d.png", v, 0));
        write_depth(0, v, place("dense/depth/%d.png", v, 0), 0.001, plain);
    }
    fclose(cameras), fclose(images);
}

static void test_colmap_binary(void **state) {
    (void)state;
    write_colmap_binary(3); // RADIAL
    Dataset *dataset = import_good(usual());
    compare_images(dataset, NULL, 0.00051, 1e-9);
    dataset_close(dataset);
    write_colmap_binary(7); // FOV
    refuse(usual(), "found FOV; run \"colmap image_undistorter\" first");
    write_colmap_binary(99);
    refuse(usual(), "cameras.bin: expected a COLMAP model, found");
    write_colmap_binary(3);
    assert_int_equal(truncate(place("dense/sparse/images.bin", 0, 0), 500), 0);
    refuse(usual(), "images.bin: expected a COLMAP model, found 500 bytes");
    FILE *images = text_at("dense/sparse/images.bin");
    put_u64(images, 1);
    put_u32(images, 1);
    fwrite(scene.K, sizeof(double), 7, images);
    put_u32(images, 3);
    fwrite("a.png", 1, 6, images);
    put_u64(images, UINT64_MAX / 24 + 2); // times 24 it is a small number
    fclose(images);
    refuse(usual(), "images.bin: expected a COLMAP model");
}

static void test_colmap_wrong(void **state) {
    (void)state;
    write_colmap_text("7 PINHOLE 32 24 30 30 16");
    refuse(usual(), "cameras.txt:2: expected 4 numbers, found 3");
    write_colmap_text("8 PINHOLE 32 24 30 30 16 12");
    refuse(usual(), "expected camera 7 of left/0.png, found none");
    write_colmap_text("7 PINHOLE 32 24 30 30 16 12");
    for (int v = 0; v < 9; v++) assert_int_equal(unlink(place("stereo/depth_maps/left/%d.png.geometric.bin", v, 0)), 0);
    refuse(usual(), "expected depth of its 9 images, found none");
    write_colmap_text("7 PINHOLE 32 24 30 30 16 12");
    FILE *map = file_at(place("stereo/depth_maps/left/%d.png.geometric.bin", 0, 0));
    fprintf(map, "16000&16000&1&");
    fclose(map);
    refuse(usual(), "expected 16000 x 16000 floats in a COLMAP map, found 0 bytes");
    replace_text("sparse/0/images.txt", "1 1 0 0 0 0 0 0 7 ../../../../etc/passwd\n\n");
    refuse(usual(), "expected depth of its 1 images, found none");
}

// ---- PGND

static void write_pgnd(const char *descr) {
    double K[27], r[9], t[9];
    scene_replace(4, 3, 24, 32, 0);
    for (int v = 0; v < 3; v++) {
        double inverse[16], q[4];
        memcpy(K + 9 * v, scene.K, 9 * sizeof *K);
        K[9 * v + 2] -= 0.5, K[9 * v + 5] -= 0.5;
        pose_inverse(scene_pose(0, v), inverse);
        quaternion_of(inverse, q);
        double s = sqrt(1 - q[0] * q[0]), angle = 2 * atan2(s, q[0]);
        for (int i = 0; i < 3; i++) r[3 * v + i] = angle * q[1 + i] / s, t[3 * v + i] = inverse[4 * i + 3];
    }
    write_npy(place("episode_0000/calibration/intrinsics.npy", 0, 0), descr, "(3, 3, 3)", K, sizeof K);
    write_npy(place("episode_0000/calibration/rvecs.npy", 0, 0), descr, "(3, 3, 1)", r, sizeof r);
    write_npy(place("episode_0000/calibration/tvecs.npy", 0, 0), descr, "(3, 3, 1)", t, sizeof t);
    FILE *times = text_at("episode_0000/timestamps.txt");
    for (int line = 0; line < 4; line++) {
        // Camera 2 started a frame late: its line l is moment l + 1.
        fprintf(times, "%d %.3f %.3f %.3f\n", line, 100 + 0.1 * line, 100.01 + 0.1 * line, 100.098 + 0.1 * line);
        for (int v = 0; v < 3; v++) {
            int f = v == 2 ? line + 1 : line;
            if (f > 3) f = 3;
            char colour[96], depth[96];
            snprintf(colour, sizeof colour, "episode_0000/camera_%d/rgb/%06d.png", v, line);
            snprintf(depth, sizeof depth, "episode_0000/camera_%d/depth/%06d.png", v, line);
            write_colour(f, v, place(colour, 0, 0));
            write_depth(f, v, place(depth, 0, 0), 0.001, plain);
        }
    }
    fclose(times);
}

static void test_pgnd(void **state) {
    (void)state;
    write_pgnd("<f8");
    Dataset *dataset = import_good(usual());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->F == 3 && info->V == 3 && !info->moving_cameras);
    compare_images(dataset, (int[]){3, 4, 5, 6, 7, 8, 9, 10, 11}, 0.00051, 1e-9);
    assert_close(info->time[0], 100.1, 1e-9, 0);
    dataset_close(dataset);
    char said[4096];
    ImportLeftOut left_out = {0};
    ImportOptions options = usual();
    options.left_out = &left_out;
    assert_int_equal(unlink(place("episode_0000/camera_1/depth/%06d.png", 2, 0)), 0);
    import_messages(options, said, sizeof said);
    assert_non_null(strstr(said, "episode_0000: 1 pictures have no depth or no time and are left out"));
    assert_true(left_out.pictures == 1);
    replace_text("episode_0000/timestamps.txt", "0 100.0 100.0 x\n");
    refuse(usual(), "timestamps.txt:1: expected a time of each of the 3 cameras");
    write_pgnd("|O");
    refuse(usual(), "found Python objects (a pickle), which are never read");
    write_pgnd(">f8");
    refuse(usual(), "expected little-endian");
    write_pgnd("<f4");
    refuse(usual(), "expected 27 numbers of 4 bytes, found 216 bytes");
    write_pgnd("<f8");
    write_npy(place("episode_0000/calibration/rvecs.npy", 0, 0), "<f8", "(2, 3)", scene.K, 6 * sizeof(double));
    refuse(usual(), "rvecs.npy: expected an array of shape (3,3), where 0 is any size, found (2,3)");
}

// Of two cameras that move nothing, a moment is left out when one has no picture of it: frames and times stay together.
static void test_skip_bad_moment(void **state) {
    (void)state;
    ImportReport report = {0};
    ImportOptions options = usual();
    options.report = &report;
    write_pgnd("<f8");
    replace_text("episode_0000/camera_1/rgb/000002.png", "");
    Dataset *dataset = import_good(options);
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->F == 2 && info->V == 3 && report.bad == 1 && report.left_out == 3 && report.pictures == 9);
    compare_images(dataset, (int[]){3, 4, 5, 9, 10, 11}, 0.00051, 1e-9);
    assert_close(info->time[1], 100.3, 1e-9, 0);
    dataset_close(dataset);
    import_report_free(&report);
}

// ---- PhysTwin

static void write_phystwin(bool converted) {
    double poses[32];
    scene_replace(3, 2, 24, 32, 0);
    FILE *file = text_at("metadata.json");
    fprintf(file, "{\"fps\": 30, \"WH\": [32, 24], \"intrinsics\": [");
    for (int v = 0; v < 2; v++) {
        double K[9];
        memcpy(K, scene.K, sizeof K);
        K[2] -= 0.5, K[5] -= 0.5;
        fprintf(file, "%s", v ? ", " : "");
        write_json_rows(file, K, 9, 3);
        memcpy(poses + 16 * v, scene_pose(0, v), 16 * sizeof(double));
        for (int f = 0; f < 3; f++) {
            uint16_t words[24 * 32];
            for (size_t i = 0; i < 24 * 32; i++)
                words[i] = (uint16_t)lrint(1000 * scene.depth[scene_cell(f, v) * scene_pixels() + i]);
            write_colour(f, v, place("color/%d/%d.png", v, f));
            write_npy(place("depth/%d/%d.npy", v, f), "<u2", "(24, 32)", words, sizeof words);
        }
    }
    fprintf(file, "]}");
    fclose(file);
    replace_text("calibrate.pkl", "cos\nsystem\n(S'touch pwned'\ntR.");
    if (converted) write_npy(place("calibrate.npy", 0, 0), "<f8", "(2, 4, 4)", poses, sizeof poses);
}

static void test_phystwin(void **state) {
    (void)state;
    write_phystwin(false);
    refuse(usual(), "expected calibrate.npy, found a pickle, which is a program and is never read");
    write_phystwin(true);
    Dataset *dataset = import_good(usual());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->F == 3 && info->V == 2 && info->depth_is_u16);
    assert_close(info->time_step, 1.0 / 30, 1e-9, 0);
    compare_images(dataset, NULL, 0.00051, 1e-12);
    dataset_close(dataset);
    write_npy(place("calibrate.npy", 0, 0), "<f8", "(1, 4, 4)", scene.poses, 16 * sizeof(double));
    refuse(usual(), "calibrate.npy: expected an array of shape (2,4,4), where 0 is any size, found (1,4,4)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_colmap_text), TEST(test_colmap_binary),   TEST(test_colmap_wrong),
        TEST(test_pgnd),        TEST(test_skip_bad_moment), TEST(test_phystwin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
