// SPDX-License-Identifier: Apache-2.0
// robomimic, LIBERO, ManiSkill and ALOHA files with their traps: no cameras, no depth, OpenGL's depth buffer, upside
// down.
#include "datasets/h5_write.h"
#include "tests/import_scene.h"

#include <jpeglib.h>

static char path[160], cameras_file[160], depth_folder[160];
static const double BUFFER_NEAR = 0.1, BUFFER_FAR = 20;

static int set_up_file(void **state) {
    int result = set_up(state);
    snprintf(path, sizeof path, "%s/demo.hdf5", source);
    snprintf(cameras_file, sizeof cameras_file, "%s/cameras.json", folder);
    snprintf(depth_folder, sizeof depth_folder, "%s/depth", folder);
    scene_replace(3, 2, 24, 32, SCENE_MOVING);
    return result;
}

// Camera v's colour and depth of all frames, rows turned over when `over`; depth as metres, or as OpenGL's buffer.
static void gather_view(int v, bool over, bool buffer, uint8_t *rgb, float *depth) {
    size_t W = 32, H = 24;
    for (int f = 0; f < 3; f++) {
        for (size_t y = 0; y < H; y++) {
            size_t from = scene_cell(f, v) * H * W + y * W, to = (size_t)f * H * W + (over ? H - 1 - y : y) * W;
            memcpy(rgb + 3 * to, scene.rgb + 3 * from, 3 * W);
            for (size_t x = 0; x < W; x++) {
                double z = scene.depth[from + x];
                if (buffer) z = z > 0 ? (1 - BUFFER_NEAR / z) / (1 - BUFFER_NEAR / BUFFER_FAR) : 1;
                depth[to + x] = (float)z;
            }
        }
    }
}

static void write_view(hid_t group, const char *name, const char *depth_name, int v, bool over, bool buffer) {
    uint8_t *rgb = malloc(3 * 24 * 32 * 3);
    float *depth = malloc(3 * 24 * 32 * sizeof *depth);
    assert_true(rgb && depth);
    gather_view(v, over, buffer, rgb, depth);
    assert_true(h5_write_array(group, name, H5_U8, 4, (size_t[]){3, 24, 32, 3}, rgb));
    if (depth_name) assert_true(h5_write_array(group, depth_name, H5_F32, 4, (size_t[]){3, 24, 32, 1}, depth));
    free(rgb);
    free(depth);
}

static void write_robomimic(bool with_depth) {
    float actions[3 * 2] = {1, 2, 3, 4, 5, 6};
    hid_t file = h5_create_file(path), data = h5_create_group(file, "data");
    static const char *const NAMES[3] = {"demo_10", "demo_2", "demo_0"};
    for (int i = 0; i < 3; i++) {
        hid_t demo = h5_create_group(data, NAMES[i]), obs = h5_create_group(demo, "obs");
        write_view(obs, "agentview_image", with_depth ? "agentview_depth" : NULL, 0, true, true);
        write_view(obs, "wrist_rgb", with_depth ? "wrist_depth" : NULL, 1, true, true);
        assert_true(h5_write_array(obs, "joints", H5_F32, 2, (size_t[]){3, 2}, actions));
        actions[0] = (float)(10 * (2 - i));
        assert_true(h5_write_array(demo, "actions", H5_F32, 2, (size_t[]){3, 2}, actions));
        h5_close_id(obs), h5_close_id(demo);
    }
    h5_close_id(data);
    assert_true(h5_close_file(file));
}

static void write_cameras(const char *extra, bool both) {
    FILE *file = file_at(cameras_file);
    static const char *const NAMES[2] = {"agentview", "wrist"};
    fprintf(file, "{%s", extra);
    for (int v = 0; v < (both ? 2 : 1); v++) {
        double poses[48];
        for (int f = 0; f < 3; f++) memcpy(poses + 16 * f, scene_pose(f, v), 16 * sizeof(double));
        fprintf(file, ", \"%s\": {\"intrinsics\": ", NAMES[v]);
        write_json_rows(file, scene.K + 9 * v, 9, 3);
        fprintf(file, ", \"world_from_camera\": ");
        write_json_rows(file, poses, 48, 16);
        fprintf(file, "}");
    }
    fprintf(file, "}");
    fclose(file);
}

