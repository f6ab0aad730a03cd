// SPDX-License-Identifier: Apache-2.0
// The scene of import_scene.h in the layout of every format that "data import" knows, without traps: those have tests
// of their own. Depth is that of the scene, or of the same scene in pictures of another size.
#ifndef VPD_TESTS_IMPORT_LAYOUTS_H
#define VPD_TESTS_IMPORT_LAYOUTS_H

#include "datasets/h5_write.h"
#include "tests/import_scene.h"

#define LAYOUT_UNIT 0.0002 // metres a unit of 16-bit depth: rounding gives 0.05 mm in the median

static Scene layout_depth;    // the same cameras with depth pictures of another size
static bool layout_has_depth; // it is used

static inline void layout_swap(void) {
    Scene kept = scene;
    if (!layout_has_depth) return;
    scene = layout_depth;
    layout_depth = kept;
}

static inline void layout_words(int f, int v, const char *path, double unit, CodeWord *code) {
    layout_swap();
    write_depth(f, v, path, unit, code);
    layout_swap();
}

// K with whole-number pixel centres, of the scene's pictures.
static inline void layout_lens(double K[9]) {
    memcpy(K, scene.K, 9 * sizeof *K);
    K[2] -= 0.5;
    K[5] -= 0.5;
}

static inline void layout_camera_from_world(int v, double inverse[16], double q[4]) {
    pose_inverse(scene_pose(0, v), inverse);
    quaternion_of(inverse, q);
}

static inline void layout_hololens(void) {
    double K[9];
    FILE *intrinsics = text_at("K.txt"), *poses = text_at("poses.txt");
    layout_lens(K);
    write_numbers(intrinsics, K, 9, 3);
    for (int v = 0; v < scene.info.V; v++) {
        write_colour(0, v, place("images/%05d.png", v, 0));
        layout_words(0, v, place("depth/%05d.png", v, 0), LAYOUT_UNIT, plain);
        write_numbers(poses, scene_pose(0, v), 16, 16);
    }
    fclose(intrinsics), fclose(poses);
}

static inline uint16_t layout_rotated(uint16_t word) { return (uint16_t)(word << 3 | word >> 13); }

static inline void layout_apc(void) {
    double K[9];
    FILE *info = text_at("cam.info.txt");
    layout_lens(K);
    fprintf(info, "# Color camera intrinsic matrix\n");
    write_numbers(info, K, 9, 3);
    for (int v = 0; v < scene.info.V; v++) {
        write_colour(0, v, place("frame-%06d.color.png", v, 0));
        layout_words(0, v, place("frame-%06d.depth.png", v, 0), LAYOUT_UNIT, layout_rotated);
        fprintf(info, "\n# Camera-to-world extrinsic matrix (camera pose) for frame-%06d\n", v);
        write_numbers(info, scene_pose(0, v), 16, 4);
    }
    fclose(info);
}

static inline void layout_nerfstudio(void) {
    FILE *file = text_at("transforms.json");
    const double *K = scene.K;
    fprintf(file, "{\"w\": %d, \"h\": %d, \"fl_x\": %.17g, \"fl_y\": %.17g, \"cx\": %.17g, \"cy\": %.17g, ",
            scene.info.W, scene.info.H, K[0], K[4], K[2], K[5]);
    fprintf(file, "\"depth_unit_scale_factor\": %g, \"frames\": [", LAYOUT_UNIT);
    for (int v = 0; v < scene.info.V; v++) {
        double gl[16];
        pose_flip_opengl(scene_pose(0, v), gl);
        write_colour(0, v, place("images/%d.png", v, 0));
        layout_words(0, v, place("depth/%d.png", v, 0), LAYOUT_UNIT, plain);
        fprintf(file, "%s{\"file_path\": \"images/%d.png\", \"depth_file_path\": \"depth/%d.png\", ", v ? ", " : "", v,
                v);
        fprintf(file, "\"transform_matrix\": ");
        write_json_rows(file, gl, 16, 4);
        fprintf(file, "}");
    }
    fprintf(file, "]}");
    fclose(file);
}

static inline void layout_kubric_depth(int f, int v) {
    layout_swap();
    size_t pixels = scene_pixels(), cell = scene_cell(f, v);
    float *rays = malloc(pixels * sizeof *rays);
    assert_non_null(rays);
    for (size_t i = 0; i < pixels; i++)
        rays[i] = (float)(scene.depth[cell * pixels + i] * ray_length(scene.K + 9 * v, i));
    write_tiff(place("cam_%d/depth_%05d.tiff", v, f), rays);
    free(rays);
    layout_swap();
}

