// SPDX-License-Identifier: Apache-2.0
// ScanNet as its SensReader exports it: color/N.jpg, depth/N.png (millimetres), pose/N.txt (camera to world, OpenCV;
// -inf where tracking was lost: left out), intrinsic/intrinsic_color.txt and intrinsic_depth.txt (4x4). Colour and
// depth differ in size and intrinsics: depth is brought to the colour's grid.
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <math.h>
#include <string.h>

static bool is_episode(const char *path) {
    return has_folder(path, "color") && has_folder(path, "depth") && has_folder(path, "pose") &&
           has_file(path, "intrinsic/intrinsic_color.txt");
}

// Exports hold the same matrix twice, or the identity; anything else would need depth to be reprojected.
static Status check_extrinsics(const char *folder, Error *err) {
    double colour[16], depth[16];
    if (!has_file(folder, "intrinsic/extrinsic_color.txt") || !has_file(folder, "intrinsic/extrinsic_depth.txt"))
        return STATUS_OK;
    Status status = text_read_matrix(folder, "intrinsic/extrinsic_color.txt", 4, 4, colour, err);
    if (!status) status = text_read_matrix(folder, "intrinsic/extrinsic_depth.txt", 4, 4, depth, err);
    for (int i = 0; !status && i < 16; i++) {
        if (fabs(colour[i] - depth[i]) < 0.01) continue;
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected extrinsic_color.txt and extrinsic_depth.txt to be the same to 1 cm, found a "
                         "depth camera at another place; register depth to colour first",
                         folder);
    }
    return status;
}

static Status add_frame(const char *folder, const char *colour, const PosedImage *lenses, PosedSet *out, Error *err) {
    char base[FILE_PATH_SIZE], stem[64], file[80], name[128];
    PosedImage image = *lenses;
    name_stem(colour, stem, sizeof stem);
    snprintf(name, sizeof name, "pose/%s.txt", stem);
    if (!has_file(folder, name)) return STATUS_OK; // as good as lost
    Status status = text_read_matrix(folder, name, 4, 4, image.world_from_camera, err);
    snprintf(file, sizeof file, "depth/%s", stem);
    find_depth_picture(folder, file, ".png", name, sizeof name);
    if (!status) status = file_join(base, sizeof base, folder, "color", err);
    return status ? status : add_named_picture(base, colour, folder, name, &image, out, err);
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    char base[FILE_PATH_SIZE];
    double colour[16], depth[16];
    FileList names = {0};
    PosedImage lenses = {.time = NAN};
    Status status = text_read_matrix(source->path, "intrinsic/intrinsic_color.txt", 4, 4, colour, err);
    if (!status) status = text_read_matrix(source->path, "intrinsic/intrinsic_depth.txt", 4, 4, depth, err);
    if (!status) status = check_extrinsics(source->path, err);
    if (!status) status = file_join(base, sizeof base, source->path, "color", err);
    if (!status) status = list_pictures(base, &names, err);
    if (!status) {
        lenses.lens = lens_of_matrix(colour, 4);
        lenses.depth_lens = lens_of_matrix(depth, 4);
    }
    for (size_t i = 0; !status && i < names.count; i++)
        status = add_frame(source->path, names.names[i], &lenses, out, err);
    if (!status && out->count < names.count)
        log_warning(source->log, "%s: %zu of %zu pictures have no pose and are left out", source->path,
                    names.count - out->count, names.count);
    file_list_free(&names);
    out->depth_scale = 0.001;
    snprintf(out->source, sizeof out->source, "ScanNet");
    return status;
}

const Importer import_scannet = {
    .name = "scannet",
    .layout = "color/, depth/, pose/, intrinsic/intrinsic_color.txt, intrinsic/intrinsic_depth.txt",
    .is_episode = is_episode,
    .run = run,
};