static ImportOptions with_cameras(void) {
    ImportOptions options = usual();
    options.cameras = cameras_file;
    return options;
}

static void test_depth_buffer(void **state) {
    (void)state;
    write_robomimic(true);
    write_cameras("\"upside_down\": true, \"depth_near\": 0.1, \"depth_far\": 20, \"fps\": 20", true);
    Dataset *dataset = import_good(with_cameras());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_int_equal(dataset_episode_count(dataset), 3);
    assert_true(info->F == 3 && info->V == 2 && info->A == 2 && info->moving_cameras);
    assert_string_equal(info->scene, "demo_0");
    assert_string_equal(dataset_episode(dataset, 2)->scene, "demo_10");
    assert_true(info->actions[0] == 0 && dataset_episode(dataset, 2)->actions[0] == 20 && info->actions[5] == 6);
    assert_close(info->time_step, 0.05, 1e-9, 0);
    compare_images(dataset, NULL, 1e-4, 1e-12); // float32 of a buffer that is nearly 1
    dataset_close(dataset);
    write_cameras("\"upside_down\": true, \"depth_near\": 0.1, \"depth_far\": 20, \"fps\": 20", false);
    dataset = import_good(with_cameras());
    assert_int_equal(dataset_episode(dataset, 0)->V, 1); // what the file names alone
    dataset_close(dataset);
}

static void test_depth_beside(void **state) {
    (void)state;
    static const char *const DEMOS[3] = {"demo_0", "demo_2", "demo_10"};
    write_robomimic(false);
    for (int i = 0; i < 3; i++) {
        for (int f = 0; f < 3; f++) {
            char name[256];
            snprintf(name, sizeof name, "%.100s/%s/agentview/%06d.png", depth_folder, DEMOS[i], f);
            write_depth(f, 0, name, 0.001, plain);
        }
    }
    write_cameras("\"upside_down\": false", false);
    ImportOptions options = with_cameras();
    options.fps = 20;
    refuse(options,
           "expected depth, which this file does not hold; give --depth DIR with DIR/demo_0/agentview/000000.png");
    options.depth = depth_folder;
    Dataset *dataset = import_good(options);
    assert_true(dataset_episode(dataset, 0)->V == 1 && dataset_episode(dataset, 0)->depth_is_u16);
    dataset_close(dataset);
    char name[256];
    snprintf(name, sizeof name, "%.100s/demo_10/agentview/000002.png", depth_folder);
    assert_int_equal(unlink(name), 0);
    refuse(options, "expected demo_10/agentview/000002.png, .npy, .npz or .exr, found none");
}

// ManiSkill has everything: 16-bit millimetres, camera from world.
static void test_maniskill(void **state) {
    (void)state;
    hid_t file = h5_create_file(path), traj = h5_create_group(file, "traj_0"), obs = h5_create_group(traj, "obs");
    hid_t data = h5_create_group(obs, "sensor_data"), parameters = h5_create_group(obs, "sensor_param");
    static const char *const NAMES[2] = {"base_camera", "hand_camera"};
    for (int v = 0; v < 2; v++) {
        hid_t view = h5_create_group(data, NAMES[v]), lens = h5_create_group(parameters, NAMES[v]);
        int16_t words[3 * 24 * 32];
        double K[27], rows[36];
        write_view(view, "rgb", NULL, v, false, false);
        for (int f = 0; f < 3; f++) {
            double inverse[16];
            pose_inverse(scene_pose(f, v), inverse);
            memcpy(rows + 12 * f, inverse, 12 * sizeof(double));
            memcpy(K + 9 * f, scene.K, 9 * sizeof(double));
            for (size_t i = 0; i < 24 * 32; i++)
                words[(size_t)f * 24 * 32 + i] = (int16_t)lrint(1000 * scene.depth[scene_cell(f, v) * 24 * 32 + i]);
        }
        assert_true(h5_write_array(view, "depth", H5_I16, 4, (size_t[]){3, 24, 32, 1}, words));
        assert_true(h5_write_array(lens, "intrinsic_cv", H5_F64, 3, (size_t[]){3, 3, 3}, K));
        assert_true(h5_write_array(lens, "extrinsic_cv", H5_F64, 3, (size_t[]){3, 3, 4}, rows));
        h5_close_id(view), h5_close_id(lens);
    }
    float actions[4] = {1, 2, 3, 4}; // of two steps between three frames
    assert_true(h5_write_array(traj, "actions", H5_F32, 2, (size_t[]){2, 2}, actions));
    h5_close_id(data), h5_close_id(parameters), h5_close_id(obs), h5_close_id(traj);
    assert_true(h5_close_file(file));
    refuse(usual(), "expected --fps N");
    ImportOptions options = usual();
    options.fps = 20;
    Dataset *dataset = import_good(options);
    assert_true(dataset_episode(dataset, 0)->V == 2 && dataset_episode(dataset, 0)->actions[5] == 4);
    compare_images(dataset, NULL, 0.00051, 1e-12);
    dataset_close(dataset);
}