static inline void layout_kubric(void) {
    const double *K = scene.K;
    for (int v = 0; v < scene.info.V; v++) {
        double gl[16], q[4];
        pose_flip_opengl(scene_pose(0, v), gl);
        quaternion_of(gl, q);
        FILE *file = file_at(place("cam_%d/metadata.json", v, 0));
        fprintf(file, "{\"metadata\": {\"frame_rate\": 10}, \"camera\": {");
        fprintf(file, "\"K\": [[%.17g, 0, -0.5], [0, %.17g, -0.5], [0, 0, -1]]", K[0] / scene.info.W,
                -K[4] / scene.info.H);
        for (int kind = 0; kind < 2; kind++) {
            fprintf(file, ", \"%s\": [", kind ? "quaternions" : "positions");
            for (int f = 0; f < scene.info.F; f++)
                kind ? fprintf(file, "%s[%.17g, %.17g, %.17g, %.17g]", f ? ", " : "", q[0], q[1], q[2], q[3])
                     : fprintf(file, "%s[%.17g, %.17g, %.17g]", f ? ", " : "", gl[3], gl[7], gl[11]);
            fprintf(file, "]");
        }
        fprintf(file, "}}");
        fclose(file);
        for (int f = 0; f < scene.info.F; f++) {
            write_colour(f, v, place("cam_%d/rgba_%05d.png", v, f));
            layout_kubric_depth(f, v);
        }
    }
}

static inline void layout_tum(void) {
    FILE *rgb = text_at("rgb.txt"), *depth = text_at("depth.txt"), *poses = text_at("groundtruth.txt");
    for (int v = 0; v < scene.info.V; v++) {
        double time = 100 + 0.03 * v, q[4];
        const double *pose = scene_pose(0, v);
        quaternion_of(pose, q);
        write_colour(0, v, place("rgb/%d.png", v, 0));
        layout_words(0, v, place("depth/%d.png", v, 0), LAYOUT_UNIT, plain);
        fprintf(rgb, "%.6f rgb/%d.png\n", time, v);
        fprintf(depth, "%.6f depth/%d.png\n", time, v);
        fprintf(poses, "%.6f %.12f %.12f %.12f %.12f %.12f %.12f %.12f\n", time, pose[3], pose[7], pose[11], q[1], q[2],
                q[3], q[0]);
    }
    fclose(rgb), fclose(depth), fclose(poses);
}

static inline void layout_matrix(const char *name, const double values[16]) {
    FILE *file = file_at(name);
    write_numbers(file, values, 16, 4);
    fclose(file);
}

static inline void layout_scannet_lens(const char *name) {
    double K[9], wide[16] = {[10] = 1, [15] = 1};
    layout_lens(K);
    for (int i = 0; i < 2; i++) memcpy(wide + 4 * i, K + 3 * i, 3 * sizeof *K);
    layout_matrix(place(name, 0, 0), wide);
}

static inline void layout_scannet(void) {
    layout_scannet_lens("intrinsic/intrinsic_color.txt");
    layout_swap();
    layout_scannet_lens("intrinsic/intrinsic_depth.txt");
    layout_swap();
    for (int v = 0; v < scene.info.V; v++) {
        write_colour(0, v, place("color/%d.png", v, 0));
        layout_words(0, v, place("depth/%d.png", v, 0), LAYOUT_UNIT, plain);
        layout_matrix(place("pose/%d.txt", v, 0), scene_pose(0, v));
    }
}

static inline void layout_bop(void) {
    double K[9];
    FILE *file = text_at("scene_camera.json");
    layout_lens(K);
    for (int v = 0; v < scene.info.V; v++) {
        double inverse[16], q[4], R[9];
        layout_camera_from_world(v, inverse, q);
        for (int i = 0; i < 9; i++) R[i] = inverse[4 * (i / 3) + i % 3];
        fprintf(file, "%s\"%d\": {\"cam_K\": ", v ? ", " : "{", v);
        write_json_rows(file, K, 9, 9);
        fprintf(file, ", \"depth_scale\": %g, \"cam_R_w2c\": ", 1000 * LAYOUT_UNIT);
        write_json_rows(file, R, 9, 9);
        fprintf(file, ", \"cam_t_w2c\": [%.17g, %.17g, %.17g]}", 1000 * inverse[3], 1000 * inverse[7],
                1000 * inverse[11]);
        write_colour(0, v, place("rgb/%06d.png", v, 0));
        layout_words(0, v, place("depth/%06d.png", v, 0), LAYOUT_UNIT, plain);
    }
    fprintf(file, "}");
    fclose(file);
}

