// SPDX-License-Identifier: Apache-2.0
// Any bytes as the texts of a recording in a foreign layout: a letter for the layout, then its files, "\n%%\n" between
// them; its pictures are sound and lie beside. The importer ends with pictures, their cameras and depth, or with one
// sentence. VPD_FUZZ_LAYOUT=x takes that letter in place of the first: for runs of one reader.
#include "tests/fuzz/fuzz.h"

#include "base/camera.h"
#include "base/check.h"
#include "base/file.h"
#include "base/image.h"
#include "datasets/import/formats.h"
#include "datasets/import/job.h"

#include <math.h>
#include <string.h>

enum { H = 3, W = 4, FILES_MAX = 5 };

typedef struct Layout {
    char letter;
    const Importer *importer;
    const char *files[FILES_MAX + 1], *colour[3], *depth[3], *masks[3]; // texts in the order of the input; pictures
} Layout;

static const Layout layouts[] = {
    {'c',
     &import_colmap,
     {"sparse/0/cameras.txt", "sparse/0/images.txt"},
     {"images/0.png", "images/1.png"},
     {"depth/0.png", "depth/1.png"},
     {NULL}},
    {'C',
     &import_colmap,
     {"sparse/0/cameras.bin", "sparse/0/images.bin"},
     {"images/0.png", "images/1.png"},
     {"depth/0.png", "depth/1.png"},
     {NULL}},
    {'n', &import_transforms, {"transforms.json"}, {"0.png", "1.png"}, {"0d.png", "1d.png"}, {NULL}},
    {'k',
     &import_kubric,
     {"metadata.json"},
     {"rgba_00000.png", "rgba_00001.png"},
     {"depth_00000.tiff", "depth_00001.tiff"},
     {"segmentation_00000.png", "segmentation_00001.png"}},
    {'t', &import_tum, {"rgb.txt", "depth.txt", "groundtruth.txt"}, {"0.png", "1.png"}, {"0d.png", "1d.png"}, {NULL}},
    {'s',
     &import_scannet,
     {"pose/0.txt", "intrinsic/intrinsic_color.txt", "intrinsic/intrinsic_depth.txt", "intrinsic/extrinsic_color.txt",
      "intrinsic/extrinsic_depth.txt"},
     {"color/0.png"},
     {"depth/0.png"},
     {NULL}},
    {'b',
     &import_bop,
     {"scene_camera.json", "scene_gt.json"},
     {"rgb/0.png", "rgb/1.png"},
     {"depth/0.png", "depth/1.png"},
     {"mask_visib/000000_000000.png", "mask_visib/000001_000000.png"}},
    {'o',
     &import_open3d,
     {"odometry.log", "camera_intrinsic.json"},
     {"color/0.png", "color/1.png"},
     {"depth/0.png", "depth/1.png"},
     {NULL}},
    {'p',
     &import_pgnd,
     {"timestamps.txt", "calibration/intrinsics.npy", "calibration/rvecs.npy", "calibration/tvecs.npy"},
     {"camera_0/rgb/000000.png", "camera_0/rgb/000001.png"},
     {"camera_0/depth/000000.png", "camera_0/depth/000001.png"},
     {NULL}},
    {'y',
     &import_phystwin,
     {"metadata.json", "calibrate.npy"},
     {"color/0/0.png", "color/0/1.png"},
     {"depth/0/0.npy", "depth/0/1.npy"},
     {NULL}},
    {'a', &import_apc, {"cam.info.txt"}, {"frame-000000.color.png"}, {"frame-000000.depth.png"}, {NULL}},
    {'h',
     &import_hololens,
     {"K.txt", "poses.txt", "frames.txt"},
     {"images/0.png", "images/1.png"},
     {"depth/0.png", "depth/1.png"},
     {NULL}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static void folder_of(const Layout *layout, char out[128]) {
    snprintf(out, 128, "%s/freiburg1_%d", fuzz_folder, (int)(layout - layouts)); // the name gives TUM its lens
}

static void place(const Layout *layout, const char *name, char out[256]) {
    char folder[128];
    folder_of(layout, folder);
    snprintf(out, 256, "%s/%s", folder, name);
}

static void write_pictures(const Layout *layout, const char *const *names, int channels, PixelType type) {
    Image picture;
    char path[256];
    CHECK(image_create(H, W, channels, type, &picture, NULL) == STATUS_OK);
    memset(picture.pixels, 3, (size_t)(H * W * channels) * type);
    for (; *names; names++) {
        place(layout, *names, path);
        CHECK(file_make_parent(path, NULL) == STATUS_OK && image_write_png(&picture, path, NULL) == STATUS_OK);
    }
    image_free(&picture);
}

static void make_folders(void) {
    char path[256];
    fuzz_make_folder();
    for (const Layout *layout = layouts; layout < layouts + LAYOUTS; layout++) {
        write_pictures(layout, layout->colour, 3, PIXEL_U8);
        write_pictures(layout, layout->depth, 1, PIXEL_U16);
        write_pictures(layout, layout->masks, 1, PIXEL_U8);
        for (const char *const *name = layout->files; *name; name++) {
            place(layout, *name, path);
            CHECK(file_make_parent(path, NULL) == STATUS_OK);
        }
    }
}

// The next file's bytes, up to the mark or the end.
static void write_part(const char *path, const uint8_t **data, size_t *size) {
    static const char MARK[] = "\n%%\n";
    const uint8_t *end = memmem(*data, *size, MARK, 4);
    size_t length = end ? (size_t)(end - *data) : *size;
    fuzz_write(path, *data, length);
    size_t used = end ? length + 4 : length;
    *data += used;
    *size -= used;
}

static const Layout *write_files(const uint8_t *data, size_t size) {
    const char *only = getenv("VPD_FUZZ_LAYOUT");
    const Layout *layout = layouts;
    char path[256], letter = only ? only[0] : (char)data[0];
    data++, size--;
    while (layout < layouts + LAYOUTS && layout->letter != letter) layout++;
    if (layout == layouts + LAYOUTS) return NULL;
    for (const char *const *name = layout->files; *name; name++) {
        place(layout, *name, path);
        if (size || name == layout->files) write_part(path, &data, &size);
        else unlink(path);
    }
    return layout;
}

// Depth and colour as the import would write them.
static void take_pictures(ImportJob *job) {
    for (size_t i = 0; i < job->set.count && i < 2; i++) {
        const PosedImage *image = &job->set.images[i];
        View view = {.H = H, .W = W};
        Image out;
        Error err = {0};
        camera_resize_intrinsics(image->lens.K, image->lens.H, image->lens.W, H, W, view.K);
        Status status = picture_colour(&job->set, image, &view, &out, &err);
        if (!status) image_free(&out);
        if (!status) status = picture_depth(&job->set, image, &view, job->is_f32, &out, &err);
        CHECK(status == STATUS_OK ? out.H == H && out.W == W : err.text[0] != 0);
        for (int p = 0; !status && job->is_f32 && p < H * W; p++) CHECK(isfinite(((float *)out.pixels)[p]));
        image_free(&out);
        if (status || !image->mask) continue;
        CHECK(picture_mask(&job->set, image, &view, &out, &err) == STATUS_OK || err.text[0]);
        image_free(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Error err = {0};
    char folder[128];
    if (!fuzz_folder[0]) make_folders();
    const Layout *layout = size ? write_files(data, size) : NULL;
    if (!layout) return 0;
    folder_of(layout, folder);
    ImportOptions options = {.near = NAN, .far = NAN};
    ImportSource source = {.path = folder, .options = &options};
    ImportJob job = {.options = &options, .path = folder, .set = {.depth_scale = 1, .far = INFINITY}};
    Status status = layout->importer->is_episode(folder) ? layout->importer->run(&source, &job.set, &err)
                                                         : error_set(&err, STATUS_BAD_INPUT, "another layout");
    if (!status) status = job_complete(&job, &err);
    CHECK(status == STATUS_OK || (err.text[0] && !strchr(err.text, '\n')));
    if (!status) take_pictures(&job);
    posed_set_free(&job.set);
    return 0;
}