// libjpeg's memory; quality 95.
static size_t encode_jpeg(const uint8_t *rgb, int H, int W, unsigned char **out) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    unsigned long size = 0;
    *out = NULL;
    jpeg.err = jpeg_std_error(&manager);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, out, &size);
    jpeg.image_width = (JDIMENSION)W, jpeg.image_height = (JDIMENSION)H;
    jpeg.input_components = 3, jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 95, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < H; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(rgb + (size_t)y * (size_t)W * 3);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return size;
}

enum { JPEG_ROW = 4096 };

// ALOHA as its authors store it: a JPEG in each row, filled up with zeros. Colours of view 0 go to `rgb` (3,H,W,3) as
// the JPEGs have them.
static void write_compressed(uint8_t *rgb) {
    static uint8_t rows[3 * JPEG_ROW];
    const float actions[6] = {0};
    memset(rows, 0, sizeof rows);
    for (int f = 0; f < 3; f++) {
        unsigned char *bytes;
        Image image;
        size_t size = encode_jpeg(scene.rgb + 3 * scene_cell(f, 0) * scene_pixels(), 24, 32, &bytes);
        assert_true(size < JPEG_ROW);
        memcpy(rows + JPEG_ROW * f, bytes, size);
        assert_int_equal(image_decode(bytes, size, "row", &image, NULL), STATUS_OK);
        memcpy(rgb + 3 * scene_pixels() * (size_t)f, image.pixels, 3 * scene_pixels());
        image_free(&image);
        free(bytes);
    }
    hid_t file = h5_create_file(path), observations = h5_create_group(file, "observations"),
          images = h5_create_group(observations, "images");
    assert_true(h5_write_array(images, "agentview", H5_U8, 2, (size_t[]){3, JPEG_ROW}, rows));
    assert_true(h5_write_array(file, "action", H5_F32, 2, (size_t[]){3, 2}, actions));
    h5_close_id(images), h5_close_id(observations);
    assert_true(h5_close_file(file));
}

static void test_compressed(void **state) {
    (void)state;
    static uint8_t rgb[3 * 24 * 32 * 3];
    Error err = {0};
    Frames frames = {0};
    write_compressed(rgb);
    for (int f = 0; f < 3; f++) {
        char name[256];
        snprintf(name, sizeof name, "%.100s/demo.hdf5/agentview/%06d.png", depth_folder, f);
        write_depth(f, 0, name, 0.001, plain);
    }
    write_cameras("\"fps\": 50", false);
    ImportOptions options = with_cameras();
    options.depth = depth_folder;
    Dataset *dataset = import_good(options);
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->V == 1 && info->F == 3 && info->H == 24 && info->W == 32 && info->A == 2);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 3}, &frames, &err), err);
    assert_memory_equal(frames.rgb, rgb, sizeof rgb);
    double off = 0;
    for (int f = 0; f < 3; f++) {
        const uint8_t *seen = scene.rgb + 3 * scene_cell(f, 0) * scene_pixels();
        for (size_t i = 0; i < 3 * scene_pixels(); i++)
            off += abs(frames.rgb[3 * scene_pixels() * (size_t)f + i] - seen[i]);
    }
    assert_true(off / sizeof rgb < 6); // of 255: the pictures are the scene's, not another order of channels
    frames_free(&frames);
    dataset_close(dataset);

    uint8_t rows[3 * 8] = {0xff, 0xd8, 0xff};
    hid_t file = h5_create_file(path), observations = h5_create_group(file, "observations"),
          images = h5_create_group(observations, "images");
    assert_true(h5_write_array(images, "agentview", H5_U8, 2, (size_t[]){3, 8}, rows));
    h5_close_id(images), h5_close_id(observations);
    assert_true(h5_close_file(file));
    refuse(options, "demo.hdf5:/observations/images/agentview: frame 0: the JPEG is damaged");
}

