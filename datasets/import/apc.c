// SPDX-License-Identifier: Apache-2.0
// Amazon Picking Challenge (apc-vision-toolbox): scene-NNNN/cam.info.txt with the colour camera's K and one
// camera-to-world matrix per picture (OpenCV axes), frame-NNNNNN.color.png, and frame-NNNNNN.depth.png registered to
// it: u16 words rotated by three bits, in 0.1 mm. Depth below 0.25 m is the gripper, which moves with the camera, and
// is discarded.
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <math.h>
#include <string.h>

static bool is_scene(const char *folder) { return has_file(folder, "cam.info.txt"); }

static Status add_picture(const char *scene, const char *frame, const double K[9], const double pose[16], PosedSet *out,
                          Error *err) {
    char colour[64], depth[64];
    PosedImage image = {.time = NAN};
    snprintf(colour, sizeof colour, "%.20s.color.png", frame);
    snprintf(depth, sizeof depth, "%.20s.depth.png", frame);
    memcpy(image.lens.K, K, sizeof image.lens.K);
    memcpy(image.world_from_camera, pose, sizeof image.world_from_camera);
    return add_named_picture(scene, colour, scene, depth, &image, out, err);
}

// "frame-000003" out of a title; only letters, digits and dashes, so that the path stays in the folder.
static bool frame_of(const char *title, char out[32]) {
    const char *at = strstr(title, "for frame-");
    if (!at) return false;
    at += strlen("for ");
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (length >= 21) return false;
    memcpy(out, at, length);
    out[length] = 0;
    return true;
}

// Titles are comments; each says what the matrix below it is.
static Status read_matrices(TextFile *text, const char *scene, PosedSet *out, Error *err) {
    char *line, frame[32];
    double K[9] = {0}, pose[16];
    Status status = STATUS_OK;
    while (!status && text_next_line(text, &line)) {
        if (strstr(line, "# Color camera intrinsic")) {
            status = text_matrix(text, 3, 3, K, err);
            K[2] += 0.5; // its pixel centres are whole numbers
            K[5] += 0.5;
        } else if (strstr(line, "# Camera-to-world") && frame_of(line, frame)) {
            if (K[0] == 0)
                return error_set(err, STATUS_BAD_INPUT,
                                 "%s: expected \"# Color camera intrinsic matrix\" before the poses", text->path);
            status = text_matrix(text, 4, 4, pose, err);
            if (!status) status = add_picture(scene, frame, K, pose, out, err);
        }
    }
    return status;
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    char path[FILE_PATH_SIZE];
    TextFile text = {0};
    Status status = file_join(path, sizeof path, source->path, "cam.info.txt", err);
    if (!status) status = text_open(path, &text, err);
    if (!status) status = read_matrices(&text, source->path, out, err);
    text_close(&text);
    out->coding = DEPTH_ROTATED;
    out->depth_scale = 1e-4;
    out->near = 0.25;
    snprintf(out->source, sizeof out->source, "apc-vision-toolbox");
    return status;
}

const Importer import_apc = {
    .name = "apc",
    .layout = "cam.info.txt and frame-*.color.png, or folders of them",
    .is_episode = is_scene,
    .in_folders = true,
    .run = run,
};
