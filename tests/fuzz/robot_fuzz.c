// SPDX-License-Identifier: Apache-2.0
// Robot-learning HDF5 (datasets/import/robot_file.h) through its importer. Any bytes at all, or
// (hostile_h5.h): the layout, the number of changes, the changes to a good file, and what is left is the file of
// cameras (none left: a good one).
#include "tests/fuzz/hostile_h5.h"

#include "base/check.h"
#include "base/file.h"
#include "datasets/import/formats.h"
#include "datasets/import/job.h"

#include <math.h>
#include <string.h>

enum { H = 3, W = 4, BASES = 3 };

static const HostileItem robomimic[] = {
    {"data", 0, 0, {0}},
    {"data/demo_0", 0, 0, {0}},
    {"data/demo_0/obs", 0, 0, {0}},
    {"data/demo_0/obs/a_image", H5_U8, 4, {2, H, W, 3}},
    {"data/demo_0/obs/a_depth", H5_F32, 4, {2, H, W, 1}},
    {"data/demo_0/obs/b_rgb", H5_U8, 4, {2, H, W, 3}},
    {"data/demo_0/obs/b_depth", H5_F32, 3, {2, H, W}},
    {"data/demo_0/obs/joints", H5_F64, 2, {2, 2}},
    {"data/demo_0/actions", H5_F64, 2, {2, 2}},
};
static const HostileItem maniskill[] = {
    {"traj_0", 0, 0, {0}},
    {"traj_0/obs", 0, 0, {0}},
    {"traj_0/obs/sensor_data", 0, 0, {0}},
    {"traj_0/obs/sensor_data/a", 0, 0, {0}},
    {"traj_0/obs/sensor_param", 0, 0, {0}},
    {"traj_0/obs/sensor_param/a", 0, 0, {0}},
    {"traj_0/obs/sensor_data/a/rgb", H5_U8, 4, {2, H, W, 3}},
    {"traj_0/obs/sensor_data/a/depth", H5_I16, 4, {2, H, W, 1}},
    {"traj_0/obs/sensor_param/a/intrinsic_cv", H5_F32, 3, {2, 3, 3}},
    {"traj_0/obs/sensor_param/a/extrinsic_cv", H5_F32, 3, {2, 3, 4}},
    {"traj_0/actions", H5_F32, 2, {1, 2}},
};
static const HostileItem aloha[] = {
    {"observations", 0, 0, {0}},
    {"observations/images", 0, 0, {0}},
    {"observations/images/a", H5_U8, 4, {2, H, W, 3}},
    {"observations/images/b", H5_U8, 2, {2, 200}}, // compressed
    {"action", H5_F32, 2, {2, 3}},
    {"compress_len", H5_F32, 2, {2, 2}},
};

// A grey JPEG of 4 x 3 pixels.
static const uint8_t JPEG[] = {
    0xff, 0xd8, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x10, 0x0b, 0x0c, 0x0e, 0x0c, 0x0a, 0x10, 0x0e, 0x0d, 0x0e, 0x12, 0x11,
    0x10, 0x13, 0x18, 0x28, 0x1a, 0x18, 0x16, 0x16, 0x18, 0x31, 0x23, 0x25, 0x1d, 0x28, 0x3a, 0x33, 0x3d, 0x3c, 0x39,
    0x33, 0x38, 0x37, 0x40, 0x48, 0x5c, 0x4e, 0x40, 0x44, 0x57, 0x45, 0x37, 0x38, 0x50, 0x6d, 0x51, 0x57, 0x5f, 0x62,
    0x67, 0x68, 0x67, 0x3e, 0x4d, 0x71, 0x79, 0x70, 0x64, 0x78, 0x5c, 0x65, 0x67, 0x63, 0xff, 0xc0, 0x00, 0x0b, 0x08,
    0x00, 0x03, 0x00, 0x04, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0xff, 0xc4, 0x00, 0x1a, 0x10, 0x00, 0x00, 0x07,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x06, 0x36, 0x71,
    0xc1, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x75, 0x91, 0x1d, 0x4a, 0xf0, 0x87, 0xff, 0xd9,
};

static double sound_value(const char *path, size_t i) {
    if (strstr(path, "intrinsic_cv")) return i % 9 % 4 == 0 ? 10 : 0;
    if (strstr(path, "extrinsic_cv")) return i % 12 % 5 == 0;
    if (strstr(path, "images/b")) return i % 200 < sizeof JPEG ? JPEG[i % 200] : 0;
    return strstr(path, "depth") ? 0.5 : (double)(i % 200);
}