static inline void layout_open3d(void) {
    double K[9];
    FILE *log = text_at("odometry.log"), *lens = text_at("camera_intrinsic.json");
    layout_lens(K);
    fprintf(lens, "{\"intrinsic_matrix\": [%.17g, 0, 0, 0, %.17g, 0, %.17g, %.17g, 1]}", K[0], K[4], K[2], K[5]);
    for (int v = 0; v < scene.info.V; v++) {
        write_colour(0, v, place("color/%06d.png", v, 0));
        layout_words(0, v, place("depth/%06d.png", v, 0), LAYOUT_UNIT, plain);
        fprintf(log, "%d %d %d\n", v, v, v + 1);
        write_numbers(log, scene_pose(0, v), 16, 4);
    }
    fclose(log), fclose(lens);
}

static inline void layout_colmap_map(int v) {
    layout_swap();
    FILE *file = file_at(place("stereo/depth_maps/%d.png.geometric.bin", v, 0));
    fprintf(file, "%d&%d&1&", scene.info.W, scene.info.H);
    fwrite(scene.depth + scene_cell(0, v) * scene_pixels(), sizeof(float), scene_pixels(), file);
    fclose(file);
    layout_swap();
}

static inline void layout_colmap(void) {
    const double *K = scene.K;
    FILE *cameras = text_at("sparse/0/cameras.txt"), *images = text_at("sparse/0/images.txt");
    fprintf(cameras, "1 PINHOLE %d %d %.17g %.17g %.17g %.17g\n", scene.info.W, scene.info.H, K[0], K[4], K[2], K[5]);
    for (int v = 0; v < scene.info.V; v++) {
        double inverse[16], q[4];
        layout_camera_from_world(v, inverse, q);
        fprintf(images, "%d %.15g %.15g %.15g %.15g %.15g %.15g %.15g 1 %d.png\n\n", v + 1, q[0], q[1], q[2], q[3],
                inverse[3], inverse[7], inverse[11], v);
        write_colour(0, v, place("images/%d.png", v, 0));
        layout_colmap_map(v);
    }
    fclose(cameras), fclose(images);
}

static inline void layout_pgnd(void) {
    double K[27], r[9], t[9];
    FILE *times = text_at("timestamps.txt");
    assert_int_equal(scene.info.V, 3);
    for (int v = 0; v < 3; v++) {
        double inverse[16], q[4];
        layout_lens(K + 9 * v);
        layout_camera_from_world(v, inverse, q);
        double s = sqrt(1 - q[0] * q[0]), angle = 2 * atan2(s, q[0]);
        for (int i = 0; i < 3; i++) r[3 * v + i] = angle * q[1 + i] / s, t[3 * v + i] = inverse[4 * i + 3];
    }
    write_npy(place("calibration/intrinsics.npy", 0, 0), "<f8", "(3, 3, 3)", K, sizeof K);
    write_npy(place("calibration/rvecs.npy", 0, 0), "<f8", "(3, 3, 1)", r, sizeof r);
    write_npy(place("calibration/tvecs.npy", 0, 0), "<f8", "(3, 3, 1)", t, sizeof t);
    for (int f = 0; f < scene.info.F; f++) {
        fprintf(times, "%d %.3f %.3f %.3f\n", f, 100 + 0.1 * f, 100 + 0.1 * f, 100 + 0.1 * f);
        for (int v = 0; v < 3; v++) {
            write_colour(f, v, place("camera_%d/rgb/%06d.png", v, f));
            layout_words(f, v, place("camera_%d/depth/%06d.png", v, f), LAYOUT_UNIT, plain);
        }
    }
    fclose(times);
}

