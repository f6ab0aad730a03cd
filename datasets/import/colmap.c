// SPDX-License-Identifier: Apache-2.0
// COLMAP: a workspace with images/, a model in sparse/0, sparse or the folder itself, and depth: COLMAP's own maps in
// stereo/depth_maps (of the undistorted workspace, in the model's units) or pictures in depth/ or --depth (16-bit PNG
// in millimetres, .npy in the model's units). A model has no metric scale by itself; the depth defines it.
#include "datasets/import/colmap_model.h"

#include "base/camera.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const WORKSPACES[] = {"dense/0", "dense", "", NULL},
                         *const SPARSE[] = {"sparse/0", "sparse", "", NULL},
                         *const IMAGES[] = {"images", "input", "rgb", NULL};

typedef struct Workspace {
    char root[FILE_PATH_SIZE], model[FILE_PATH_SIZE], images[FILE_PATH_SIZE];
} Workspace;

static bool find_workspace(const char *path, Workspace *out) {
    if (!file_is_folder(path)) return false;
    for (const char *const *w = WORKSPACES; *w; w++) {
        if (file_join(out->root, sizeof out->root, path, *w, NULL) || !first_folder(out->root, IMAGES, out->images))
            continue;
        for (const char *const *s = SPARSE; *s; s++) {
            if (!file_join(out->model, sizeof out->model, out->root, *s, NULL) && colmap_has_model(out->model))
                return true;
        }
    }
    return false;
}

static bool is_episode(const char *path) {
    Workspace unused;
    return find_workspace(path, &unused);
}

// Possible places of the depth of a picture; `map`: it is in the model's units.
static const struct {
    const char *folder, *ending;
    bool whole_name, map;
} PLACES[] = {
    {"stereo/depth_maps", ".geometric.bin", true, true},
    {"stereo/depth_maps", ".photometric.bin", true, true},
    {"depth_maps", ".geometric.bin", true, true},
    {"depth", ".png", false, false},
    {"depth", ".npy", false, true},
    {"depth", ".npz", false, true},
    {"depth", ".exr", false, true},
    {"depths", ".png", false, false},
    {"depths", ".npy", false, true},
    {"depths", ".npz", false, true},
    {"depths", ".exr", false, true},
};

static bool find_depth(const ImportSource *source, const Workspace *workspace, const char *name, PosedImage *image) {
    char stem[1024], folder[FILE_PATH_SIZE], file[1200];
    name_stem(name, stem, sizeof stem);
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        const char *given = source->options->depth;
        bool good = given ? file_join(folder, sizeof folder, "", given, NULL) == STATUS_OK
                          : file_join(folder, sizeof folder, workspace->root, PLACES[i].folder, NULL) == STATUS_OK;
        snprintf(file, sizeof file, "%.1000s%s", PLACES[i].whole_name ? name : stem, PLACES[i].ending);
        if (!good || !has_file(folder, file)) continue;
        image->depth_scale = PLACES[i].map ? 1 : 0.001;
        return posed_path(folder, file, &image->depth, NULL) == STATUS_OK;
    }
    return false;
}

static Status add_image(const ImportSource *source, const Workspace *workspace, const ColmapModel *model,
                        const ColmapImage *from, PosedSet *out, Error *err) {
    double R[9], camera_from_world[16];
    PosedImage image = {.time = NAN};
    const ColmapCamera *camera = colmap_camera(model, from->camera);
    if (!camera)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected camera %u of %s, found none", workspace->model,
                         from->camera, from->name);
    if (!find_depth(source, workspace, from->name, &image)) return STATUS_OK;
    Status status = posed_path(workspace->images, from->name, &image.colour, err);
    rotation_from_quaternion(from->wxyz, R);
    pose_from_rotation(R, from->t, camera_from_world);
    pose_inverse(camera_from_world, image.world_from_camera);
    image.lens = camera->lens;
    if (out->count == 0) out->depth_scale = image.depth_scale;
    if (!status) return posed_set_add(out, &image, err);
    posed_image_free(&image);
    return status;
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    Workspace workspace;
    ColmapModel model;
    find_workspace(source->path, &workspace);
    Status status = colmap_read(workspace.model, &model, err);
    for (size_t i = 0; !status && i < model.image_count; i++)
        status = add_image(source, &workspace, &model, &model.images[i], out, err);
    if (!status && out->count == 0)
        status = error_set(
            err, STATUS_BAD_INPUT,
            "%s: expected depth of its %zu images, found none in stereo/depth_maps, depth_maps, depth or depths "
            "(colmap patch_match_stereo makes it; --depth names another folder)",
            workspace.root, model.image_count);
    out->pictures_left_out = model.image_count - out->count;
    if (!status && out->pictures_left_out)
        log_warning(source->log, "%s: %zu of %zu images have no depth and are left out", workspace.root,
                    out->pictures_left_out, model.image_count);
    colmap_free(&model);
    snprintf(out->source, sizeof out->source, "COLMAP");
    return status;
}

const Importer import_colmap = {
    .name = "colmap",
    .layout = "images/, sparse/0/{cameras,images}.{bin,txt}, stereo/depth_maps/ or depth/",
    .is_episode = is_episode,
    .run = run,
};
