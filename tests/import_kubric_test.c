// SPDX-License-Identifier: Apache-2.0
// Kubric's layouts with their traps: ray length, normalised K with OpenGL's signs, w first, radians, palettes of
// labels.
#include "tests/import_scene.h"

#include <png.h>

// A palette picture, as Kubric writes segmentations: the indices are the labels, the colours are anything.
static void write_labels(const char *path, const uint16_t *labels) {
    FILE *file = file_at(path);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_color palette[4] = {{0, 0, 0}, {250, 10, 10}, {10, 250, 10}, {7, 7, 7}};
    png_bytep row = malloc((size_t)scene.info.W);
    assert_non_null(row);
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)scene.info.W, (png_uint_32)scene.info.H, 8, PNG_COLOR_TYPE_PALETTE,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, palette, 4);
    png_write_info(png, info);
    for (int y = 0; y < scene.info.H; y++) {
        for (int x = 0; x < scene.info.W; x++) row[x] = (png_byte)labels[y * scene.info.W + x];
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    free(row);
    fclose(file);
}

static void write_pictures(int f, int v, const char *colour, const char *depth, const char *mask) {
    size_t pixels = scene_pixels(), cell = scene_cell(f, v);
    float *rays = malloc(pixels * sizeof *rays);
    assert_non_null(rays);
    for (size_t i = 0; i < pixels; i++) {
        float z = scene.depth[cell * pixels + i];
        rays[i] = z > 0 ? (float)(z * ray_length(scene.K + 9 * v, i)) : 1e10f; // Blender's nothing
    }
    write_colour(f, v, place(colour, f, 0));
    write_tiff(place(depth, f, 0), rays);
    write_labels(place(mask, f, 0), scene.mask + cell * pixels);
    free(rays);
}

// Camera v's metadata: what gives the lens is `lens`.
static void write_metadata(const char *name, int v, const char *lens) {
    FILE *file = text_at(name);
    fprintf(file, "{\"metadata\": {\"frame_rate\": 10, \"resolution\": [32, 24]}, \"camera\": {%s, \"positions\": [",
            lens);
    for (int f = 0; f < scene.info.F; f++) {
        const double *pose = scene_pose(f, v);
        fprintf(file, "%s[%.17g, %.17g, %.17g]", f ? ", " : "", pose[3], pose[7], pose[11]);
    }
    fprintf(file, "], \"quaternions\": [");
    for (int f = 0; f < scene.info.F; f++) {
        double gl[16], q[4];
        pose_flip_opengl(scene_pose(f, v), gl);
        quaternion_of(gl, q);
        fprintf(file, "%s[%.17g, %.17g, %.17g, %.17g]", f ? ", " : "", q[0], q[1], q[2], q[3]);
    }
    fprintf(file, "]}, \"instances\": [{\"mass\": 1, \"positions\": ");
    write_json_rows(file, scene.position, 3 * scene.info.F, 3);
    fprintf(file, ", \"quaternions\": ");
    write_json_rows(file, scene.quaternion, 4 * scene.info.F, 4);
    fprintf(file, "}]}");
    fclose(file);
}

static void normalised(char out[256]) {
    snprintf(out, 256, "\"K\": [[%.17g, 0, -0.5], [0, %.17g, -0.5], [0, 0, -1]]", scene.K[0] / 32, -scene.K[4] / 24);
}

static void test_single_camera(void **state) {
    (void)state;
    char lens[256];
    Error err = {0};
    Frames frames = {0};
    scene_replace(4, 1, 24, 32, SCENE_MOVING);
    normalised(lens);
    write_metadata("metadata.json", 0, lens);
    for (int f = 0; f < 4; f++) write_pictures(f, 0, "rgba_%05d.png", "depth_%05d.tiff", "segmentation_%05d.png");
    Dataset *dataset = import_good(usual());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->F == 4 && info->V == 1 && info->O == 1 && info->has_mask);
    assert_close(info->time_step, 0.1, 1e-9, 0);
    assert_close(info->object_position[3], scene.position[3], 1e-6, 0);
    compare_images(dataset, NULL, 1e-6, 1e-9);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 4}, &frames, &err), err);
    assert_memory_equal(frames.mask, scene.mask, 4 * scene_pixels() * sizeof *scene.mask);
    frames_free(&frames);
    dataset_close(dataset);
    snprintf(lens, sizeof lens, "\"field_of_view\": 1.0"); // radians, whatever the README says
    write_metadata("metadata.json", 0, lens);
    dataset = import_good(usual());
    compare_images(dataset, NULL, 1e-6, 1e-9);
    dataset_close(dataset);
}

