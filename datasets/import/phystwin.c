// SPDX-License-Identifier: Apache-2.0
// PhysTwin: color/CAMERA/FRAME.png, depth/CAMERA/FRAME.npy (millimetres), metadata.json with "intrinsics" (V,3,3) and
// "fps". Its poses are a pickle, which is a program and is never read: calibrate.npy (V,4,4), camera to world, holds
// the same.
#include "base/json_fields.h"
#include "datasets/import/listing.h"
#include "datasets/import/rig.h"

#include <math.h>
#include <string.h>

enum { CAMERAS_MAX = 256 };

static bool is_episode(const char *folder) {
    return has_file(folder, "metadata.json") && has_folder(folder, "color/0") && has_folder(folder, "depth/0") &&
           (has_file(folder, "calibrate.pkl") || has_file(folder, "calibrate.npy"));
}

static double time_of(const void *owner, int view, long number) {
    (void)view;
    return number < 0 ? NAN : (double)number / *(const double *)owner;
}

static Status read_metadata(const char *folder, double *fps, double K[9 * CAMERAS_MAX], size_t *V, Error *err) {
    char path[FILE_PATH_SIZE];
    json_t *root = NULL;
    Status status = file_join(path, sizeof path, folder, "metadata.json", err);
    if (!status) status = json_read_file(path, JSON_FILE_MAX, &root, err);
    *V = status ? 0 : json_count_numbers(json_object_get(root, "intrinsics")) / 9;
    if (!status && (*V == 0 || *V > CAMERAS_MAX))
        status = error_set(err, STATUS_BAD_INPUT, "%s: \"intrinsics\": expected 1 to %d matrices 3x3, found %zu", path,
                           CAMERAS_MAX, *V);
    if (!status) status = json_field_numbers(path, root, "intrinsics", K, 9 * *V, err);
    if (!status) status = json_field_number_optional(path, root, "fps", fps, err);
    if (!status && !(*fps > 0))
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected \"fps\", found none; give --fps N", path);
    json_decref(root);
    return status;
}

static Status read_poses(const char *folder, size_t V, NpyArray *out, Error *err) {
    if (!has_file(folder, "calibrate.npy"))
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: expected calibrate.npy, found a pickle, which is a program and is never read; if you trust it, "
            "convert it in its folder: python3 -c 'import numpy, pickle; numpy.save(\"calibrate.npy\", "
            "numpy.array(pickle.load(open(\"calibrate.pkl\", \"rb\")), float))'",
            folder);
    return rig_read_array(folder, "calibrate.npy", 3, (size_t[]){V, 4, 4}, out, err);
}

static Status add_camera(const char *folder, size_t v, const double *K, const double *pose, const double *fps,
                         PosedSet *out, Error *err) {
    char name[64];
    RigCamera camera = {.view = (int)v, .depth_ending = ".npy", .lens = lens_of_matrix(K, 3)};
    memcpy(camera.world_from_camera, pose, sizeof camera.world_from_camera);
    snprintf(name, sizeof name, "color/%zu", v);
    Status status = file_join(camera.colour, sizeof camera.colour, folder, name, err);
    snprintf(name, sizeof name, "depth/%zu", v);
    if (!status) status = file_join(camera.depth, sizeof camera.depth, folder, name, err);
    return status ? status : rig_add_camera(&camera, time_of, fps, out, err);
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    const char *folder = source->path;
    double K[9 * CAMERAS_MAX], fps = source->options->fps;
    size_t V;
    NpyArray poses = {0};
    Status status = read_metadata(folder, &fps, K, &V, err);
    if (!status) status = read_poses(folder, V, &poses, err);
    for (size_t v = 0; !status && v < V; v++)
        status = add_camera(folder, v, K + 9 * v, poses.values + 16 * v, &fps, out, err);
    out->V = (int)V;
    if (!status) status = rig_align(source, out, err);
    npy_free(&poses);
    out->depth_scale = 0.001;
    snprintf(out->source, sizeof out->source, "PhysTwin");
    return status;
}

const Importer import_phystwin = {
    .name = "phystwin",
    .layout = "color/CAMERA/FRAME.png, depth/CAMERA/FRAME.npy, metadata.json, calibrate.npy",
    .is_episode = is_episode,
    .in_folders = true,
    .run = run,
};