#define FILE_OF(items)                                                                                                 \
    { items, sizeof items / sizeof *items, sound_value, NULL }
static const HostileFile files[] = {FILE_OF(robomimic), FILE_OF(maniskill), FILE_OF(aloha)};

static const char CAMERAS[] = "{\"upside_down\": true, \"depth_near\": 0.1, \"depth_far\": 9, \"fps\": 20,"
                              "\"a\": {\"intrinsics\": [4,0,2,0,4,1,0,0,1],"
                              " \"world_from_camera\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]},"
                              "\"b\": {\"intrinsics\": [4,0,2,0,4,1,0,0,1],"
                              " \"world_from_camera\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}}";

// ALOHA has no depth: pictures beside it.
static void write_depth(const char *folder) {
    static const char *const NAMES[] = {"a/000000", "a/000001", "b/000000", "b/000001"};
    Image depth;
    CHECK(image_create(H, W, 1, PIXEL_U16, &depth, NULL) == STATUS_OK);
    memset(depth.pixels, 3, (size_t)(H * W) * sizeof(uint16_t));
    for (int i = 0; i < 4; i++) {
        char path[192];
        snprintf(path, sizeof path, "%s/episode.hdf5/%s.png", folder, NAMES[i]);
        CHECK(file_make_parent(path, NULL) == STATUS_OK && image_write_png(&depth, path, NULL) == STATUS_OK);
    }
    image_free(&depth);
}

static void import(const char *path, const char *cameras, const char *depth) {
    Error err = {0};
    ImportOptions options = {.near = NAN, .far = NAN, .fps = 20, .cameras = cameras, .depth = depth};
    ImportSource source = {.path = path, .options = &options};
    ImportJob job = {.options = &options, .path = path, .set = {.depth_scale = 1, .far = INFINITY}};
    Status status = import_robot.run(&source, &job.set, &err);
    if (!status) status = job_complete(&job, &err);
    CHECK(status == STATUS_OK || (err.text[0] && !strchr(err.text, '\n')));
    for (size_t i = 0; !status && i < job.set.count && i < 4; i++) {
        View view = {.H = H, .W = W};
        Image out;
        memcpy(view.K, job.set.images[i].lens.K, sizeof view.K);
        for (int kind = 0; kind < 2; kind++) {
            status = kind ? picture_depth(&job.set, &job.set.images[i], &view, job.is_f32, &out, &err)
                          : picture_colour(&job.set, &job.set.images[i], &view, &out, &err);
            CHECK(status == STATUS_OK || err.text[0]);
            image_free(&out);
        }
    }
    posed_set_free(&job.set);
}

// Paths of the episode, the file of cameras and the folder of depth, made at the first call.
static void make_places(char path[128], char cameras[128], char depth[128]) {
    bool first = !fuzz_folder[0];
    if (first) fuzz_make_folder();
    snprintf(path, 128, "%s/episode.hdf5", fuzz_folder);
    snprintf(cameras, 128, "%s/cameras.json", fuzz_folder);
    snprintf(depth, 128, "%s/depth", fuzz_folder);
    if (first) write_depth(depth);
    if (first) fuzz_write(path, "", 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static HostileBase *bases[BASES];
    char path[128], cameras[128], depth[128];
    size_t header = 2;
    if (size < header) return 0;
    make_places(path, cameras, depth);
    if (hostile_is_raw(data, size)) {
        fuzz_write(path, data, size);
        fuzz_write(cameras, CAMERAS, sizeof CAMERAS - 1);
        import(path, cameras, NULL);
        return 0;
    }
    int which = data[0] % BASES;
    size_t changes = HOSTILE_CHANGE * (data[1] % (HOSTILE_CHANGES_MAX + 1u));
    if (changes > size - header) changes = size - header;
    const uint8_t *rest = data + header + changes;
    size_t left = size - header - changes;
    fuzz_write(cameras, left ? rest : (const uint8_t *)CAMERAS, left ? left : sizeof CAMERAS - 1);
    if (!bases[which]) bases[which] = hostile_base_of_items(&files[which]);
    hostile_begin(bases[which], data + header, changes);
    import(path, cameras, which == 2 ? depth : NULL);
    hostile_end();
    return 0;
}