// 3DGSim: episodes of cameras, each with folders for each kind; cam_10 comes behind cam_2.
static void test_cameras(void **state) {
    (void)state;
    static const int NUMBER[3] = {0, 2, 10};
    char lens[256], name[40];
    scene_replace(3, 3, 24, 32, 0);
    normalised(lens);
    for (int episode = 0; episode < 2; episode++) {
        for (int v = 0; v < 3; v++) {
            char colour[128], depth[128], mask[128];
            snprintf(name, sizeof name, "episode_%d/cam_%d", episode, NUMBER[v]);
            snprintf(colour, sizeof colour, "%s/rgba/rgba_%%05d.png", name);
            snprintf(depth, sizeof depth, "%s/depth/depth_%%05d.tiff", name);
            snprintf(mask, sizeof mask, "%s/segmentation/segmentation_%%05d.png", name);
            for (int f = 0; f < 3; f++) write_pictures(f, v, colour, depth, mask);
            snprintf(colour, sizeof colour, "%s/metadata.json", name);
            write_metadata(colour, v, lens);
        }
    }
    Dataset *dataset = import_good(usual());
    assert_int_equal(dataset_episode_count(dataset), 2);
    assert_true(dataset_episode(dataset, 1)->V == 3 && !dataset_episode(dataset, 1)->moving_cameras);
    assert_string_equal(dataset_episode(dataset, 1)->scene, "episode_1");
    compare_images(dataset, NULL, 1e-6, 1e-9);
    assert_true(own_error(dataset) < 1e-4);
    dataset_close(dataset);
}

// The second camera has fewer pictures, of later moments than the first one's metadata know.
static void test_short_metadata(void **state) {
    (void)state;
    char lens[256];
    scene_replace(4, 2, 24, 32, 0);
    normalised(lens);
    write_metadata("cam_0/metadata.json", 0, lens);
    write_metadata("cam_1/metadata.json", 1, lens);
    for (int f = 0; f < 4; f++)
        write_pictures(f, 0, "cam_0/rgba_%05d.png", "cam_0/depth_%05d.tiff", "cam_0/segmentation_%05d.png");
    for (int f = 0; f < 4; f += 3)
        write_pictures(f, 1, "cam_1/rgba_%05d.png", "cam_1/depth_%05d.tiff", "cam_1/segmentation_%05d.png");
    Dataset *dataset = import_good(usual());
    const EpisodeInfo *info = dataset_episode(dataset, 0);
    assert_true(info->F == 2 && info->O == 1);
    assert_close(info->object_position[3], scene.position[9], 1e-9, 0); // of frame 3
    compare_images(dataset, (int[]){0, 1, 6, 7}, 1e-6, 1e-9);
    dataset_close(dataset);
    scene.info.F = 2; // metadata that end early
    write_metadata("cam_0/metadata.json", 0, lens);
    refuse(usual(), "expected a pose of frame 2, found 2 poses");
}

static void test_wrong_files(void **state) {
    (void)state;
    scene_replace(2, 1, 24, 32, 0);
    for (int f = 0; f < 2; f++) write_pictures(f, 0, "rgba_%05d.png", "depth_%05d.tiff", "segmentation_%05d.png");
    write_metadata("metadata.json", 0, "\"K\": [[1, 0], [0, 1]]");
    refuse(usual(), "\"K\": expected 9 numbers, found 4");
    write_metadata("metadata.json", 0, "\"focal_length\": 30");
    refuse(usual(), "expected K, focal_length with sensor_width, or field_of_view");
    replace_text("metadata.json",
                 "{\"camera\": {\"positions\": [[0, 0, 0]], \"quaternions\": [[1, 0, 0, 0]], \"field_of_view\": 1}}");
    refuse(usual(), "found none; give --fps N");
    ImportOptions options = usual();
    options.fps = 10;
    refuse(options, "expected a pose of frame 1, found 1 poses");
    replace_text("metadata.json", "{\"camera\": {\"positions\": [[0, 0, 0]], \"quaternions\": [[1, 0, 0]]}}");
    refuse(options, "\"quaternions\": expected 1 rows of 4 numbers, found 3");
    replace_text("metadata.json", "[]");
    refuse(options, "\"camera\": expected an object, found nothing");
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_single_camera), TEST(test_cameras), TEST(test_short_metadata),
                                       TEST(test_wrong_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
