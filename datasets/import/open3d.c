// SPDX-License-Identifier: Apache-2.0
// Open3D's reconstruction system and plain folders: color/ (or image/, rgb/) and depth/ in the same order, registered,
// millimetres; odometry.log or trajectory.log with "i i i+1" and a camera-to-world 4x4 each; camera_intrinsic.json
// (its intrinsic_matrix runs column by column) or --intrinsics.
#include "base/json_fields.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <math.h>
#include <string.h>

static const char *const COLOUR[] = {"color", "image", "rgb", "images", NULL}, *const DEPTH[] = {"depth", NULL},
                         *const POSES[] = {"odometry.log", "trajectory.log", "scene/trajectory.log", NULL},
                         *const LENSES[] = {"camera_intrinsic.json", "intrinsic.json", "camera.json", NULL};

static bool is_episode(const char *path) {
    char unused[FILE_PATH_SIZE];
    return first_folder(path, COLOUR, unused) && first_folder(path, DEPTH, unused) && first_file(path, POSES, unused);
}

static Status read_lens(const ImportSource *source, Lens *out, Error *err) {
    char path[FILE_PATH_SIZE];
    double K[9], w = 0, h = 0; // column by column
    json_t *root = NULL;
    if (source->options->has_intrinsics) {
        *out = given_lens(source->options);
        return STATUS_OK;
    }
    if (!first_file(source->path, LENSES, path))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected camera_intrinsic.json, found none; give --intrinsics fx,fy,cx,cy", source->path);
    Status status = json_read_file(path, JSON_FILE_MAX, &root, err);
    if (!status) status = json_field_numbers(path, root, "intrinsic_matrix", K, 9, err);
    if (!status) status = json_field_number_optional(path, root, "width", &w, err);
    if (!status) status = json_field_number_optional(path, root, "height", &h, err);
    if (!status) {
        *out = lens_of(K[0], K[4], K[6] + 0.5, K[7] + 0.5);
        bool sized = w >= 1 && h >= 1 && w <= IMAGE_SIDE_MAX && h <= IMAGE_SIDE_MAX;
        out->W = sized ? (int)w : 0;
        out->H = sized ? (int)h : 0;
    }
    json_decref(root);
    return status;
}

typedef struct Folders {
    char colour[FILE_PATH_SIZE], depth[FILE_PATH_SIZE];
    FileList colours, depths;
} Folders;

static Status list_folders(const char *path, Folders *out, Error *err) {
    first_folder(path, COLOUR, out->colour);
    first_folder(path, DEPTH, out->depth);
    Status status = list_pictures(out->colour, &out->colours, err);
    if (!status) status = list_pictures(out->depth, &out->depths, err);
    if (!status && out->colours.count != out->depths.count)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected as many depth as colour pictures, found %zu and %zu",
                           path, out->depths.count, out->colours.count);
    return status;
}

// "i j k": the number of the picture comes first.
static Status read_block(TextFile *text, const char *line, const Folders *folders, const Lens *lens, PosedSet *out,
                         Error *err) {
    double numbers[3];
    PosedImage image = {.time = NAN, .lens = *lens};
    Status status = text_numbers(text, line, numbers, 3, err);
    if (!status) status = text_matrix(text, 4, 4, image.world_from_camera, err);
    if (status) return status;
    if (!(numbers[0] >= 0 && numbers[0] < (double)folders->colours.count))
        return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected a pose of one of %zu pictures, found number %.0f",
                         text->path, text->line, folders->colours.count, numbers[0]);
    size_t i = (size_t)numbers[0];
    return add_named_picture(folders->colour, folders->colours.names[i], folders->depth, folders->depths.names[i],
                             &image, out, err);
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    char path[FILE_PATH_SIZE], *line;
    Folders folders = {0};
    TextFile text = {0};
    Lens lens;
    Status status = read_lens(source, &lens, err);
    if (!status) status = list_folders(source->path, &folders, err);
    first_file(source->path, POSES, path);
    if (!status) status = text_open(path, &text, err);
    while (!status && text_next_line(&text, &line)) status = read_block(&text, line, &folders, &lens, out, err);
    if (!status && out->count < folders.colours.count)
        log_warning(source->log, "%s: %zu of %zu pictures have no pose and are left out", source->path,
                    folders.colours.count - out->count, folders.colours.count);
    text_close(&text);
    file_list_free(&folders.colours);
    file_list_free(&folders.depths);
    out->depth_scale = 0.001;
    snprintf(out->source, sizeof out->source, "Open3D folders");
    return status;
}

const Importer import_open3d = {
    .name = "open3d",
    .layout = "color/, depth/, odometry.log or trajectory.log, camera_intrinsic.json",
    .is_episode = is_episode,
    .run = run,
};