// Numbers that no OpenGL buffer has, such as metres.
static void refuse_buffer_of(float value) {
    scene_replace(3, 2, 24, 32, SCENE_MOVING);
    write_robomimic(true);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
          data = H5Dopen2(file, "data/demo_0/obs/agentview_depth", H5P_DEFAULT);
    assert_true(file >= 0 && data >= 0);
    hsize_t size[4] = {0};
    hid_t space = H5Dget_space(data);
    int rank = H5Sget_simple_extent_dims(space, size, NULL);
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)size[i];
    float *metres = malloc(count * sizeof *metres);
    assert_non_null(metres);
    for (size_t i = 0; i < count; i++) metres[i] = value;
    assert_true(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, metres) >= 0);
    free(metres);
    H5Sclose(space), H5Dclose(data), H5Fclose(file);
    write_cameras("\"upside_down\": true, \"depth_near\": 0.1, \"depth_far\": 20, \"fps\": 20", true);
    refuse(with_cameras(), "expected OpenGL's buffer, 0 to 1");
}

static void test_no_buffer(void **state) {
    (void)state;
    refuse_buffer_of(1.5f);
    refuse_buffer_of(-0.5f);
}

static void test_missing(void **state) {
    (void)state;
    hid_t file = h5_create_file(path), observations = h5_create_group(file, "observations"),
          images = h5_create_group(observations, "images");
    write_view(images, "cam_high", NULL, 0, false, false); // ALOHA
    h5_close_id(images), h5_close_id(observations);
    assert_true(h5_close_file(file));
    refuse(usual(), "expected intrinsics, poses and depth of camera \"cam_high\"");
    write_robomimic(true);
    refuse(
        usual(),
        "expected intrinsics and poses of camera \"agentview\", which this layout does not hold; give --cameras FILE");
    write_cameras("\"fps\": 20", true);
    refuse(with_cameras(), "expected \"upside_down\": true");
    write_cameras("\"upside_down\": true, \"fps\": 20", true);
    refuse(with_cameras(), "expected \"depth_near\" and \"depth_far\"");
    write_cameras("\"upside_down\": true, \"depth_unit\": 1, \"depth_near\": 0.1, \"depth_far\": 20, \"fps\": 20",
                  true);
    refuse(with_cameras(), "expected one of them, found both");
    write_cameras("\"upside_down\": true, \"depth_near\": 0.1, \"depth_far\": 20, \"fsp\": 20, \"fps\": 20", true);
    refuse(with_cameras(), "did you mean \"fps\"?");
    write_cameras("\"upside_down\": true, \"depth_unit\": 1, \"fps\": 20, \"agentvew\": {}", true);
    refuse(with_cameras(), "(agentview, wrist), and not depth_near, depth_far, depth_unit, fps or upside_down; did you "
                           "mean \"agentview\"?");
    write_cameras("\"upside_down\": true, \"depth_unit\": 1, \"fps\": 20, \"elbow\": {}", true);
    Error err = {0};
    ImportOptions elbow = with_cameras();
    assert_int_equal(dataset_import(source, &elbow, target, NULL, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "\"elbow\" is no camera of "));
    assert_null(strstr(err.text, "did you mean"));
    FILE *json = file_at(cameras_file);
    fprintf(json, "{\"upside_down\": true, \"depth_unit\": 1, \"agentview\": {\"intrinsics\": [1, 2]}}");
    fclose(json);
    refuse(with_cameras(), "camera \"agentview\": ");
    assert_int_equal(truncate(path, 3000), 0);
    refuse(with_cameras(), "expected a recording in one of these layouts");
    ImportOptions options = with_cameras();
    options.format = "robot";
    refuse(options, "expected the layout of robot");
}

#define ROBOT(name) cmocka_unit_test_setup_teardown(name, set_up_file, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ROBOT(test_depth_buffer), ROBOT(test_no_buffer),  ROBOT(test_depth_beside),
        ROBOT(test_maniskill),    ROBOT(test_compressed), ROBOT(test_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
