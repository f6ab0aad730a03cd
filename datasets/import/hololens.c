// SPDX-License-Identifier: Apache-2.0
// K.txt (3x3), poses.txt (one camera-to-world 4x4 a line, OpenCV axes), images/NAME.png, depth/NAME.png (u16
// millimetres, registered, 0 = missing), and frames.txt with the names in the order of the poses (else all of images/,
// by name). Static scene, one moving camera. Pixel centres of K are whole numbers.
#include "base/camera.h"
#include "base/file.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <stdlib.h>
#include <string.h>

static bool has(const char *folder, const char *name, bool want_folder) {
    char path[FILE_PATH_SIZE];
    if (file_join(path, sizeof path, folder, name, NULL) != STATUS_OK) return false;
    return want_folder ? file_is_folder(path) : file_exists(path);
}

static bool detect(const char *folder) {
    return has(folder, "K.txt", false) && has(folder, "poses.txt", false) && has(folder, "images", true) &&
           has(folder, "depth", true);
}

static int count_episodes(const char *folder) {
    (void)folder;
    return 1;
}

static Status read_intrinsics(const char *folder, double K[9], Error *err) {
    char path[FILE_PATH_SIZE];
    TextFile text;
    Status status = file_join(path, sizeof path, folder, "K.txt", err);
    if (!status) status = text_open(path, &text, err);
    if (status) return status;
    status = text_matrix(&text, 3, 3, K, err);
    K[2] += 0.5;
    K[5] += 0.5;
    text_close(&text);
    return status;
}

// A path of a name in the list, refused unless it lies beneath `folder`/`part`.
static Status resolve(const char *folder, const char *part, const char *name, char **out, Error *err) {
    char base[FILE_PATH_SIZE];
    Status status = file_join(base, sizeof base, folder, part, err);
    return status ? status : posed_path(base, name, out, err);
}

// Adds one picture with the pose of its line.
static Status add_picture(const char *folder, const char *name, const double K[9], const double pose[16], PosedSet *out,
                          Error *err) {
    PosedImage image = {0};
    memcpy(image.lens.K, K, sizeof image.lens.K);
    memcpy(image.world_from_camera, pose, sizeof image.world_from_camera);
    char stem[FILE_PATH_SIZE], same[FILE_PATH_SIZE + 16], depth[FILE_PATH_SIZE];
    const char *dot = strrchr(name, '.');
    Status status = resolve(folder, "images", name, &image.colour, err);
    name_stem(name, stem, sizeof stem);
    if (!status) status = file_join(depth, sizeof depth, folder, "depth", err);
    if (!status) find_depth_picture(depth, stem, dot ? dot : "", same, sizeof same);
    if (!status) status = resolve(folder, "depth", same, &image.depth, err);
    if (!status) return posed_set_add(out, &image, err);
    free(image.colour);
    free(image.depth);
    return status;
}

// Names from frames.txt, else all of images/.
static Status read_names(const char *folder, FileList *names, Error *err) {
    char path[FILE_PATH_SIZE], *line;
    TextFile text = {0};
    *names = (FileList){0};
    if (!has(folder, "frames.txt", false)) {
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
    double K[9];
    FileList names = {0};
    Status status = read_intrinsics(source->path, K, err);
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
    .detect = detect,
    .count = count_episodes,
    .run = run,
};