static inline void layout_phystwin_depth(int f, int v) {
    layout_swap();
    char shape[64];
    size_t pixels = scene_pixels();
    uint16_t *words = malloc(pixels * sizeof *words);
    assert_non_null(words);
    for (size_t i = 0; i < pixels; i++)
        words[i] = (uint16_t)lrint(scene.depth[scene_cell(f, v) * pixels + i] / LAYOUT_UNIT);
    snprintf(shape, sizeof shape, "(%d, %d)", scene.info.H, scene.info.W);
    write_npy(place("depth/%d/%d.npy", v, f), "<u2", shape, words, pixels * sizeof *words);
    free(words);
    layout_swap();
}

static inline void layout_phystwin(void) {
    char shape[64];
    FILE *file = text_at("metadata.json");
    fprintf(file, "{\"fps\": 30, \"WH\": [%d, %d], \"intrinsics\": [", scene.info.W, scene.info.H);
    for (int v = 0; v < scene.info.V; v++) {
        double K[9];
        layout_lens(K);
        fprintf(file, "%s", v ? ", " : "");
        write_json_rows(file, K, 9, 3);
        for (int f = 0; f < scene.info.F; f++) {
            write_colour(f, v, place("color/%d/%d.png", v, f));
            layout_phystwin_depth(f, v);
        }
    }
    fprintf(file, "]}");
    fclose(file);
    snprintf(shape, sizeof shape, "(%d, 4, 4)", scene.info.V);
    write_npy(place("calibrate.npy", 0, 0), "<f8", shape, scene.poses, 16 * sizeof(double) * (size_t)scene.info.V);
}

static inline void layout_robot_depth(hid_t group, int v) {
    layout_swap();
    size_t F = (size_t)scene.info.F, H = (size_t)scene.info.H, W = (size_t)scene.info.W, pixels = H * W;
    int16_t *words = malloc(F * pixels * sizeof *words);
    assert_non_null(words);
    for (size_t i = 0; i < F * pixels; i++)
        words[i] = (int16_t)lrint(scene.depth[scene_cell((int)(i / pixels), v) * pixels + i % pixels] / LAYOUT_UNIT);
    assert_true(h5_write_array(group, "depth", H5_I16, 4, (size_t[]){F, H, W, 1}, words));
    free(words);
    layout_swap();
}

// ManiSkill's, which has cameras and depth.
static inline void layout_robot(void) {
    hid_t file = h5_create_file(place("a.h5", 0, 0)), traj = h5_create_group(file, "traj_0"),
          obs = h5_create_group(traj, "obs");
    hid_t data = h5_create_group(obs, "sensor_data"), parameters = h5_create_group(obs, "sensor_param");
    size_t F = (size_t)scene.info.F, H = (size_t)scene.info.H, W = (size_t)scene.info.W;
    uint8_t *rgb = malloc(3 * F * H * W);
    assert_non_null(rgb);
    for (int v = 0; v < scene.info.V; v++) {
        char name[32];
        double inverse[16], q[4];
        snprintf(name, sizeof name, "camera_%d", v);
        hid_t view = h5_create_group(data, name), lens = h5_create_group(parameters, name);
        for (size_t f = 0; f < F; f++)
            memcpy(rgb + 3 * f * H * W, scene.rgb + 3 * scene_cell((int)f, v) * H * W, 3 * H * W);
        assert_true(h5_write_array(view, "rgb", H5_U8, 4, (size_t[]){F, H, W, 3}, rgb));
        layout_robot_depth(view, v);
        layout_camera_from_world(v, inverse, q);
        assert_true(h5_write_array(lens, "intrinsic_cv", H5_F64, 3, (size_t[]){1, 3, 3}, scene.K + 9 * v));
        assert_true(h5_write_array(lens, "extrinsic_cv", H5_F64, 3, (size_t[]){1, 3, 4}, inverse));
        h5_close_id(view), h5_close_id(lens);
    }
    free(rgb);
    h5_close_id(data), h5_close_id(parameters), h5_close_id(obs), h5_close_id(traj);
    assert_true(h5_close_file(file));
}

typedef struct Layout {
    const char *format; // as "data import --format" names it
    void (*write)(void);
} Layout;

static const Layout LAYOUTS[] = {
    {"hololens", layout_hololens}, {"apc", layout_apc},           {"nerfstudio", layout_nerfstudio},
    {"kubric", layout_kubric},     {"tum", layout_tum},           {"scannet", layout_scannet},
    {"bop", layout_bop},           {"open3d", layout_open3d},     {"colmap", layout_colmap},
    {"pgnd", layout_pgnd},         {"phystwin", layout_phystwin}, {"robot", layout_robot},
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS };

#endif
