// SPDX-License-Identifier: Apache-2.0
// K.txt (3x3), poses.txt (one camera-to-world 4x4 a line, OpenCV axes), images/NAME.png, depth/NAME.png (u16
// millimetres, registered, 0 = missing), and frames.txt with the names in the order of the poses (else all of images/,
// by name). Static scene, one moving camera. Pixel centres of K are whole numbers.
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_episode(const char *folder) {
    return has_file(folder, "K.txt") && has_file(folder, "poses.txt") && has_folder(folder, "images") &&
           has_folder(folder, "depth");
}

// Adds one picture with the pose of its line. The name comes from a list: its path must lie beneath images/.
static Status add_picture(const char *folder, const char *name, const double K[9], const double pose[16], PosedSet *out,
                          Error *err) {
    PosedImage image = {.time = NAN};
    char images[FILE_PATH_SIZE], depths[FILE_PATH_SIZE], stem[FILE_PATH_SIZE], depth[FILE_PATH_SIZE + 16];
    const char *dot = strrchr(name, '.');
    memcpy(image.lens.K, K, sizeof image.lens.K);
    memcpy(image.world_from_camera, pose, sizeof image.world_from_camera);
    Status status = file_join(images, sizeof images, folder, "images", err);
    if (!status) status = file_join(depths, sizeof depths, folder, "depth", err);
    if (status) return status;
    name_stem(name, stem, sizeof stem);
    find_depth_picture(depths, stem, dot ? dot : "", depth, sizeof depth);
    return add_named_picture(images, name, depths, depth, &image, out, err);
}

// Names from frames.txt, else all of images/.
static Status read_names(const char *folder, FileList *names, Error *err) {
    char path[FILE_PATH_SIZE], *line;
    TextFile text = {0};
    *names = (FileList){0};
    if (!has_file(folder, "frames.txt")) {
        Status status = file_join(path, sizeof path, folder, "images", err);
        return status ? status : file_list(path, names, err);
    }
    Status status = file_join(path, sizeof path, folder, "frames.txt", err);
    if (!status) status = text_open(path, &text, err);
    if (status) return status;
    names->names = calloc(text.length + 1, sizeof *names->names);
    while (names->names && text_next_line(&text, &line)) {
        if (!(names->names[names->count] = strdup(line))) break;
        names->count++;
    }
    text_close(&text);
    return names->names ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: no memory", path);
}

static Status read_poses(const char *folder, const FileList *names, const double K[9], PosedSet *out, Error *err) {
    char path[FILE_PATH_SIZE], *line;
    TextFile text = {0};
    size_t count = 0;
    Status status = file_join(path, sizeof path, folder, "poses.txt", err);
    if (!status) status = text_open(path, &text, err);
    while (!status && text_next_line(&text, &line)) {
        double pose[16];
        if (count == names->count)
            status = error_set(err, STATUS_BAD_INPUT, "%s: expected a pose for each of the %zu pictures, found more",
                               path, count);
        if (!status) status = text_numbers(&text, line, pose, 16, err);
        if (!status) status = add_picture(folder, names->names[count++], K, pose, out, err);
    }
    if (!status && count != names->count)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected a pose for each of the %zu pictures, found %zu", path,
                           names->count, count);
    text_close(&text);
    return status;
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    double K[9] = {0};
    FileList names = {0};
    Status status = text_read_matrix(source->path, "K.txt", 3, 3, K, err);
    K[2] += 0.5;
    K[5] += 0.5;
    if (!status) status = read_names(source->path, &names, err);
    if (!status) status = read_poses(source->path, &names, K, out, err);
    file_list_free(&names);
    out->depth_scale = 0.001;
    snprintf(out->source, sizeof out->source, "imported from posed pictures (K.txt, poses.txt)");
    return status;
}

const Importer import_hololens = {
    .name = "hololens",
    .layout = "K.txt, poses.txt, images/, depth/ in millimetres",
    .is_episode = is_episode,
    .run = run,
};
