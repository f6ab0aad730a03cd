// SPDX-License-Identifier: Apache-2.0
// BOP: scene folders (000001, ...) with scene_camera.json, rgb/NNNNNN.png and depth/NNNNNN.png. cam_K is row-wise,
// depth_scale turns depth into millimetres, cam_R_w2c and cam_t_w2c are world to camera, in millimetres; masks where
// the scene has them (bop_masks.h).
#include "base/camera.h"
#include "base/json_fields.h"
#include "datasets/import/bop_masks.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"

#include <math.h>
#include <string.h>

static const char *const COLOUR[] = {"rgb", "gray", NULL};

static bool is_scene(const char *folder) {
    return has_file(folder, "scene_camera.json") && has_folder(folder, "depth") &&
           (has_folder(folder, "rgb") || has_folder(folder, "gray"));
}

static Status read_camera(const char *path, const json_t *camera, PosedImage *image, Error *err) {
    double K[9], R[9], t[3], scale = 1, camera_from_world[16];
    if (!json_object_get(camera, "cam_R_w2c"))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected cam_R_w2c and cam_t_w2c, found none; the poses of the cameras are needed", path);
    Status status = json_field_numbers(path, camera, "cam_K", K, 9, err);
    if (!status) status = json_field_numbers(path, camera, "cam_R_w2c", R, 9, err);
    if (!status) status = json_field_numbers(path, camera, "cam_t_w2c", t, 3, err);
    if (!status) status = json_field_number_optional(path, camera, "depth_scale", &scale, err);
    if (status) return status;
    for (int i = 0; i < 3; i++) t[i] *= 0.001;
    pose_from_rotation(R, t, camera_from_world);
    pose_inverse(camera_from_world, image->world_from_camera);
    image->lens = lens_of_matrix(K, 3);
    image->depth_scale = 0.001 * scale;
    return STATUS_OK;
}

static Status add_frame(const char *path, const json_t *cameras, const char *folder, const char *depth_folder,
                        const char *name, PosedSet *out, Error *err) {
    char key[32], depth[96], stem[64];
    PosedImage image = {.time = NAN, .number = (size_t)name_number(name)};
    name_stem(name, stem, sizeof stem);
    snprintf(key, sizeof key, "%ld", name_number(name));
    find_depth_picture(depth_folder, stem, ".png", depth, sizeof depth);
    const json_t *camera = json_object_get(cameras, key);
    if (!camera)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a camera \"%s\" for %s, found none", path, key, name);
    Status status = read_camera(path, camera, &image, err);
    if (status) return error_prefix(err, "image \"%s\"", key);
    if (out->count == 0) out->depth_scale = image.depth_scale;
    status = bop_masks_take(out, &image, err);
    return status ? status : add_named_picture(folder, name, depth_folder, depth, &image, out, err);
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    const char *scene = source->path;
    char path[FILE_PATH_SIZE], colour[FILE_PATH_SIZE], depth[FILE_PATH_SIZE];
    FileList names = {0};
    json_t *cameras = NULL;
    first_folder(scene, COLOUR, colour);
    Status status = file_join(path, sizeof path, scene, "scene_camera.json", err);
    if (!status) status = file_join(depth, sizeof depth, scene, "depth", err);
    if (!status) status = json_read_file(path, JSON_FILE_MAX, &cameras, err);
    if (!status) status = bop_masks_open(scene, out, err);
    if (!status) status = list_pictures(colour, &names, err);
    for (size_t i = 0; !status && i < names.count; i++)
        status = add_frame(path, cameras, colour, depth, names.names[i], out, err);
    file_list_free(&names);
    json_decref(cameras);
    snprintf(out->source, sizeof out->source, "BOP");
    return status;
}

const Importer import_bop = {
    .name = "bop",
    .layout = "scene_camera.json, rgb/, depth/, or folders of such scenes",
    .is_episode = is_scene,
    .in_folders = true,
    .run = run,
};
